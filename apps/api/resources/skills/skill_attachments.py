"""REST resources for a skill's files, and the view that serves a file by its signed link.

Files are uploaded as multipart, listed with links that expire after minutes, reordered and removed (R091, Z-20). A link that is not
valid gets one sentence that does not reveal whether the file exists.
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
from apps.api.protocol.authentication import token_of
from apps.api.protocol.etag_preconditions import refuse_unmet
from apps.api.protocol.exceptions import TooLarge
from apps.api.protocol.request_bodies import Body, JsonBody, Number, Text
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import NotVisible
from apps.governance.policy.table import Act
from apps.runtime.taint_attribution import heard_by, whose_file
from apps.skills.actions import arrange_files, detach_file
from apps.skills.attachment_upload import upload_file
from apps.skills.attachments.attachment_access import content_of, refuse_fetch
from apps.skills.attachments.blob_store import address_elsewhere, disposition
from apps.skills.attachments.signed_links import file_behind, link_to
from apps.skills.models import Skill
from apps.skills.skill_validation import Attached
from apps.tenants.authentication.signed_link_holders import Holder, holder_of

# What a multipart body has around its file.
AROUND_BYTES = 20_000


class MultipartBody(MultiPartParser):
    """A form with a file that ends."""

    @property
    def file_bytes(self) -> int:
        """As many as the installation allows."""
        limit: int = settings.ATTACHMENT_BYTES
        return limit

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Refused by its announced length, before a byte of it is read."""
        request = (parser_context or {})["request"]
        limit = self.file_bytes + AROUND_BYTES
        if int(request.META.get("CONTENT_LENGTH") or 0) > limit:
            raise TooLarge(f"The body has more than {limit} bytes; a file may have {self.file_bytes}.")
        return super().parse(stream, media_type, parser_context)


class FileShown(serializers.Serializer[Attached]):
    """A file of a skill in an answer; its bytes are behind the link."""

    name = serializers.CharField()
    media_type = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    uploaded_by = serializers.CharField()


class LinkedFile(FileShown):
    """The same with a link for whoever asked."""

    link = serializers.CharField(help_text="Works until `expires_at`, and no longer than the right of who asked.")
    expires_at = serializers.DateTimeField()


class Files(serializers.Serializer[Any]):
    """All files of a skill, in their order."""

    skill_id = serializers.IntegerField()
    content_sha256 = serializers.CharField(help_text="What an approval signs: the text and these files.")
    version = serializers.IntegerField()
    attachments = LinkedFile(many=True)


class Upload(serializers.Serializer[Any]):
    """A file as a form field."""

    file = serializers.FileField(allow_empty_file=True)
    name = serializers.CharField(required=False, help_text="Where it shall be called other than the file.")
    version = serializers.IntegerField(required=False, help_text="The version of the skill you read.")
    reason = serializers.CharField(required=False, allow_blank=True)


class Order(Body):
    """The names of all files in the order they shall have."""

    names = serializers.ListField(child=Text(), max_length=100)
    version = Number(required=False)
    reason = Text(required=False)


class OfSkill(ActorView):
    """Views of the files of one skill."""

    # What `If-Match` names is the skill.
    detail: ClassVar = True
    # Links end sooner than an answer is kept.
    keeps_words = False

    def skill(self, skill_id: str) -> Skill:
        """The skill, as far as the actor sees it."""
        with acting(self.actor):
            skill = Skill.objects.visible_to(self.actor).filter(pk=int(skill_id)).first()
        if skill is None:
            raise NotVisible("There is no such skill.")
        refuse_unmet(self.request, skill)
        return skill

    def listed(self, skill: Skill, status: int = 200) -> Response:
        """The files with links for whoever asks."""
        refuse_fetch(skill, self.actor)
        holder = holder_of(self.actor, token_of(self.request))
        files = [_linked(file, skill, holder) for file in skill.files]
        shown = {
            "skill_id": skill.pk,
            "content_sha256": skill.content_sha256,
            "version": skill.version,
            "attachments": files,
        }
        return Response(Files(shown).data, status=status, headers={"ETag": f'"{skill.version}"'})

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """The files that stand there, with fresh links."""
        return self.listed(self.skill(self.kwargs["skill_id"]), kept.status)


