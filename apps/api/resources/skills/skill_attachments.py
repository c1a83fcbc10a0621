"""REST resources for a skill's files, and the view that serves a file by its signed link.

Files are uploaded as multipart, listed with links that expire after minutes, reordered and removed (R091, Z-20). A link that is
not valid gets one sentence that does not reveal whether the file exists.
"""

from collections.abc import Mapping
from typing import IO, Any, ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView
from apps.api.models import IdempotencyRecord
from apps.api.protocol.authentication import bearer_token
from apps.api.protocol.etag_preconditions import check_if_match
from apps.api.protocol.exceptions import BodyTooLarge
from apps.api.protocol.request_bodies import BoundedJSONParser, RequestBody, StrictIntegerField, StrictTextField
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotVisible
from apps.governance.policy.policy_table import Act
from apps.runtime.taint_attribution import heard_texts_of_agent, taint_of_file
from apps.skills.actions import arrange_files, detach_file
from apps.skills.attachment_upload import upload_file
from apps.skills.attachments.attachment_access import read_content, refuse_fetch
from apps.skills.attachments.blob_store import content_disposition, signed_bucket_url
from apps.skills.attachments.signed_links import make_link, resolve_link
from apps.skills.models import Skill
from apps.skills.skill_validation import Attachment
from apps.tenants.authentication.signed_link_holders import SignedLinkHolder, holder_of

# Bytes of a multipart body in addition to its file.
MULTIPART_OVERHEAD_BYTES = 20_000


class BoundedMultiPartParser(MultiPartParser):
    """Parses a multipart body with a size limit."""

    @property
    def file_bytes(self) -> int:
        """Return the installation's limit for one file."""
        limit: int = settings.ATTACHMENT_BYTES
        return limit

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Refuse the body by its announced length, before reading any of it."""
        request = (parser_context or {})["request"]
        limit = self.file_bytes + MULTIPART_OVERHEAD_BYTES
        if int(request.META.get("CONTENT_LENGTH") or 0) > limit:
            raise BodyTooLarge(f"The body has more than {limit} bytes; a file may have {self.file_bytes}.")
        return super().parse(stream, media_type, parser_context)


class AttachmentSerializer(serializers.Serializer[Attachment]):
    """A file of a skill. Its bytes are behind the link."""

    name = serializers.CharField()
    media_type = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    uploaded_by = serializers.CharField()


class LinkedAttachmentSerializer(AttachmentSerializer):
    """A file with a link for the actor who asks."""

    link = serializers.CharField(
        help_text="Works until `expires_at`, and only while the actor who asked still has the right."
    )
    expires_at = serializers.DateTimeField()


class AttachmentListSerializer(serializers.Serializer[Any]):
    """All files of a skill, in order."""

    skill_id = serializers.IntegerField()
    content_sha256 = serializers.CharField(help_text="Hash of the text and these files. An approval names it.")
    version = serializers.IntegerField()
    attachments = LinkedAttachmentSerializer(many=True)


class UploadAttachmentBody(serializers.Serializer[Any]):
    """A file as a form field."""

    file = serializers.FileField(allow_empty_file=True)
    name = serializers.CharField(required=False, help_text="Another name than that of the uploaded file.")
    version = serializers.IntegerField(required=False, help_text="The version of the skill you read.")
    reason = serializers.CharField(required=False, allow_blank=True)


class AttachmentOrderBody(RequestBody):
    """The names of all files, in the new order."""

    names = serializers.ListField(child=StrictTextField(), max_length=100)
    version = StrictIntegerField(required=False)
    reason = StrictTextField(required=False)


class AttachmentBaseView(ActorView):
    """Base class of the views of a skill's files."""

    # `If-Match` refers to the skill.
    detail: ClassVar = True
    # Responses are not stored, because their links expire sooner than stored responses.
    keeps_words = False

    def skill(self, skill_id: str) -> Skill:
        """Return the skill, if the actor may see it."""
        with acting_as(self.actor):
            skill = Skill.objects.visible_to(self.actor).filter(pk=int(skill_id)).first()
        if skill is None:
            raise NotVisible("There is no such skill.")
        check_if_match(self.request, skill)
        return skill

    def listed(self, skill: Skill, status: int = 200) -> Response:
        """Return the files with links for the actor."""
        refuse_fetch(skill, self.actor)
        holder = holder_of(self.actor, bearer_token(self.request))
        files = [_linked_attachment(file, skill, holder) for file in skill.files]
        shown = {
            "skill_id": skill.pk,
            "content_sha256": skill.content_sha256,
            "version": skill.version,
            "attachments": files,
        }
        return Response(AttachmentListSerializer(shown).data, status=status, headers={"ETag": f'"{skill.version}"'})

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """Return the current files, with fresh links."""
        return self.listed(self.skill(self.kwargs["skill_id"]), kept.status)


