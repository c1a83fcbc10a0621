"""Groups recurring edits of drafts by the sentences and words that were removed and added.

Example: "In 14 drafts a person added: Your order number is [number]." A known group keeps its key as it grows; similar edits
join it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final

from apps.text_analysis.word_stems import normalize_word, word_keys

EDITS_READ: Final = 1_000
TEXT_CHARACTERS: Final = 4_000
TEXT_SENTENCES: Final = 60
SENTENCE_WORDS: Final = 80
MIN_SUPPORT: Final = 3
MAX_CLUSTERS: Final = 20
SHOWN_CHARACTERS: Final = 160
# Two sentences that share at least this part of their words count as one changed sentence.
CHANGED_SIMILARITY: Final = 0.6
# Two changes that share at least this part of their words count as the same. Each is compared with this many candidates.
CLUSTER_SIMILARITY: Final = 0.6
MAX_COMPARED: Final = 50
# An edit of up to this many words is compared as a whole, since it has no unchanged part to leave out.
FEW_WORDS: Final = 2


@dataclass(frozen=True, slots=True)
class DraftEdit:
    """A draft and the text that was sent instead, with personal data masked."""

    edit_id: int
    draft: str
    sent: str


class EditKind(StrEnum):
    """The kind of change a person made to a draft."""

    ADDED = "added"
    REMOVED = "removed"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One recurring change: a stable key, the edits that contain it, and a line for people."""

    key: str
    change: EditKind
    removed: str
    added: str
    edit_ids: tuple[int, ...]

    @property
    def support(self) -> int:
        return len(self.edit_ids)

    @property
    def description(self) -> str:
        phrases = {
            EditKind.ADDED: f"added: {self.added}",
            EditKind.REMOVED: f"removed: {self.removed}",
            EditKind.REPLACED: f"wrote “{self.added}” instead of “{self.removed}”",
        }
        return f"In {self.support} drafts a person {phrases[self.change]}"


@dataclass(frozen=True, slots=True)
class _EditPiece:
    change: EditKind
    removed: str
    added: str


_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD: Final = re.compile(r"\[[a-z -]{1,30}\]|[^\W_]+(?:['\u2019-][^\W_]+){0,3}|[^\w\s]")
_MASK: Final = re.compile(r"\[[a-z -]{1,30}\]")
_DIGITS: Final = re.compile(r"\d(?:[.,:/-]?\d){0,40}")


def cluster_edits(
    edits: Iterable[DraftEdit], *, known: Sequence[str] = (), support: int = MIN_SUPPORT
) -> tuple[Cluster, ...]:
    """Return the changes found in at least `support` edits, most frequent first; an edit counts once per change.

    If there are too many edits, only the latest are read. `known` holds the keys of earlier groups, which similar edits
    join even if there are fewer than `support`.
    """
    latest = sorted(edits, key=lambda each: each.edit_id)[-EDITS_READ:]
    forms: dict[_NormalizedEdit, list[tuple[int, _EditPiece]]] = defaultdict(list)
    for edit in latest:
        for form, piece in {_normalize_piece(piece): piece for piece in _split_edit(edit)}.items():
            forms[form].append((edit.edit_id, piece))
    groups = _group_edits(forms, [_Group(_parse_key(key), [], is_known=True) for key in known])
    again = [_make_cluster(each) for each in groups if each.is_known and each.cases]
    found = [_make_cluster(each) for each in groups if not each.is_known]
    new = sorted((each for each in found if each.support >= support), key=_by_support)[:MAX_CLUSTERS]
    return tuple(sorted([*again, *new], key=_by_support))


def _by_support(cluster: Cluster) -> tuple[int, str]:
    return -cluster.support, cluster.key


@dataclass(frozen=True, slots=True)
class _NormalizedEdit:
    """A change reduced to its words, without order and endings."""

    change: EditKind
    removed: frozenset[str]
    added: frozenset[str]

    @property
    def key(self) -> str:
        return "|".join([self.change, " ".join(sorted(self.removed)), " ".join(sorted(self.added))])


def _parse_key(key: str) -> _NormalizedEdit:
    change, _, words = key.partition("|")
    removed, _, added = words.partition("|")
    return _NormalizedEdit(EditKind(change), frozenset(removed.split()), frozenset(added.split()))


@dataclass(slots=True)
class _Group:
    """A group of similar changes. The most frequent one leads it, or the one that led it when the group was first found."""

    form: _NormalizedEdit
    cases: list[tuple[int, _EditPiece]]
    is_known: bool = False


