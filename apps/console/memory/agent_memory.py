"""Console admins of agent memory (slot 4) and memory blocks, with a panel of former and expired lines.

People make memory blocks, and agents keep them up to date. The panel shows the latest lines that were replaced or removed, and the
lines that are still in the text and have expired.
"""

from typing import Any, ClassVar, Final

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import beginning_column, person_column
from apps.console.framework.markdown_rendering import render_markdown
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader, as_mapping
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_urls import url_of_subject
from apps.console.memory.line_dates import line_dates_button
from apps.console.review.content_flags import find_content_flags, personal_data_flags, unapproved_lines
from apps.console.review.inbox_filters import open_proposals_about
from apps.console.review.provenance import current_memory_review, provenance_panel
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.memory_warnings import contradictions_of
from apps.memory.actions import amend_memory, approve_block, approve_memory, create_block, create_memory, write_block
from apps.memory.line_dates import set_block_line_dates, set_memory_line_dates
from apps.memory.line_ledger import RememberedText, ledger_of
from apps.memory.models import AgentMemory, MemoryBlock, MemoryLine
from apps.prompt.memory_lines.line_diff import split_lines
from apps.prompt.text_limits import SECTION_CHARACTERS
from apps.tenants.models import Agent

LINES_SHOWN: Final = 10
LINES_LIST_VIEW: Final = "admin:memory_memoryline_changelist"


def former_lines_panel(row: RememberedText) -> dict[str, Any]:
    """Return the latest lines that were replaced or removed, and the lines in the text that have expired."""
    ledger, now = ledger_of(row).select_related("superseded_by"), timezone.now()
    gone = list(ledger.exclude(status=MemoryLine.Status.ACTIVE).order_by("-ended_at", "-id")[: LINES_SHOWN + 1])
    over = list(
        ledger.filter(status=MemoryLine.Status.ACTIVE, valid_until__lte=now).order_by("-valid_until", "-id")[
            :LINES_SHOWN
        ]
    )
    place = "memory" if isinstance(row, AgentMemory) else "block"
    return {
        "gone": [_line_context(line) for line in gone[:LINES_SHOWN]],
        "over": [_line_context(line) for line in over],
        "has_more": len(gone) > LINES_SHOWN,
        "lines_url": f"{reverse(LINES_LIST_VIEW)}?{urlencode({f'{place}__exact': row.pk})}",
    }


def _line_context(line: MemoryLine) -> dict[str, Any]:
    return {"line": line, "url": url_of_subject("memory.memoryline", line.pk)}


def block_panels(block: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the body as rendered text, its sources and flags, open proposals and contradictions."""
    actor = actor_of(request)
    return {
        **provenance_panel(block, [block.body], actor),
        **former_lines_panel(block),
        "review": current_memory_review(actor),
        "body_html": render_markdown(block.body),
        "author": block.people[block.updated_by],
        "flags": [
            *find_content_flags({"body": block.body}),
            *personal_data_flags({"body": unapproved_lines(block.body, block.approved_body)}, actor),
        ],
        "proposals": open_proposals_about(block, actor),
        "clashes": contradictions_of(block, split_lines(block.body), actor=actor),
    }


def _create_block(*, actor: Actor, agent: Agent, **values: object) -> MemoryBlock:
    return create_block(agent.pk, actor=actor, values=values)


def _is_unapproved_block(block: MemoryBlock) -> bool:
    return not block.is_approved


class BlockAdmin(GovernedAdmin):
    """Blocks of the tenant's agents."""

    list_display = ("label", "agent", "beginning", "is_pinned", "is_read_only", "author", "updated")
    list_filter = ("agent", "is_pinned", "is_read_only")
    list_select_related = ("agent",)
    search_fields = ("agent__key", "label", "body")
    search_help_text = "Search agent, label or text"
    empty = "No memory block yet. Add one for what an agent should know under a name of its own, such as BusinessFacts."
    add_fields = ("agent", "label", "body", "is_pinned", "is_read_only")
    fields = ("label", "body", "is_pinned", "is_read_only")
    counts: ClassVar = {"body": SECTION_CHARACTERS}
    change_form_template = "console/memory/memory_block.html"
    saved = "Saved. If it is pinned, the next session carries it; sessions already open keep what they started with."
    creates = CreateAction(Act.BLOCK_WRITE, _create_block, add_fields)
    amends = (EditAction(Act.BLOCK_WRITE, as_mapping(write_block)),)
    buttons = (
        Button(
            "approve",
            "Approve as it stands",
            Act.BLOCK_APPROVE,
            approve_block,
            done="Approved. While it is pinned, the next session of every customer carries it as prose.",
            consequence="If you approve, and while the block is pinned, the next prompt of every customer of agent {agent}"
            " carries this text as prose, as if you had written it; until then it is quoted data.",
            when=_is_unapproved_block,
            folded=False,
        ),
        line_dates_button(Act.BLOCK_SET_LINE_DATES, set_block_line_dates),
    )
    panels = PanelReader(block_panels)

    beginning = beginning_column("Body", "body")
    author = person_column("Written or approved by", "updated_by")


def memory_panels(memory: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the body as rendered text, its sources and flags, open proposals and contradictions."""
    actor = actor_of(request)
    return {
        **provenance_panel(memory, [memory.body], actor),
        **former_lines_panel(memory),
        "review": current_memory_review(actor),
        "body_html": render_markdown(memory.body),
        "author": memory.people[memory.updated_by],
        "flags": [
            *find_content_flags({"body": memory.body}),
            *personal_data_flags({"body": unapproved_lines(memory.body, memory.approved_body)}, actor),
        ],
        "proposals": open_proposals_about(memory, actor),
        "clashes": contradictions_of(memory, split_lines(memory.body), actor=actor),
    }


def _create_memory(*, actor: Actor, agent: Agent, body: str) -> AgentMemory:
    return create_memory(agent.pk, actor=actor, body=body)


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
    change_form_template = "console/memory/agent_memory.html"
    creates = CreateAction(Act.MEMORY_AMEND, _create_memory, add_fields)
    amends = (EditAction(Act.MEMORY_AMEND, amend_memory),)
    buttons = (
        Button(
            "approve",
            "Approve as it stands",
            Act.MEMORY_APPROVE,
            approve_memory,
            done="Approved. The next session of every customer carries it as prose.",
            consequence="If you approve, the next prompt of every customer of agent {agent} carries this text as prose,"
            " as if you had written it; until then it is quoted data.",
            when=_is_unapproved_memory,
            folded=False,
        ),
        line_dates_button(Act.MEMORY_SET_LINE_DATES, set_memory_line_dates),
    )
    panels = PanelReader(memory_panels)

    beginning = beginning_column("Body", "body")
    author = person_column("Written or approved by", "updated_by")
