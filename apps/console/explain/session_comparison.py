"""Comparison of two sessions, or of a session with a new one: each difference with the acts that caused it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin import AdminSite
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.console.explain.reply_explanation import record_label, row_label
from apps.console.framework.form_errors import status_of
from apps.console.framework.request_context import actor_of, people_of
from apps.console.framework.row_urls import url_of_versions
from apps.console.framework.text_diffs import FieldDiff, side_by_side
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.row_ids import LARGEST_ROW_ID
from apps.prompt.instruction_texts import SLOT_TITLES
from apps.prompt.prompt_diff import OwnerChange, PromptLine
from apps.runtime.explain.prompt_diff import (
    ExplainedHunk,
    PromptDiff,
    comparable_sessions,
    diff_sessions,
    previous_session,
)
from apps.runtime.explain.prompt_diff_causes import ChangeCause
from apps.runtime.models import Session


class CompareWithForm(forms.Form):
    """The session to compare with."""

    other = forms.IntegerField(
        label="Beside session",
        required=False,
        min_value=1,
        max_value=LARGEST_ROW_ID,
        help_text="Its number. Left out, it is what a new session would be told now.",
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "numeric"}),
    )

    def __init__(self, data: QueryDict, sessions: QuerySet[Session]) -> None:
        super().__init__(data, label_suffix="")
        self.sessions = sessions

    def clean_other(self) -> Session | None:
        """Return the session of that number; None means a new session."""
        number = self.cleaned_data["other"]
        found = self.sessions.filter(pk=number).first() if number else None
        if number and found is None:
            raise forms.ValidationError(f"There is no session {number} that you may see.")
        return found


@dataclass(frozen=True, slots=True)
class CausingChange:
    """A cause with the page of its row's versions."""

    cause: ChangeCause
    row: str
    url: str


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One place that differs, in two columns."""

    diffs: tuple[FieldDiff, ...]
    acts: tuple[CausingChange, ...]
    explanation: str


@dataclass(frozen=True, slots=True)
class OwnershipChange:
    """Words that stayed while their owner changed."""

    slot: str
    before: str
    after: str


def session_comparison_page(request: HttpRequest, session_id: int, site: AdminSite) -> HttpResponse:
    """Show the comparison; a GET changes nothing."""
    actor = actor_of(request)
    sessions = comparable_sessions(actor)
    session = sessions.filter(pk=session_id).first()
    if session is None:
        raise Http404("There is no such session, or nothing of it is shown.")
    form = CompareWithForm(request.GET, sessions)
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": f"Session {session.pk} beside another",
        "session": session,
        "form": form,
        "earlier": previous_session(session, actor=actor),
        "people": people_of(request),
    }
    status = 422
    if form.is_valid():
        try:
            context |= _comparison_context(session, form.cleaned_data["other"], actor)
            status = 200
        except GovernanceError as refusal:
            context["refusal"], status = str(refusal), status_of(refusal)
    return TemplateResponse(request, "console/explain/session_comparison.html", context, status=status)


def _comparison_context(session: Session, other: Session | None, actor: Actor) -> dict[str, Any]:
    with acting_as(actor):
        found = diff_sessions(session, other, system=actor, now=timezone.now())
    return {
        "found": found,
        "other": other,
        "left": f"Session {session.pk}",
        "right": f"Session {other.pk}" if other else "Now",
        "shown": [_comparison_row(each) for each in found.hunks],
        "order_acts": list(_causing_changes(found.reordered.causes)) if found.reordered else [],
        "passed": list(_owner_changes(found)),
    }


def _comparison_row(explained: ExplainedHunk) -> ComparisonRow:
    hunk = explained.hunk
    slot = f"Slot {hunk.slot.value}: {SLOT_TITLES.get(hunk.slot, hunk.slot.name)}"
    rows = tuple(side_by_side(_join_lines(hunk.removed), _join_lines(hunk.added)))
    return ComparisonRow((FieldDiff(slot, rows),), tuple(_causing_changes(explained.causes)), explained.explanation)


def _join_lines(lines: Iterable[PromptLine]) -> str:
    return "\n".join(line.text for line in lines)


def _causing_changes(causes: Iterable[ChangeCause]) -> Iterator[CausingChange]:
    for cause in causes:
        row = cause.record_type, cause.record_id
        yield CausingChange(cause, row_label(*row), url_of_versions(*row))


def _owner_changes(found: PromptDiff) -> Iterator[OwnershipChange]:
    for each in found.owner_changes:
        yield OwnershipChange(SLOT_TITLES.get(each.slot, each.slot.name), *_owners(each))


def _owners(handover: OwnerChange) -> Iterator[str]:
    for sources in (handover.before, handover.after):
        descriptions = (f"{record_label(source)} v{source.version}, {source.author or 'unknown'}" for source in sources)
        yield "; ".join(descriptions) or "the product, or not recorded"
