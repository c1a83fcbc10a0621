"""Approved skills leave the console as a zip; what looks like somebody's in them is read and confirmed first.

These pages run outside the request's transaction: files are read with nothing locked.
"""

from functools import partial
from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from apps.console.refusals import status_of
from apps.console.requests import actor_of, settings_of
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import FindingsUnconfirmed
from apps.skills.attachments.blob_store import disposition
from apps.skills.import_export.skill_export import approved_all, approved_one, archive_name, zipped
from apps.skills.models import Skill


def export_one(site: AdminSite, request: HttpRequest, skill_id: int) -> HttpResponse:
    """One approved skill as a zip."""
    return _sent(site, request, approved_one(skill_id, actor=actor_of(request)))


def export_all(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Every approved skill, or one agent's."""
    asked = request.GET.get("agent", "")
    agent_id = int(asked) if asked.isascii() and asked.isdigit() and len(asked) <= 18 else None
    return _sent(site, request, approved_all(agent_id, actor=actor_of(request)))


def skill_export_urls(site: AdminSite) -> list[URLPattern]:
    """Where skills leave."""
    return [
        path("skills/skill/export/", site.admin_view(partial(export_all, site)), name="export_skills"),
        path("skills/skill/<int:skill_id>/export/", site.admin_view(partial(export_one, site)), name="export_skill"),
    ]


def _sent(site: AdminSite, request: HttpRequest, skills: list[Skill]) -> HttpResponse:
    # A form, not an address: what somebody confirmed once is asked again the next time.
    confirm = request.method == "POST" and "confirm_findings" in request.POST
    try:
        content = zipped(skills, actor=actor_of(request), confirm_findings=confirm)
    except FindingsUnconfirmed as refusal:
        return _asked(site, request, skills, refusal)
    told = {"Content-Disposition": disposition(archive_name(skills)), "Cache-Control": "private, no-store"}
    return HttpResponse(content, content_type="application/zip", headers=told)


def _asked(site: AdminSite, request: HttpRequest, skills: list[Skill], refusal: FindingsUnconfirmed) -> HttpResponse:
    with acting(actor_of(request)), timezone.override(settings_of(request).timezone):
        context: dict[str, Any] = {
            **site.each_context(request),
            "title": f"Export {skills[0].title}" if len(skills) == 1 else f"Export {len(skills)} skills",
            "skills": skills,
            "findings": refusal.findings,
        }
        status = status_of(refusal)
        return TemplateResponse(request, "console/skill_export.html", context, status=status).render()
