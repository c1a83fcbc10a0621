"""Memory blocks: labelled pieces of memory that people make and agents keep up to date."""

from typing import Any, ClassVar

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
from apps.memory.actions import approve_block, create_block, write_block
from apps.memory.line_dates import date_block
from apps.memory.models import MemoryBlock
from apps.prompt.memory_lines.line_diff import lines_of
from apps.prompt.text_limits import SECTION_CHARACTERS


def block_panels(block: Any, request: HttpRequest) -> dict[str, Any]:
    """The body as it reads."""
    actor = actor_of(request)
    return {
        **words_panel(block, [block.body], actor),
        **former_panel(block),
        "review": review_now(actor),
        "body_html": rendered(block.body),
        "author": block.people[block.updated_by],
        "flags": [
            *flags({"body": block.body}),
            *private_flags({"body": unapproved(block.body, block.approved_body)}, actor),
        ],
        "proposals": open_about(block, actor),
        "clashes": clashes(block, lines_of(block.body), actor=actor),
    }


def _create_block(values: Values, actor: Actor) -> MemoryBlock:
    given = {name: value for name, value in values.items() if name != "agent"}
    return create_block(values["agent"].pk, actor=actor, values=given)


def _write(block: MemoryBlock, values: Values, actor: Actor, read_at: int | None) -> MemoryBlock:
    return write_block(block, actor=actor, values=values, read_at=read_at)


def _approve_block(block: MemoryBlock, actor: Actor, said: Values) -> MemoryBlock:
    return approve_block(block, actor=actor, read_at=said["read_at"])


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
    change_form_template = "console/block.html"
    saved = "Saved. If it is pinned, the next session carries it; sessions already open keep what they started with."
    creates = Creation(Act.BLOCK_WRITE, _create_block, add_fields)
    amends = (Amendment(Act.BLOCK_WRITE, _write),)
    buttons = (
        Button(
            "approve",
            "Approve as it stands",
            Act.BLOCK_APPROVE,
            _approve_block,
            done="Approved. While it is pinned, the next session of every customer carries it as prose.",
            consequence="If you approve, and while the block is pinned, the next prompt of every customer of agent {agent}"
            " carries this text as prose, as if you had written it; until then it is quoted data.",
            when=_is_unapproved_block,
            folded=False,
        ),
        dating_button(Act.BLOCK_SET_LINE_DATES, date_block),
    )
    panels = Panels(block_panels)

    @admin.display(description="Body")
    def beginning(self, block: MemoryBlock) -> str:
        return block.body[:120] or "(empty)"

    @admin.display(description="Written or approved by", ordering="updated_by")
    def author(self, block: Any) -> str:
        return str(block.people[block.updated_by])
