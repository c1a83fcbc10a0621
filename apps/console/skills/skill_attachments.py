"""The files of a skill on its page: list, attach, remove and reorder them."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.console.framework.form_errors import add_refusal_to_form, rerender_row_page, status_of
from apps.console.framework.forms import DecisionForm
from apps.console.framework.request_context import actor_of, people_of
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import Act
from apps.skills.actions import arrange_files
from apps.skills.attachment_upload import upload_file
from apps.skills.attachments.attachment_access import AttachmentPreview, read_file
from apps.skills.attachments.signed_links import make_link
from apps.skills.models import Skill
from apps.skills.skill_validation import MEDIA_TYPES, Attachment, has_file_mention
from apps.tenants.authentication.signed_link_holders import holder_of

ATTACHED_MESSAGE = "Attached. The file is part of what is reviewed and approved."


class SkillFileForm(DecisionForm):
    """A decision about one file of a skill."""

    name = forms.CharField(widget=forms.HiddenInput, strip=False)


class AttachFileForm(DecisionForm):
    """A file for a skill."""

    file = forms.FileField(
        label="Attach a file",
        allow_empty_file=True,
        help_text="The runbook has to mention it by its name; agents read no other.",
        widget=forms.FileInput(
            attrs={"accept": ",".join(f".{extension}" for extension in MEDIA_TYPES), "class": "pc-file"}
        ),
    )


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file as the page shows it."""

    file: Attachment
    by: str
    url: str
    is_mentioned: bool
    read: AttachmentPreview


def files_panel(skill: Skill, request: HttpRequest) -> dict[str, Any]:
    """Return the values to show and change the files."""
    actor, refused = actor_of(request), getattr(request, "refused_upload", None)
    may_change = skill.status != Skill.Status.DEPRECATED and may(actor, Act.SKILL_ATTACH, row=skill)
    return {
        "files": [_shown_file(skill, placed, request) for placed in enumerate(skill.files)],
        "may_change_files": may_change,
        "upload_form": refused or _empty_form(skill),
        "upload_url": reverse("admin:upload_file", args=[skill.pk]),
        "detach_url": reverse("admin:skills_skill_decide", args=[skill.pk, "detach"]),
        "arrange_url": reverse("admin:skills_skill_decide", args=[skill.pk, "arrange"]),
    }


def upload(request: HttpRequest, skill_id: int, site: AdminSite) -> HttpResponse:
    """Attach a file. This page runs outside the request's transaction: no lock is held while bytes are stored."""
    actor = actor_of(request)
    skill = _skill_or_404(skill_id, actor)
    if request.method != "POST":
        return HttpResponseRedirect(_skill_url(skill))
    form = AttachFileForm(request.POST, request.FILES, auto_id="upload_%s", label_suffix="")
    status = 422
    if form.is_valid():
        try:
            _upload(skill, form, actor)
        except GovernanceError as refusal:
            add_refusal_to_form(form, refusal)
            status = status_of(refusal)
        else:
            messages.success(request, ATTACHED_MESSAGE)
            return HttpResponseRedirect(f"{_skill_url(skill)}#files", status=303)
    return _rerender_skill(request, skill, form, status, site)


def download(request: HttpRequest, skill_id: int, at: int, site: AdminSite) -> HttpResponse:
    """Redirect to the file by a fresh link; a link on the page would have expired before the reviewer used it."""
    actor = actor_of(request)
    skill = _skill_or_404(skill_id, actor)
    if at >= len(skill.files):
        raise Http404("There is no such file.")
    link = make_link(skill.files[at], skill.pk, holder_of(actor, ""))
    return HttpResponseRedirect(reverse("file", args=[link.token]))


def move_up(skill: Skill, *, actor: Actor, name: str, read_at: int) -> Skill:
    """Move the file before the one in front of it."""
    names = [file.name for file in skill.files]
    at = names.index(name) if name in names else 0
    if at:
        names[at - 1], names[at] = names[at], names[at - 1]
    return arrange_files(skill, actor=actor, names=names, read_at=read_at)


def _upload(skill: Skill, form: AttachFileForm, actor: Actor) -> None:
    sent = form.cleaned_data["file"]
    upload_file(skill, actor=actor, name=sent.name, content=sent.read(), read_at=form.cleaned_data["read_at"])


def _rerender_skill(
    request: HttpRequest, skill: Skill, form: AttachFileForm, status: int, site: AdminSite
) -> HttpResponse:
    form.data = {"read_at": str(skill.version)}
    request.refused_upload = form  # type: ignore[attr-defined]  # read by files_panel
    return rerender_row_page(request, Skill, skill.pk, status, site)


def _skill_or_404(skill_id: int, actor: Actor) -> Skill:
    with acting_as(actor):
        skill = Skill.objects.visible_to(actor).filter(pk=skill_id).first()
    if skill is None:
        raise Http404("There is no such skill.")
    return skill


def _skill_url(skill: Skill) -> str:
    return reverse("admin:skills_skill_change", args=[skill.pk])


def _shown_file(skill: Skill, placed: tuple[int, Attachment], request: HttpRequest) -> ShownFile:
    at, file = placed
    url = reverse("admin:download_file", args=[skill.pk, at])
    by = people_of(request)[file.uploaded_by]
    return ShownFile(file, by, url, has_file_mention(skill.body, file.name), read_file(file))


def _empty_form(skill: Skill) -> AttachFileForm:
    return AttachFileForm(initial={"read_at": skill.version}, auto_id="upload_%s", label_suffix="")
