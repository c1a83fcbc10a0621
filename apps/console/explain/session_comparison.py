"""Two sessions side by side, or one beside what a new one would be told now: each difference with the acts that caused it."""

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

from apps.console.explain.reply_explanation import named, named_row
from apps.console.framework.form_errors import status_of
from apps.console.framework.request_context import actor_of, people_of
from apps.console.framework.row_urls import url_of_versions
from apps.console.framework.text_diffs import FieldDiff, side_by_side
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import GovernanceError
from apps.governance.row_ids import LARGEST_NUMBER
from apps.prompt.instruction_texts import SLOT_TITLES
from apps.prompt.prompt_diff import Handover, Line
from apps.runtime.explain.prompt_diff import Apart, Explained, apart, earlier, sessions_open_to
from apps.runtime.explain.prompt_diff_causes import Cause
from apps.runtime.models import Session


class With(forms.Form):
    """Beside which."""

    other = forms.IntegerField(
        label="Beside session",
        required=False,
        min_value=1,
        max_value=LARGEST_NUMBER,
        help_text="Its number. Left out, it is what a new session would be told now.",
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "numeric"}),
    )

    def __init__(self, data: QueryDict, sessions: QuerySet[Session]) -> None:
        super().__init__(data, label_suffix="")
        self.sessions = sessions

    def clean_other(self) -> Session | None:
        """The session of that number; none stands for now."""
        number = self.cleaned_data["other"]
        found = self.sessions.filter(pk=number).first() if number else None
        if number and found is None:
            raise forms.ValidationError(f"There is no session {number} that you may see.")
        return found


@dataclass(frozen=True, slots=True)
class Act:
    """A cause with the page of its row's versions."""

    cause: Cause
    row: str
    url: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One place that differs, in two columns."""

    diffs: tuple[FieldDiff, ...]
    acts: tuple[Act, ...]
    explanation: str


@dataclass(frozen=True, slots=True)
class Passed:
    """Words that stayed, and whose they were and are."""

    slot: str
    before: str
    after: str


def apart_page(request: HttpRequest, session_id: int, site: AdminSite) -> HttpResponse:
    """A GET, it changes nothing."""
    actor = actor_of(request)
    sessions = sessions_open_to(actor)
    session = sessions.filter(pk=session_id).first()
    if session is None:
        raise Http404("There is no such session, or nothing of it is shown.")
    form = With(request.GET, sessions)
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": f"Session {session.pk} beside another",
        "session": session,
        "form": form,
        "earlier": earlier(session, actor=actor),
        "people": people_of(request),
    }
    status = 422
    if form.is_valid():
        try:
            context |= _compared(session, form.cleaned_data["other"], actor)
            status = 200
        except GovernanceError as refusal:
            context["refusal"], status = str(refusal), status_of(refusal)
    return TemplateResponse(request, "console/explain/session_comparison.html", context, status=status)


def _compared(session: Session, other: Session | None, actor: Actor) -> dict[str, Any]:
    with acting(actor):
        found = apart(session, other, system=actor, now=timezone.now())
    return {
        "found": found,
        "other": other,
        "left": f"Session {session.pk}",
        "right": f"Session {other.pk}" if other else "Now",
        "shown": [_shown(each) for each in found.hunks],
        "order_acts": list(_acts(found.reordered.causes)) if found.reordered else [],
        "passed": list(_passed(found)),
    }


def _shown(explained: Explained) -> Shown:
    hunk = explained.hunk
    slot = f"Slot {hunk.slot.value}: {SLOT_TITLES.get(hunk.slot, hunk.slot.name)}"
    rows = tuple(side_by_side(_text(hunk.removed), _text(hunk.added)))
    return Shown((FieldDiff(slot, rows),), tuple(_acts(explained.causes)), explained.explanation)


def _text(lines: Iterable[Line]) -> str:
    return "\n".join(line.text for line in lines)


def _acts(causes: Iterable[Cause]) -> Iterator[Act]:
    for cause in causes:
        row = cause.record_type, cause.record_id
        yield Act(cause, named_row(*row), url_of_versions(*row))


def _passed(found: Apart) -> Iterator[Passed]:
    for each in found.owner_changes:
        yield Passed(SLOT_TITLES.get(each.slot, each.slot.name), *_owners(each))


def _owners(handover: Handover) -> Iterator[str]:
    for sources in (handover.before, handover.after):
        said = (f"{named(source)} v{source.version}, {source.author or 'unknown'}" for source in sources)
        yield "; ".join(said) or "the product, or not recorded"
