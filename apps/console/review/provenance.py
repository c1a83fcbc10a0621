"""Source panels for reviewers: a sentence per taint, lines that repeat a customer or a tool, and the origin of imported skills.

For a skill that came as a file, the panel shows what the import left out and what the file's front matter says.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apps.console.framework.row_urls import url_of_subject
from apps.conversations.models import Conversation, Message
from apps.governance.actors import Actor
from apps.governance.models import ChangeRecord, Governed, Taint
from apps.prompt.builtin_tools import BUILTIN_TOOL_NAMES
from apps.prompt.memory_lines.line_diff import split_lines
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import ReceivedTexts, RepeatedSource, find_derived_lines
from apps.tenants.models import TenantSettings

CONVERSATIONS_COMPARED: Final = 10
MESSAGES_COMPARED: Final = 200

SOURCE_SENTENCES: Final = {
    Taint.OPERATOR: "A person wrote or approved these very words.",
    Taint.AGENT: "The agent's words, as far as anybody can tell. A paraphrase of a customer is not seen.",
    Taint.TOOL: "Some of these words were given back by a tool.",
    Taint.CUSTOMER: "Some of these words a customer wrote. Do not take them for the agent's judgement.",
    Taint.IMPORT: "Brought in from elsewhere: made from transcripts, guidelines or skills that came as files.",
}


@dataclass(frozen=True, slots=True)
class RepeatedLine:
    """A line that repeats another text, cut where the repeated part begins and ends."""

    before: str
    repeated: str
    after: str
    whose: RepeatedSource


def provenance_panel(
    row: Any, texts: Iterable[str], actor: Actor, conversation_ids: Iterable[int] = ()
) -> dict[str, Any]:
    """Return the source of a row's words, its lines that repeat somebody, and the conversations it names."""
    ids = sorted({*conversation_ids, *_evidence_conversation_ids(row)})[-CONVERSATIONS_COMPARED:]
    known = list(Conversation.objects.visible_to(actor).filter(pk__in=ids).order_by("-id"))
    lines = [line for text in texts for line in split_lines(text)]
    return {
        "taint_sentence": SOURCE_SENTENCES[Taint(row.taint)],
        "marked": repeated_lines(lines, known),
        "come_from": [(each, url_of_subject(each._meta.label_lower, each.pk)) for each in known],
    }


def repeated_lines(lines: list[str], conversations: Iterable[Conversation]) -> list[RepeatedLine]:
    """Return the lines that repeat texts of these conversations."""
    found = find_derived_lines(lines, _received_texts(conversations))
    return [
        RepeatedLine(
            lines[each.number][: each.start],
            lines[each.number][each.start : each.end],
            lines[each.number][each.end :],
            each.whose,
        )
        for each in found
    ]


def current_memory_review(actor: Actor) -> MemoryReview:
    """Return the tenant's setting for reviews of memory."""
    return MemoryReview(TenantSettings.objects.visible_to(actor).get().memory_review)


def _evidence_conversation_ids(row: Governed) -> set[int]:
    records = ChangeRecord.objects.filter(subject_type=row._meta.label_lower, subject_id=row.pk)
    evidence = records.order_by("-id").values_list("evidence", flat=True)[:MESSAGES_COMPARED]
    return {pk for each in evidence for pk in (each.get("conversation_id"), *each.get("conversation_ids", ())) if pk}


def _received_texts(conversations: Iterable[Conversation]) -> ReceivedTexts:
    messages = Message.objects.filter(conversation__in=list(conversations)).order_by("-id")
    received_messages = messages.filter(sender__in=(Message.Sender.CUSTOMER, Message.Sender.PEER))
    customers = received_messages.values_list("text", flat=True)[:MESSAGES_COMPARED]
    calls = messages.exclude(tool_calls=[]).values_list("tool_calls", flat=True)[:MESSAGES_COMPARED]
    results = [str(call["result"]) for made in calls for call in made if call["name"] not in BUILTIN_TOOL_NAMES]
    return ReceivedTexts(tuple(customers), tuple(results))


@dataclass(frozen=True, slots=True)
class ImportOrigin:
    """The source of an import, the parts that were left out, and the entries of its front matter that were kept."""

    source: str
    left_out: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]


def import_origin(evidence: Mapping[str, Any]) -> ImportOrigin | None:
    """Return the origin that an import recorded with its draft; None for drafts that were written here."""
    source = evidence.get("imported_from")
    if not isinstance(source, str):
        return None
    return ImportOrigin(
        source, tuple(evidence.get("left_out", ())), tuple(_front_matter_lines(evidence.get("front_matter", {})))
    )


def _front_matter_lines(front_matter: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in front_matter.items():
        if isinstance(value, Mapping):
            yield from ((str(key), str(text)) for key, text in value.items())
        else:
            yield name, ", ".join(value) if isinstance(value, list) else str(value)
