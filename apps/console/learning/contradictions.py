"""Contradictions: pairs of lines that cannot both be right, the page that edits each line, and what people decided."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.console.framework.forms import DecisionForm, OptionalReasonForm, VerbatimTextField
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import choice_column, column, moment_column
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import excerpt
from apps.console.framework.row_urls import url_of_subject
from apps.governance.actors import Actor
from apps.governance.models import Governed
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.actions import dismiss_contradiction, reopen_contradiction
from apps.learning.contradictions.models import Contradiction, ContradictionScan
from apps.learning.contradictions.rules import REASON_CHARACTERS
from apps.learning.contradictions.scan_runs import request_scan

Nouns = Contradiction.Nouns
Status = Contradiction.Status
PAGES_BY_NOUN: Final = {
    Nouns.PERSONA: "personas.persona",
    Nouns.RULE: "personas.standingrule",
    Nouns.MEMORY: "memory.agentmemory",
    Nouns.BLOCK: "memory.memoryblock",
    Nouns.TIER: "memory.memorytier",
    Nouns.SKILL: "skills.skill",
}
SHOWN_BESIDE: Final = 10


@dataclass(frozen=True, slots=True)
class ShownSide:
    """One line, and the page on which it is edited."""

    where: str
    line: str
    url: str


def sides_of(row: Contradiction) -> Iterator[ShownSide]:
    """Yield both lines; for a tool that is not allowed, only the line that names it."""
    yield ShownSide(
        row.first_location, row.first_text, url_of_subject(PAGES_BY_NOUN[Nouns(row.first_type)], row.first_id)
    )
    if row.second_id is not None:
        yield ShownSide(
            row.second_location, row.second_text, url_of_subject(PAGES_BY_NOUN[Nouns(row.second_type)], row.second_id)
        )


def quote_side(side: ShownSide) -> SafeString:
    """Return a line for a list, behind a link to the page that edits it."""
    return format_html('<span><a href="{}">{}</a>: “{}”</span>', side.url, side.where, excerpt(side.line))


def contradictions_about(row: Governed, request: HttpRequest) -> QuerySet[Contradiction]:
    """Return the open contradictions about a row, for its own page."""
    found = Contradiction.objects.visible_to(actor_of(request)).open()
    return found.about(row.noun, row.pk)[:SHOWN_BESIDE]


def contradiction_panels(row: Any, request: HttpRequest) -> dict[str, Any]:
    """Return both lines, and the latest scan of this agent."""
    return {
        "sides": list(sides_of(row)),
        "look": ContradictionScan.objects.filter(agent=row.agent_id).first(),
    }


class DismissContradictionForm(DecisionForm):
    """The reason why both lines may stay."""

    reason = VerbatimTextField(
        label="Why both may stay", max_length=REASON_CHARACTERS, help_text="Kept in the history."
    )
    reason.widget.attrs["rows"] = 2


def _scan_again(row: Contradiction, *, actor: Actor) -> Contradiction:
    request_scan(row.agent_id, actor=actor)
    return row


def _is_open(row: Contradiction) -> bool:
    return bool(row.status == Status.OPEN)


def _is_dismissed(row: Contradiction) -> bool:
    return bool(row.status == Status.DISMISSED)


class ContradictionAdmin(GovernedAdmin):
    """Contradictions: open ones come first; dismissed and resolved ones stay readable."""

    list_display = ("in_what", "agent", "one", "other", "since", "state_shown")
    list_display_links = ("in_what",)
    list_filter = ("agent", "kind")
    list_select_related = ("agent",)
    search_fields = ("first_text", "second_text", "agent__key")
    search_help_text = "Search line or agent"
    tabs = Tabs("status", tuple(Status.choices), first=Status.OPEN.value)
    empty = (
        "No contradiction here. What agents go by is looked through every night at three; what cannot both be right is listed"
        " then."
    )
    fields = ()
    change_form_template = "console/learning/contradiction.html"
    panels = PanelReader(contradiction_panels)
    buttons = (
        Button(
            "dismiss",
            "Both may stay",
            Act.CONTRADICTION_DISMISS,
            dismiss_contradiction,
            done="Dismissed for as long as neither line changes.",
            consequence="Nothing changes for agent {agent}. You are asked again once one of the lines says something else that"
            " contradicts the other.",
            form=DismissContradictionForm,
            when=_is_open,
            tone="primary",
        ),
        Button(
            "reopen",
            "Open it again",
            Act.CONTRADICTION_REOPEN,
            reopen_contradiction,
            done="Open again.",
            consequence="One of the lines has to change after all. It is open until one does.",
            form=OptionalReasonForm,
            when=_is_dismissed,
        ),
        Button(
            "look",
            "Look again now",
            Act.CONTRADICTION_SCAN,
            _scan_again,
            takes_read_at=False,
            done="Everything the agent follows is compared within a minute. Load this page again then.",
            consequence="All that agent {agent} goes by is looked through within a minute; what was changed is gone then.",
        ),
    )

    in_what = choice_column("Contradiction", "kind")
    one = column("One line", lambda row: quote_side(next(sides_of(row))))
    since = moment_column("Since", "created_at")

    @admin.display(description="The other")
    def other(self, row: Contradiction) -> SafeString:
        sides = list(sides_of(row))
        return quote_side(sides[1]) if len(sides) > 1 else format_html("names {}", row.conflicting_words)