def _group_edits(
    forms: Mapping[_NormalizedEdit, list[tuple[int, _EditPiece]]], known: Sequence[_Group]
) -> list[_Group]:
    """Add each change to a group that it leads or resembles, known groups first; the number of comparisons is limited."""
    groups: list[_Group] = []
    by_word: dict[str, list[_Group]] = defaultdict(list)

    def add(group: _Group) -> None:
        groups.append(group)
        for word in group.form.removed | group.form.added:
            by_word[word].append(group)

    for group in known:
        add(group)
    for form, cases in sorted(forms.items(), key=lambda each: (-len(each[1]), each[0].key)):
        near = [group for word in sorted(form.removed | form.added) for group in by_word[word][:MAX_COMPARED]]
        alike = [group for group in near if _is_similar(group, form)]
        if alike:
            min(alike, key=lambda group: (group.form != form, not group.is_known)).cases.extend(cases)
        else:
            add(_Group(form, list(cases)))
    return groups


def _is_similar(group: _Group, form: _NormalizedEdit) -> bool:
    mine = group.form
    return mine.change is form.change and _word_overlap(
        mine.removed, form.removed
    ) >= CLUSTER_SIMILARITY <= _word_overlap(mine.added, form.added)


def _word_overlap(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / len(one | two) if one or two else 1.0


def _make_cluster(group: _Group) -> Cluster:
    """Build the cluster of a group, worded as the most frequent edit, or the shortest of equally frequent ones."""
    shown = [piece for _, piece in group.cases if _normalize_piece(piece) == group.form] or [
        piece for _, piece in group.cases
    ]
    piece = min(shown, key=lambda each: (len(each.added + each.removed), each.added, each.removed))
    ids = tuple(sorted({edit_id for edit_id, _ in group.cases}))
    return Cluster(group.form.key, piece.change, piece.removed[:SHOWN_CHARACTERS], piece.added[:SHOWN_CHARACTERS], ids)


def _split_edit(edit: DraftEdit) -> Iterator[_EditPiece]:
    """Yield the changes of one edit by sentence; similar sentences are compared by word."""
    before, after = (_sentences(text[:TEXT_CHARACTERS]) for text in (edit.draft, edit.sent))
    plain_before, plain_after = ([" ".join(_words(each)) for each in side] for side in (before, after))
    matcher = SequenceMatcher(None, plain_before, plain_after, autojunk=False)
    for tag, start, end, from_, to in matcher.get_opcodes():
        if tag != "equal":
            yield from _compare_sentences(before[start:end], after[from_:to])


def _compare_sentences(before: Sequence[str], after: Sequence[str]) -> Iterator[_EditPiece]:
    left = [(each, frozenset(_words(each))) for each in after]
    for sentence in before:
        words = frozenset(_words(sentence))
        alike = max(left, key=lambda each: (_similarity(words, each[1]), each[0]), default=("", frozenset[str]()))
        if _similarity(words, alike[1]) >= CHANGED_SIMILARITY:
            left.remove(alike)
            yield from _compare_words(sentence, alike[0])
        else:
            yield _EditPiece(EditKind.REMOVED, sentence, "")
    yield from (_EditPiece(EditKind.ADDED, "", sentence) for sentence, _ in left)


def _compare_words(sentence: str, other: str) -> Iterator[_EditPiece]:
    one, two = _WORD.findall(sentence)[:SENTENCE_WORDS], _WORD.findall(other)[:SENTENCE_WORDS]
    matcher = SequenceMatcher(
        None, [normalize_word(each) for each in one], [normalize_word(each) for each in two], autojunk=False
    )
    for tag, start, end, from_, to in matcher.get_opcodes():
        removed, added = " ".join(one[start:end]), " ".join(two[from_:to])
        if tag != "equal" and (_has_letters(removed) or _has_letters(added)):
            yield _EditPiece(_edit_kind(removed, added), removed, added)


def _edit_kind(removed: str, added: str) -> EditKind:
    if removed and added:
        return EditKind.REPLACED
    return EditKind.ADDED if added else EditKind.REMOVED


def _has_letters(words: str) -> bool:
    """Return whether the change contains letters, not only punctuation."""
    return any(each.isalnum() for each in words)


def _similarity(one: frozenset[str], two: frozenset[str]) -> float:
    return 2 * len(one & two) / max(len(one) + len(two), 1)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text. Unmasked numbers become one token, since they differ between customers."""
    alike = _DIGITS.sub("[number]", text)
    return [each.strip() for each in _SENTENCE.split(alike) if each.strip()][:TEXT_SENTENCES]


def _words(sentence: str) -> list[str]:
    return [normalize_word(each) for each in _WORD.findall(sentence)[:SENTENCE_WORDS] if _has_letters(each)]


def _normalize_piece(piece: _EditPiece) -> _NormalizedEdit:
    return _NormalizedEdit(piece.change, _meaning_keys(piece.removed), _meaning_keys(piece.added))


def _meaning_keys(words: str) -> frozenset[str]:
    masks = [each.replace(" ", "-") for each in _MASK.findall(words)]
    keys = word_keys(_MASK.sub(" ", words))
    return frozenset([*keys, *masks] if len(keys) + len(masks) >= FEW_WORDS else _words(words))
