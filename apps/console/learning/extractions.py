"""Extractions: what the learning made of each resolved conversation, nothing included."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.conversations.transcripts import transcript
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import PanelReader
from apps.console.framework.row_titles import format_moment
from apps.console.framework.row_urls import url_of_subject
from apps.learning.extraction.models import Extraction
from apps.skills.models import Skill


def extraction_panels(extraction: Any, request: HttpRequest) -> dict[str, Any]:
    """The conversation that was looked at, and the draft if there is one still."""
    del request
    skill = Skill.objects.filter(pk=extraction.skill_id).first() if extraction.skill_id else None
    return {
        "lines": transcript(extraction.conversation),
        "skill": skill,
        "skill_url": url_of_subject("skills.skill", skill.pk) if skill else "",
        "conversation_url": url_of_subject("conversations.conversation", extraction.conversation_id),
    }


class ExtractionAdmin(GovernedAdmin):
    """Read-only: one verdict per conversation."""

    list_display = ("judged", "verdict", "conversation", "agent", "short_reason", "source")
    list_display_links = ("judged", "verdict")
    list_filter = ("verdict", "agent", "is_stand_in")
    list_select_related = ("agent", "conversation")
    search_fields = ("conversation__conversation_key", "reason")
    search_help_text = "Search thread or reason"
    empty = "No verdict yet. Resolve a conversation, and the learning says here what it made of it."
    fields = ()
    change_form_template = "console/learning/extraction.html"
    panels = PanelReader(extraction_panels)

    @admin.display(description="When", ordering="created_at")
    def judged(self, extraction: Extraction) -> str:
        return format_moment(extraction.created_at)

    @admin.display(description="Why")
    def short_reason(self, extraction: Extraction) -> str:
        return extraction.reason[:160]

    @admin.display(description="Judged by")
    def source(self, extraction: Extraction) -> str:
        return f"{extraction.model or 'the gate, without a model'}{' (stand-in)' if extraction.is_stand_in else ''}"
