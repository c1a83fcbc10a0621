"""Console pages that import skills as drafts and export approved skills as a zip.

The import shows the files before it makes a draft. The export lists likely personal data and asks for a confirmation first. The
pages run outside the request's transaction, because files are read and stored before anything is locked.
"""

import hashlib
from collections.abc import Mapping
from functools import partial
from io import BytesIO
from typing import Any, Final

from django import forms
from django.contrib.admin import AdminSite
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from unfold.widgets import UnfoldAdminSelectWidget

from apps.console.framework.form_errors import add_refusal_to_form, status_of
from apps.console.framework.request_context import actor_of, settings_of
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import FindingsUnconfirmed, GovernanceError, Invalid
from apps.governance.governed_write import authorize, may
from apps.governance.policy.policy_table import Act
from apps.skills.attachments.blob_store import content_disposition, read_bytes, store_bytes
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
from apps.tenants.models import Agent

SALT: Final = "preceptor.import.1"
# Long enough to read the preview; the sweep removes the bytes after a day.
UPLOAD_TOKEN_SECONDS: Final = 3_600
UPLOAD_GONE: Final = "The file you sent is no longer here. Send it again."


class ImportSkillsForm(forms.Form):
    """Skills as files, and the agent whose drafts they become."""

    agent: "forms.ModelChoiceField[Agent]" = forms.ModelChoiceField(
        queryset=None, label="Agent", empty_label=None, widget=UnfoldAdminSelectWidget
    )
    file = forms.FileField(
        label="Skills",
        allow_empty_file=True,
        help_text="A zip of folders with a SKILL.md each, or one SKILL.md; at most 20 MB.",
        widget=forms.FileInput(attrs={"accept": ".zip,.md,.skill", "class": "pc-file"}),
    )

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        field: Any = self.fields["agent"]  # Any: the stubs know no choices of a form's field
        field.queryset = Agent.objects.visible_to(actor).order_by("key")

    def clean_file(self) -> Any:
        """Refuse a file by its size, before it is read."""
        sent = self.cleaned_data["file"]
        if sent.size > ARCHIVE_BYTES:
            raise forms.ValidationError(
                f"The file has {sent.size} bytes; the limit is {ARCHIVE_BYTES}. Send fewer skills."
            )
        return sent


def import_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the form, preview a file, and import the chosen skills: three states of one page."""
    actor = actor_of(request)
    # A person without the permission sees that before choosing a file.
    if request.method != "POST":
        return _render_import(site, request, _empty_form(actor))
    return _import_chosen(site, request, actor) if "mark" in request.POST else _preview_import(site, request, actor)


def skill_import_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL pattern of the import."""
    return [path("skills/skill/import/", site.admin_view(partial(import_page, site)), name="import_skills")]


def _preview_import(site: AdminSite, request: HttpRequest, actor: Actor) -> HttpResponse:
    with acting_as(actor):
        form = ImportSkillsForm(request.POST, request.FILES, actor=actor)
        is_valid = form.is_valid()
    if not is_valid:
        return _render_import(site, request, form, status=422)
    agent, sent = form.cleaned_data["agent"], form.cleaned_data["file"]
    try:
        authorize(actor, Act.SKILL_DRAFT, actor.tenant_id, agent_id=agent.pk)
        items = preview_import(read_skills_file(sent), agent.pk, actor=actor)
    except GovernanceError as refusal:
        add_refusal_to_form(form, refusal)
        return _render_import(site, request, form, status=status_of(refusal))
    sent.seek(0)
    mark = _store_upload(sent.read(), agent, sent.name, actor)
    return _render_import(
        site, request, _empty_form(actor, agent), items=items, mark=mark, agent=agent, source=sent.name
    )


def _import_chosen(site: AdminSite, request: HttpRequest, actor: Actor) -> HttpResponse:
    names = frozenset(request.POST.getlist("skill"))
    try:
        content, agent, source = _load_upload(request.POST["mark"], actor)
        items = draft_imported_skills(
            read_skills_file(BytesIO(content)), agent.pk, actor=actor, source=source, names=names
        )
    except GovernanceError as refusal:
        form = _empty_form(actor)
        return _render_import(site, request, form, status=status_of(refusal), refusal=refusal)
    return _render_import(
        site, request, _empty_form(actor, agent), items=items, agent=agent, source=source, is_done=True
    )


