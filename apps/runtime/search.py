"""The kinds of rows that full-text search covers, and the found rows that an actor may read.

The search index returns ids only. Rows are read under the usual rules, so a search shows nothing that browsing would not.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet

from apps.conversations.models import Conversation, Message
from apps.governance.actors import Actor
from apps.governance.models import ChangeRecord, ChangeText, Proposal
from apps.memory.models import CustomerProfile, MemoryBlock, MemoryLine, ProfileLine
from apps.skills.models import Skill

MIN_CHARACTERS: Final = 2
MAX_CHARACTERS: Final = 200
# The most results shown, all kinds together.
MAX_RESULTS: Final = 500

# Fields that identify a row. The index adds their text to each change of the row.
NAME_FIELDS: Final = frozenset({"name", "title", "label", "key", "line_key"})

RowRef = tuple[str, int]


@dataclass(frozen=True, slots=True)
class SearchedKind:
    """A kind of row that can be searched: the rows that an actor may read, and how a row is shown."""

    label: str
    rows: Callable[[Actor], QuerySet[Any]]
    at: str
    text: Callable[[Any], str]
    related: tuple[str, ...] = ("agent",)


def _messages(actor: Actor) -> QuerySet[Message]:
    threads = Conversation.objects.visible_to(actor).of_customers().filter(off_the_record=False)
    return Message.objects.filter(tenant_id=actor.tenant_id, conversation__in=threads)


def _memory_lines(actor: Actor) -> QuerySet[MemoryLine]:
    return MemoryLine.objects.filter(tenant_id=actor.tenant_id)


def _profile_lines(actor: Actor) -> QuerySet[ProfileLine]:
    profiles = CustomerProfile.objects.visible_to(actor)
    stands = ProfileLine.objects.filter(tenant_id=actor.tenant_id, status=ProfileLine.Status.ACTIVE)
    return stands.filter(profile__in=profiles)


def _strings(value: Any) -> Iterator[str]:  # Any: what the kind of proposal holds
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _strings(each)


def _proposal_text(proposal: Proposal) -> str:
    return "\n".join((proposal.target_label, proposal.rationale, *_strings(proposal.words)))


def _skill_text(skill: Skill) -> str:
    return "\n".join((skill.name, skill.title, skill.description, skill.body))


def _changes(actor: Actor) -> QuerySet[ChangeRecord]:
    return ChangeRecord.objects.filter(tenant_id=actor.tenant_id)


def _change_text(record: ChangeRecord) -> str:
    """The text of a change as indexed: its reason, the new values and the old values."""
    text: ChangeText | None = getattr(record, "text", None)
    if text is None:
        return ""
    touched = {name for name in {*text.before, *text.after} if text.before.get(name) != text.after.get(name)}
    now = {name: value for name, value in text.after.items() if name in touched or name in NAME_FIELDS}
    was = {name: value for name, value in text.before.items() if name in touched}
    return "\n".join(filter(None, (text.reason, *_strings(now), *_strings(was))))


KINDS: Final[Mapping[str, SearchedKind]] = {
    "message": SearchedKind(
        "Message", _messages, "created_at", lambda row: str(row.text), ("conversation", "conversation__agent")
    ),
    "skill": SearchedKind("Skill", Skill.objects.visible_to, "updated_at", _skill_text),
    "memory_line": SearchedKind(
        "Line of memory", _memory_lines, "created_at", lambda row: str(row.text), ("agent", "block")
    ),
    "memory_block": SearchedKind(
        "Memory block", MemoryBlock.objects.visible_to, "updated_at", lambda row: str(row.label)
    ),
    "proposal": SearchedKind("Proposal", Proposal.objects.visible_to, "created_at", _proposal_text),
    "profile_line": SearchedKind(
        "Noted of a customer", _profile_lines, "created_at", lambda row: str(row.text), ("profile",)
    ),
    "change": SearchedKind("Change", _changes, "created_at", _change_text, ("text",)),
}


def readable_rows(actor: Actor, places: Sequence[RowRef]) -> Iterable[tuple[str, Any]]:
    """The found rows that the actor may read, in the given order. Each kind takes one query."""
    read: dict[RowRef, Any] = {}
    for kind in dict.fromkeys(kind for kind, _ in places):
        searched, ids = KINDS[kind], [row_id for each, row_id in places if each == kind]
        rows = searched.rows(actor).filter(pk__in=ids).select_related(*searched.related)
        read |= {(kind, row.pk): row for row in rows}
    return ((place[0], read[place]) for place in places if place in read)
