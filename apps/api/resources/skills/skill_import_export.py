"""Skills in the Agent Skills format over REST: export of approved skills as a zip, import as drafts with a result for each."""

from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView
from apps.api.openapi.schema import refusal_response
from apps.api.protocol.content_negotiation import BytesRenderer, ZipRenderer, file_type
from apps.api.protocol.query_parameters import is_true, reject_unknown_parameters
from apps.api.resources.agents.agents import agent_id_named
from apps.api.resources.skills.skill_attachments import BoundedMultiPartParser
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.skills.attachments.blob_store import content_disposition
from apps.skills.import_export.skill_export import (
    archive_name,
    build_archive,
    select_approved_skill,
    select_approved_skills,
)
from apps.skills.import_export.skill_import import (
    ImportOutcome,
    SkillImportItem,
    draft_imported_skills,
    preview_import,
    read_skills_file,
)
from apps.skills.import_export.zip_archives import ARCHIVE_BYTES
from apps.skills.models import Skill

ARCHIVE_RENDERERS = (JSONRenderer, ZipRenderer, BytesRenderer)
CONFIRM_PARAMETER = OpenApiParameter(
    "confirm_findings",
    OpenApiTypes.BOOL,
    description="True: export it although it seems to contain personal data. Only people may confirm this.",
)
ARCHIVE_RESPONSES = {
    **{(200, each.media_type): OpenApiTypes.BINARY for each in (ZipRenderer, BytesRenderer)},
    **refusal_response(
        409,
        "No skill is approved, they are too large for one archive, or they seem to contain personal data (`findings`).",
    ),
}


class ArchiveMultiPartParser(BoundedMultiPartParser):
    """Parses a multipart body with an archive, with a size limit."""

    @property
    def file_bytes(self) -> int:
        """Return the size limit of one archive."""
        return ARCHIVE_BYTES


class ImportSkillsBody(serializers.Serializer[Any]):
    """A `SKILL.md`, or a zip of folders with one each, as a form field."""

    file = serializers.FileField(allow_empty_file=True)
    agent_key = serializers.CharField(
        required=False, help_text="The agent that gets the drafts. An agent's token implies it."
    )
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="True: only report the result for each skill."
    )


class ImportedSkillSerializer(serializers.Serializer[Any]):
    """The result of one skill, or of a dry run."""

    folder = serializers.CharField(source="incoming.folder", help_text="Its folder in the archive.")
    name = serializers.CharField(source="incoming.name")
    outcome = serializers.ChoiceField([outcome.value for outcome in ImportOutcome])
    reason = serializers.CharField(help_text="Why it is not drafted; empty if it is.")
    skill_id = serializers.IntegerField(source="skill.pk", allow_null=True, default=None)
    files = serializers.SerializerMethodField()
    left_out = serializers.ListField(source="incoming.left_out", child=serializers.CharField())
    notes = serializers.ListField(source="incoming.notes", child=serializers.CharField())
    findings = serializers.ListField(
        source="incoming.findings", child=serializers.CharField(), help_text="Findings that an approval must confirm."
    )

    def get_files(self, item: SkillImportItem) -> list[str]:
        """Return the names of the skill's files."""
        return [file.name for file in item.incoming.files]


class ImportResultSerializer(serializers.Serializer[Any]):
    """The result of an import, skill by skill."""

    drafted = serializers.IntegerField()
    skills = ImportedSkillSerializer(many=True)


class ArchiveView(ActorView):
    """Sends skills as an archive."""

    renderer_classes = ARCHIVE_RENDERERS

    def zip_response(self, request: Request, skills: list[Skill], *, confirm: bool) -> HttpResponse:
        """Return the archive of these skills."""
        headers = {
            "Content-Disposition": content_disposition(archive_name(skills)),
            "Cache-Control": "private, no-store",
        }
        archive = build_archive(skills, actor=self.actor, confirm_findings=confirm)
        return HttpResponse(archive, content_type=file_type(request, ZipRenderer), headers=headers)


class SkillExportsView(ArchiveView):
    """Exports all approved skills in one archive."""

    # The files are read before the response starts, without an open transaction.
    waiting: ClassVar = frozenset({"get"})

    @extend_schema(
        operation_id="skills_export_all",
        parameters=[OpenApiParameter("agent_key", OpenApiTypes.STR), CONFIRM_PARAMETER],
        responses=ARCHIVE_RESPONSES,
    )
    def get(self, request: Request) -> HttpResponse:
        """Export every approved skill you may see, or one agent's: a zip of folders in the Agent Skills format."""
        reject_unknown_parameters(request, frozenset({"agent_key", CONFIRM_PARAMETER.name}))
        confirm = is_true(request, CONFIRM_PARAMETER.name)
        key = request.query_params.get("agent_key")
        with acting_as(self.actor):
            agent_id = agent_id_named(key, self.actor) if key else None
        return self.zip_response(request, select_approved_skills(agent_id, actor=self.actor), confirm=confirm)


class SkillExportView(ArchiveView):
    """Exports one approved skill."""

    waiting: ClassVar = frozenset({"get"})

    @extend_schema(parameters=[CONFIRM_PARAMETER], responses=ARCHIVE_RESPONSES)
    def get(self, request: Request, pk: str) -> HttpResponse:
        """Export an approved skill as a zipped folder in the Agent Skills format. Other states are refused."""
        reject_unknown_parameters(request, frozenset({CONFIRM_PARAMETER.name}))
        confirm = is_true(request, CONFIRM_PARAMETER.name)
        return self.zip_response(request, select_approved_skill(int(pk), actor=self.actor), confirm=confirm)


class SkillImportView(ActorView):
    """Imports skills from outside."""

    acts: ClassVar = {"post": (Act.SKILL_DRAFT, Act.SKILL_ATTACH)}

    parser_classes = (ArchiveMultiPartParser,)
    # Each skill is committed separately, after its files are stored.
    waiting: ClassVar = frozenset({"post"})

    @extend_schema(request={"multipart/form-data": ImportSkillsBody}, responses=ImportResultSerializer)
    def post(self, request: Request) -> Response:
        """Draft the skills of a `SKILL.md` or a zip, each marked as imported. With `dry_run` nothing is written."""
        sent = _read_archive(request)
        with acting_as(self.actor):
            agent_id = agent_id_named(sent.get("agent_key"), self.actor)
        found = read_skills_file(sent["file"])
        if sent["dry_run"]:
            items = preview_import(found, agent_id, actor=self.actor)
        else:
            items = draft_imported_skills(found, agent_id, actor=self.actor, source=sent["file"].name)
        drafted = sum(item.outcome is ImportOutcome.DRAFTED for item in items)
        return Response(ImportResultSerializer({"drafted": drafted, "skills": items}).data)


def _read_archive(request: Request) -> dict[str, Any]:
    if unknown := sorted(set(request.data) - set(ImportSkillsBody().fields)):
        known = ", ".join(ImportSkillsBody().fields)
        raise ValidationError({name: [f"There is no such field. Known fields: {known}."] for name in unknown})
    sent = ImportSkillsBody(data=request.data)
    sent.is_valid(raise_exception=True)
    return dict(sent.validated_data)
