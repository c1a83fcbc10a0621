"""Reflections: the result of each agent's daily review, even if it learned nothing."""

from typing import Any

from django.http import HttpRequest

from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, day_column, model_column
from apps.console.framework.page_actions import PanelReader
from apps.console.framework.request_context import actor_of
from apps.conversations.models import Conversation
from apps.governance.models import Proposal
from apps.skills.models import Skill


def reflection_panels(reflection: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the conversations that were read, the drafts that still exist, and the proposals for memory."""
    actor = actor_of(request)
    read = Conversation.objects.visible_to(actor).filter(pk__in=reflection.conversation_ids)
    return {
        "read": read.select_related("agent").order_by("id"),
        "drafts": Skill.objects.visible_to(actor).filter(pk__in=reflection.skill_ids).order_by("id"),
        "proposals": Proposal.objects.visible_to(actor)
        .filter(pk__in=reflection.proposal_ids)
        .select_related("agent")
        .order_by("id"),
    }


class ReflectionAdmin(GovernedAdmin):
    """Read-only: one row per agent and day."""

    list_display = ("on_day", "verdict", "agent", "short_reason", "source")
    list_display_links = ("on_day", "verdict")
    list_filter = ("verdict", "agent", "is_stand_in")
    list_select_related = ("agent",)
    search_fields = ("reason",)
    search_help_text = "Search reason"
    empty = "No reflection yet. Let an agent reflect on its day, on the agent's page; at 23:00 it is read here what the day taught."
    fields = ()
    change_form_template = "console/learning/reflection.html"
    panels = PanelReader(reflection_panels)

    on_day = day_column("Day", "day")
    short_reason = column("Why", lambda row: row.reason[:160])
    source = model_column("Judged by")