class AttachmentsView(AttachmentBaseView):
    """The list of a skill's files."""

    acts: ClassVar = {"post": (Act.SKILL_ATTACH,), "patch": (Act.SKILL_ARRANGE,)}

    parser_classes = (BoundedMultiPartParser, BoundedJSONParser)
    # The file is stored before the skill row is locked.
    waiting: ClassVar = frozenset({"post"})

    @extend_schema(operation_id="skills_attachments_list", responses=AttachmentListSerializer)
    def get(self, request: Request, skill_id: str) -> Response:
        """List names, types, sizes, hashes and links."""
        return self.listed(self.skill(skill_id))

    @extend_schema(request={"multipart/form-data": UploadAttachmentBody}, responses={201: AttachmentListSerializer})
    def post(self, request: Request, skill_id: str) -> Response:
        """Attach a file at the end of the list. On an approved skill, a person approves the whole again."""
        sent = _read_upload(request)
        file, content = sent["file"], sent["file"].read()
        name = sent.get("name") or file.name
        with acting_as(self.actor):
            heard = heard_texts_of_agent(self.actor)
        skill = upload_file(
            self.skill(skill_id),
            actor=self.actor,
            name=name,
            content=content,
            taint=taint_of_file(name, content, heard),
            read_at=sent.get("version"),
            reason=sent.get("reason", ""),
        )
        return self.listed(skill, 201)

    @extend_schema(request=AttachmentOrderBody, responses=AttachmentListSerializer)
    def patch(self, request: Request, skill_id: str) -> Response:
        """Reorder the files. The first one is the `attachment` for clients that know only one."""
        sent = AttachmentOrderBody.read(request, self.actor)
        skill, names, reason = self.skill(skill_id), sent.values["names"], sent.reason
        return self.listed(arrange_files(skill, actor=self.actor, names=names, read_at=sent.read_at, reason=reason))


class AttachmentView(AttachmentBaseView):
    """One file of a skill."""

    acts: ClassVar = {"delete": (Act.SKILL_DETACH,)}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, skill_id: str, name: str) -> Response:
        """Remove a file from the skill. Its bytes are kept while the history refers to it."""
        detach_file(self.skill(skill_id), actor=self.actor, name=name)
        return Response(status=204)


def _read_upload(request: Request) -> dict[str, Any]:
    if unknown := sorted(set(request.data) - set(UploadAttachmentBody().fields)):
        known = ", ".join(UploadAttachmentBody().fields)
        raise ValidationError({name: [f"There is no such field. Known fields: {known}."] for name in unknown})
    sent = UploadAttachmentBody(data=request.data)
    sent.is_valid(raise_exception=True)
    return dict(sent.validated_data)


def _linked_attachment(file: Attachment, skill: Skill, holder: SignedLinkHolder) -> dict[str, Any]:
    link = make_link(file, skill.pk, holder)
    return {
        **AttachmentSerializer(file).data,
        "link": reverse("file", args=[link.token]),
        "expires_at": link.expires_at,
    }


# Uploaded files are not trusted: these headers keep browsers from executing or caching them, or loading anything they name.
DOWNLOAD_HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@require_safe
def download_attachment(request: HttpRequest, token: str) -> HttpResponse:
    """Send the file to the holder of a link, as long as the actor who got the link still has the right.

    The bytes are verified each time.
    """
    try:
        file = resolve_link(token)
        content = read_content(file)
    except NotVisible as refusal:
        return HttpResponse(f"{refusal}\n", "text/plain; charset=utf-8", 404, headers=DOWNLOAD_HEADERS)
    return _storage_redirect(file) or HttpResponse(content, _content_type(file), headers=_download_headers(file))


def _storage_redirect(file: Attachment) -> HttpResponse | None:
    address = signed_bucket_url(file)
    return HttpResponseRedirect(address, headers=DOWNLOAD_HEADERS) if address else None


def _content_type(file: Attachment) -> str:
    return f"{file.media_type}; charset=utf-8" if file.media_type.startswith("text/") else file.media_type


def _download_headers(file: Attachment) -> dict[str, str]:
    return {**DOWNLOAD_HEADERS, "Content-Disposition": content_disposition(file.name)}
