"""Extractions: the result of learning from each resolved conversation, even if nothing was learned."""

from typing import Any

from django.http import HttpRequest

from apps.console.conversations.transcripts import transcript
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, model_column, moment_column
from apps.console.framework.page_actions import PanelReader
from apps.console.framework.row_urls import url_of_subject
from apps.skills.models import Skill


def extraction_panels(extraction: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the conversation that was read, and the draft if it still exists."""
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

    judged = moment_column("When", "created_at")
    short_reason = column("Why", lambda row: row.reason[:160])
    source = model_column("Judged by", missing="the gate, without a model")