class AttachmentsView(OfSkill):
    """The files of a skill together."""

    acts: ClassVar = {"post": (Act.SKILL_ATTACH,), "patch": (Act.SKILL_ARRANGE,)}

    parser_classes = (MultipartBody, JsonBody)
    # The file is stored before the skill is locked.
    waiting: ClassVar = frozenset({"post"})

    @extend_schema(operation_id="skills_attachments_list", responses=Files)
    def get(self, request: Request, skill_id: str) -> Response:
        """Names, types, sizes, hashes, and a link each."""
        del request
        return self.listed(self.skill(skill_id))

    @extend_schema(request={"multipart/form-data": Upload}, responses={201: Files})
    def post(self, request: Request, skill_id: str) -> Response:
        """Attach a file at the end. On an approved skill a person signs the whole anew."""
        sent = _upload(request)
        file, content = sent["file"], sent["file"].read()
        name = sent.get("name") or file.name
        with acting(self.actor):
            heard = heard_by(self.actor)
        skill = upload_file(
            self.skill(skill_id),
            actor=self.actor,
            name=name,
            content=content,
            taint=whose_file(name, content, heard),
            read_at=sent.get("version"),
            reason=sent.get("reason", ""),
        )
        return self.listed(skill, 201)

    @extend_schema(request=Order, responses=Files)
    def patch(self, request: Request, skill_id: str) -> Response:
        """Put the files in another order; the first is the `attachment` of clients that know one."""
        sent = Order.read(request, self.actor)
        skill, names, reason = self.skill(skill_id), sent.values["names"], sent.reason
        return self.listed(arrange_files(skill, actor=self.actor, names=names, read_at=sent.read_at, reason=reason))


class AttachmentView(OfSkill):
    """One file of a skill."""

    acts: ClassVar = {"delete": (Act.SKILL_DETACH,)}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, skill_id: str, name: str) -> Response:
        """Take a file off the skill. Its bytes stay while the history tells of it."""
        del request
        detach_file(self.skill(skill_id), actor=self.actor, name=name)
        return Response(status=204)


def _upload(request: Request) -> dict[str, Any]:
    if unknown := sorted(set(request.data) - set(Upload().fields)):
        known = ", ".join(Upload().fields)
        raise ValidationError({name: [f"There is no such field. You may send: {known}."] for name in unknown})
    sent = Upload(data=request.data)
    sent.is_valid(raise_exception=True)
    return dict(sent.validated_data)


def _linked(file: Attached, skill: Skill, holder: Holder) -> dict[str, Any]:
    link = link_to(file, skill.pk, holder)
    return {
        **FileShown(file).data,
        "link": reverse("file", args=[link.token]),
        "expires_at": link.expires_at,
    }


# A file is somebody else's bytes: nothing in it runs, loads or is kept on the way.
HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@require_safe
def signed_file(request: HttpRequest, token: str) -> HttpResponse:
    """Whoever holds the link gets the file while its first holder still may; the bytes are compared on every way out."""
    del request
    try:
        file = file_behind(token)
        content = content_of(file)
    except NotVisible as refusal:
        return HttpResponse(f"{refusal}\n", "text/plain; charset=utf-8", 404, headers=HEADERS)
    return _elsewhere(file) or HttpResponse(content, _kind(file), headers=_headers(file))


def _elsewhere(file: Attached) -> HttpResponse | None:
    address = address_elsewhere(file)
    return HttpResponseRedirect(address, headers=HEADERS) if address else None


def _kind(file: Attached) -> str:
    return f"{file.media_type}; charset=utf-8" if file.media_type.startswith("text/") else file.media_type


def _headers(file: Attached) -> dict[str, str]:
    return {**HEADERS, "Content-Disposition": disposition(file.name)}
