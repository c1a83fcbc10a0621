"""Agent memory: what an agent learned of its trade, slot 4."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.dated_lines import dating_button
from apps.console.deeds import Amendment, Button, Creation, Values
from apps.console.flags import flags
from apps.console.former_lines import former_panel
from apps.console.governed_admin import GovernedAdmin
from apps.console.markup import rendered
from apps.console.panels import Panels
from apps.console.private_flags import private_flags, unapproved
from apps.console.proposal_queues import open_about
from apps.console.requests import actor_of
from apps.console.whose import review_now, words_panel
from apps.governance.actors import Actor
from apps.governance.policy.table import Act
from apps.learning.contradictions.memory_warnings import clashes
from apps.memory.actions import amend_memory, approve_memory, create_memory
from apps.memory.line_dates import date_memory
from apps.memory.models import AgentMemory
from apps.prompt.memory_lines.line_diff import lines_of
from apps.prompt.text_limits import SECTION_CHARACTERS


def memory_panels(memory: Any, request: HttpRequest) -> dict[str, Any]:
    """The body as it reads."""
    actor = actor_of(request)
    return {
        **words_panel(memory, [memory.body], actor),
        **former_panel(memory),
        "review": review_now(actor),
        "body_html": rendered(memory.body),
        "author": memory.people[memory.updated_by],
        "flags": [
            *flags({"body": memory.body}),
            *private_flags({"body": unapproved(memory.body, memory.approved_body)}, actor),
        ],
        "proposals": open_about(memory, actor),
        "clashes": clashes(memory, lines_of(memory.body), actor=actor),
    }


def _create_memory(values: Values, actor: Actor) -> AgentMemory:
    return create_memory(values["agent"].pk, actor=actor, body=values["body"])


def _amend(memory: AgentMemory, values: Values, actor: Actor, read_at: int | None) -> AgentMemory:
    return amend_memory(memory, actor=actor, body=values["body"], read_at=read_at)


def _approve_memory(memory: AgentMemory, actor: Actor, said: Values) -> AgentMemory:
    return approve_memory(memory, actor=actor, read_at=said["read_at"])


def _is_unapproved_memory(memory: AgentMemory) -> bool:
    return not memory.is_approved


class MemoryAdmin(GovernedAdmin):
    """One memory per agent, written by the agent and corrected by people."""

    list_display = ("agent", "beginning", "author", "whose_words", "version", "updated")
    list_select_related = ("agent",)
    search_fields = ("agent__key", "body")
    search_help_text = "Search agent or text"
    empty = "No agent remembers anything yet. Agents write here by themselves; you may write first."
    add_fields = ("agent", "body")
    fields = ("body",)
    counts = dict.fromkeys(fields, SECTION_CHARACTERS)
    change_form_template = "console/memory.html"
    creates = Creation(Act.MEMORY_AMEND, _create_memory, add_fields)
    amends = (Amendment(Act.MEMORY_AMEND, _amend),)
    buttons = (
        Button(
            "approve",
            "Approve as it stands",
            Act.MEMORY_APPROVE,
            _approve_memory,
            done="Approved. The next session of every customer carries it as prose.",
            consequence="If you approve, the next prompt of every customer of agent {agent} carries this text as prose,"
            " as if you had written it; until then it is quoted data.",
            when=_is_unapproved_memory,
            folded=False,
        ),
        dating_button(Act.MEMORY_SET_LINE_DATES, date_memory),
    )
    panels = Panels(memory_panels)

    @admin.display(description="Body")
    def beginning(self, memory: AgentMemory) -> str:
        return memory.body[:120] or "(empty)"

    @admin.display(description="Written or approved by", ordering="updated_by")
    def author(self, memory: Any) -> str:
        return str(memory.people[memory.updated_by])