def _store_upload(content: bytes, agent: Agent, source: str, actor: Actor) -> str:
    """Store the bytes and return a signed mark, which is the only reference to them and works for its holder alone."""
    sha256 = hashlib.sha256(content).hexdigest()
    payload = [actor.tenant_id, actor.user_id, agent.pk, store_bytes(actor.tenant_id, content), sha256, source[:200]]
    return signing.dumps(payload, salt=SALT, compress=True)


def _load_upload(mark: str, actor: Actor) -> tuple[bytes, Agent, str]:
    try:
        tenant_id, user_id, agent_id, key, sha256, source = signing.loads(mark, salt=SALT, max_age=UPLOAD_TOKEN_SECONDS)
    except (signing.BadSignature, ValueError) as refusal:
        raise Invalid(UPLOAD_GONE, {}) from refusal
    if (tenant_id, user_id) != (actor.tenant_id, actor.user_id):
        raise Invalid(UPLOAD_GONE, {})
    content = read_bytes(key)
    with acting_as(actor):
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id).first()
    if content is None or agent is None or hashlib.sha256(content).hexdigest() != sha256:
        raise Invalid(UPLOAD_GONE, {})
    return content, agent, source


def _empty_form(actor: Actor, agent: Agent | None = None) -> ImportSkillsForm:
    with acting_as(actor):
        return ImportSkillsForm(actor=actor, initial={"agent": agent.pk if agent else None})


def _render_import(
    site: AdminSite, request: HttpRequest, form: ImportSkillsForm, *, status: int = 200, **shown: Any
) -> HttpResponse:
    actor, items = actor_of(request), list(shown.get("items", ()))
    with acting_as(actor), timezone.override(settings_of(request).timezone):
        context: dict[str, Any] = {
            **site.each_context(request),
            "title": "Import skills",
            "form": form,
            "may_import": may(actor, Act.SKILL_DRAFT),
            **shown,
            **_items_by_outcome(items),
        }
        return TemplateResponse(request, "console/skills/skill_import.html", context, status=status).render()


def _items_by_outcome(items: list[SkillImportItem]) -> Mapping[str, Any]:
    by_outcome = {outcome.value: [item for item in items if item.outcome is outcome] for outcome in ImportOutcome}
    return {"by_outcome": by_outcome, "new": by_outcome[ImportOutcome.NEW]}


def export_one(site: AdminSite, request: HttpRequest, skill_id: int) -> HttpResponse:
    """Send one approved skill as a zip."""
    return _send_archive(site, request, select_approved_skill(skill_id, actor=actor_of(request)))


def export_all(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Send every approved skill, or those of one agent."""
    asked = request.GET.get("agent", "")
    agent_id = int(asked) if asked.isascii() and asked.isdigit() and len(asked) <= 18 else None
    return _send_archive(site, request, select_approved_skills(agent_id, actor=actor_of(request)))


def skill_export_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL patterns of the exports."""
    return [
        path("skills/skill/export/", site.admin_view(partial(export_all, site)), name="export_skills"),
        path("skills/skill/<int:skill_id>/export/", site.admin_view(partial(export_one, site)), name="export_skill"),
    ]


def _send_archive(site: AdminSite, request: HttpRequest, skills: list[Skill]) -> HttpResponse:
    # A form, not an address: a confirmation is asked for again the next time.
    confirm = request.method == "POST" and "confirm_findings" in request.POST
    try:
        content = build_archive(skills, actor=actor_of(request), confirm_findings=confirm)
    except FindingsUnconfirmed as refusal:
        return _ask_confirmation(site, request, skills, refusal)
    headers = {"Content-Disposition": content_disposition(archive_name(skills)), "Cache-Control": "private, no-store"}
    return HttpResponse(content, content_type="application/zip", headers=headers)


def _ask_confirmation(
    site: AdminSite, request: HttpRequest, skills: list[Skill], refusal: FindingsUnconfirmed
) -> HttpResponse:
    with acting_as(actor_of(request)), timezone.override(settings_of(request).timezone):
        context: dict[str, Any] = {
            **site.each_context(request),
            "title": f"Export {skills[0].title}" if len(skills) == 1 else f"Export {len(skills)} skills",
            "skills": skills,
            "findings": refusal.findings,
        }
        status = status_of(refusal)
        return TemplateResponse(request, "console/skills/skill_export.html", context, status=status).render()
