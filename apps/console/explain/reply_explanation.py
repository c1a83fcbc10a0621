"""Explanation of a reply: the texts that the model read, and how much of each the reply repeats."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from apps.console.conversations.reply_reporting import report_form
from apps.console.conversations.transcripts import ShownToolCall, shown_tool_call
from apps.console.framework.request_context import actor_of, people_of
from apps.console.framework.row_urls import url_of_subject, url_of_versions
from apps.console.framework.text_diffs import field_label
from apps.console.framework.token_usage import total_usage
from apps.prompt.instruction_texts import SLOT_TITLES
from apps.prompt.prompt_input import SendMode, Slot, TextProvenance
from apps.prompt.text_reuse.source_overlap import OverlapPiece, split_by_overlap
from apps.runtime.explain.reply_sources import ReplySource, SourcePlace, TurnExplanation, explain_turn

REPEATED_SHOWN: Final = 20
# So many sources are open at first; a reader opens the others as needed.
OPEN_AT_FIRST: Final = 3

PLACE_LABELS: Final = {
    SourcePlace.TURN: "The user turn",
    SourcePlace.SKILL: "A skill it read",
    SourcePlace.TOOL: "A tool's answer",
    SourcePlace.EARLIER: "Said earlier",
}
SEND_MODE_LABELS: Final = {
    SendMode.AUTONOMOUS: "It is sent at once",
    SendMode.SUGGEST: "It waits for a person",
    SendMode.OBSERVE: "It is only observed",
}


@dataclass(frozen=True, slots=True)
class ModelInputRow:
    """A text that the model read, with the pages of its row and versions, and the lines that it shares with the reply."""

    stood: ReplySource
    where: str
    label: str
    url: str
    versions_url: str
    in_reply: tuple[tuple[OverlapPiece, ...], ...]
    in_source: tuple[tuple[OverlapPiece, ...], ...]
    is_open: bool

    @property
    def percent(self) -> int:
        """The share of the reply's significant words that the text contains too, in percent."""
        return round(100 * self.stood.overlap.share)


def reply_explanation_page(request: HttpRequest, turn_id: int, site: AdminSite) -> HttpResponse:
    """Show everything that led to one reply; a GET changes nothing."""
    found = explain_turn(turn_id, actor=actor_of(request))
    if found is None:
        raise Http404("There is no such turn, or nothing is kept of it.")
    sources = list(_model_input_rows(found))
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": "Why it said that",
        "found": found,
        "conversation": found.turn.conversation,
        "mode": SEND_MODE_LABELS[SendMode(found.send_mode)],
        "sources": sources,
        "repeated": [each for each in sources if each.in_reply][:REPEATED_SHOWN],
        "repeated_count": len(found.repeated),
        "calls": [_shown_call(step) for step in found.tool_steps],
        "usage": total_usage(found.calls),
        "models": sorted({call.model for call in found.calls}),
        "people": people_of(request),
        "reports": found.turn.reply.reports.standing().order_by("pk") if found.turn.reply else (),
        "reporting": report_form(found.turn.reply, request) if found.turn.reply else None,
    }
    return TemplateResponse(request, "console/explain/reply_explanation.html", context)


def _model_input_rows(found: TurnExplanation) -> Iterator[ModelInputRow]:
    for at, stood in enumerate(found.sources):
        source = stood.source
        url = url_of_subject(source.record_type, source.record_id) if source else ""
        versions = url_of_versions(source.record_type, source.record_id) if source and source.version else ""
        yield ModelInputRow(
            stood,
            _place_label(stood),
            record_label(source) if source else stood.name,
            url,
            versions,
            split_by_overlap(found.reply, stood.overlap.in_reply),
            split_by_overlap(stood.text, stood.overlap.in_source),
            at < OPEN_AT_FIRST,
        )


def record_label(source: TextProvenance) -> str:
    """A record and its field as people call them."""
    return row_label(source.record_type, source.record_id) + (f", {field_label(source.field)}" if source.field else "")


def row_label(record_type: str, record_id: int) -> str:
    """A record by its noun and number."""
    return f"{str(apps.get_model(record_type)._meta.verbose_name).capitalize()} {record_id}"


def _place_label(stood: ReplySource) -> str:
    if stood.place is not SourcePlace.PROMPT or stood.slot is None:
        return PLACE_LABELS[stood.place]
    slot = Slot(stood.slot)
    return f"Slot {stood.slot}: {SLOT_TITLES.get(slot, slot.name.capitalize())}"


def _shown_call(step: Any) -> ShownToolCall:
    return shown_tool_call(step.name, step.arguments, step.result, is_error=step.is_error)
