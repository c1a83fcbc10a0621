"""What people change in drafts again and again: edits by sentence and word, grouped by what went and what came.

"In 14 drafts a person added: Your order number is [number]." A group that is known keeps its key while it grows; what is like it
joins it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final

from apps.text_analysis.word_stems import keys, plain

EDITS_READ: Final = 1_000
TEXT_CHARACTERS: Final = 4_000
TEXT_SENTENCES: Final = 60
SENTENCE_WORDS: Final = 80
SUPPORT: Final = 3
CLUSTERS: Final = 20
SHOWN_CHARACTERS: Final = 160
# Two sentences of which so much is the same are one that was changed.
CHANGED: Final = 0.6
# Two changes whose words agree so far are one, and a change is compared with so many that share a word.
ALIKE: Final = 0.6
COMPARED: Final = 50
# An edit of so many words or fewer is compared as it stands, since there is nothing to leave out.
FEW_WORDS: Final = 2


@dataclass(frozen=True, slots=True)
class Edit:
    """A draft and what was sent in its place; what identifies somebody is masked."""

    edit_id: int
    draft: str
    sent: str


class Change(StrEnum):
    """What a person did to a draft."""

    ADDED = "added"
    REMOVED = "removed"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One repeated change: a key that stays the same, the edits that show it, and a line for people."""

    key: str
    change: Change
    removed: str
    added: str
    edit_ids: tuple[int, ...]

    @property
    def support(self) -> int:
        return len(self.edit_ids)

    @property
    def description(self) -> str:
        said = {
            Change.ADDED: f"added: {self.added}",
            Change.REMOVED: f"removed: {self.removed}",
            Change.REPLACED: f"wrote “{self.added}” instead of “{self.removed}”",
        }
        return f"In {self.support} drafts a person {said[self.change]}"


@dataclass(frozen=True, slots=True)
class _Piece:
    change: Change
    removed: str
    added: str


_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD: Final = re.compile(r"\[[a-z -]{1,30}\]|[^\W_]+(?:['\u2019-][^\W_]+){0,3}|[^\w\s]")
_MASK: Final = re.compile(r"\[[a-z -]{1,30}\]")
_DIGITS: Final = re.compile(r"\d(?:[.,:/-]?\d){0,40}")


def clusters(edits: Iterable[Edit], *, known: Sequence[str] = (), support: int = SUPPORT) -> tuple[Cluster, ...]:
    """The changes that `support` edits or more show, the most frequent first; one edit counts once for a change.

    Of many edits the latest are read. `known` are the keys of earlier groups: what is like one of them joins it, however few.
    """
    latest = sorted(edits, key=lambda each: each.edit_id)[-EDITS_READ:]
    forms: dict[_Form, list[tuple[int, _Piece]]] = defaultdict(list)
    for edit in latest:
        for form, piece in {_form(piece): piece for piece in _pieces(edit)}.items():
            forms[form].append((edit.edit_id, piece))
    groups = _grouped(forms, [_Group(_form_of(key), [], is_known=True) for key in known])
    again = [_cluster(each) for each in groups if each.is_known and each.cases]
    found = [_cluster(each) for each in groups if not each.is_known]
    new = sorted((each for each in found if each.support >= support), key=_frequent)[:CLUSTERS]
    return tuple(sorted([*again, *new], key=_frequent))


def _frequent(cluster: Cluster) -> tuple[int, str]:
    return -cluster.support, cluster.key


@dataclass(frozen=True, slots=True)
class _Form:
    """A change by its words, whatever their order and endings."""

    change: Change
    removed: frozenset[str]
    added: frozenset[str]

    @property
    def key(self) -> str:
        return "|".join([self.change, " ".join(sorted(self.removed)), " ".join(sorted(self.added))])


def _form_of(key: str) -> _Form:
    change, _, words = key.partition("|")
    removed, _, added = words.partition("|")
    return _Form(Change(change), frozenset(removed.split()), frozenset(added.split()))


@dataclass(slots=True)
class _Group:
    """Forms that are alike, led by the most frequent one, or by the one that led when it was first found."""

    form: _Form
    cases: list[tuple[int, _Piece]]
    is_known: bool = False


def _grouped(forms: Mapping[_Form, list[tuple[int, _Piece]]], known: Sequence[_Group]) -> list[_Group]:
    """Each form joins the group it leads or is like, known ones first; it is compared with so many that share a word with it."""
    groups: list[_Group] = []
    by_word: dict[str, list[_Group]] = defaultdict(list)

    def add(group: _Group) -> None:
        groups.append(group)
        for word in group.form.removed | group.form.added:
            by_word[word].append(group)

    for group in known:
        add(group)
    for form, cases in sorted(forms.items(), key=lambda each: (-len(each[1]), each[0].key)):
        near = [group for word in sorted(form.removed | form.added) for group in by_word[word][:COMPARED]]
        alike = [group for group in near if _is_like(group, form)]
        if alike:
            min(alike, key=lambda group: (group.form != form, not group.is_known)).cases.extend(cases)
        else:
            add(_Group(form, list(cases)))
    return groups


def _is_like(group: _Group, form: _Form) -> bool:
    mine = group.form
    return mine.change is form.change and _share(mine.removed, form.removed) >= ALIKE <= _share(mine.added, form.added)


def _share(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / len(one | two) if one or two else 1.0


def _cluster(group: _Group) -> Cluster:
    """The wording that is most frequent and then shortest stands for all of them."""
    shown = [piece for _, piece in group.cases if _form(piece) == group.form] or [piece for _, piece in group.cases]
    piece = min(shown, key=lambda each: (len(each.added + each.removed), each.added, each.removed))
    ids = tuple(sorted({edit_id for edit_id, _ in group.cases}))
    return Cluster(group.form.key, piece.change, piece.removed[:SHOWN_CHARACTERS], piece.added[:SHOWN_CHARACTERS], ids)


def _pieces(edit: Edit) -> Iterator[_Piece]:
    """The changes of one edit, sentence by sentence; sentences that are alike are told apart by their words."""
    before, after = (_sentences(text[:TEXT_CHARACTERS]) for text in (edit.draft, edit.sent))
    plain_before, plain_after = ([" ".join(_words(each)) for each in side] for side in (before, after))
    matcher = SequenceMatcher(None, plain_before, plain_after, autojunk=False)
    for tag, start, end, from_, to in matcher.get_opcodes():
        if tag != "equal":
            yield from _changes(before[start:end], after[from_:to])


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[_Piece]:
    left = [(each, frozenset(_words(each))) for each in after]
    for sentence in before:
        words = frozenset(_words(sentence))
        alike = max(left, key=lambda each: (_likeness(words, each[1]), each[0]), default=("", frozenset[str]()))
        if _likeness(words, alike[1]) >= CHANGED:
            left.remove(alike)
            yield from _by_words(sentence, alike[0])
        else:
            yield _Piece(Change.REMOVED, sentence, "")
    yield from (_Piece(Change.ADDED, "", sentence) for sentence, _ in left)


def _by_words(sentence: str, other: str) -> Iterator[_Piece]:
    one, two = _WORD.findall(sentence)[:SENTENCE_WORDS], _WORD.findall(other)[:SENTENCE_WORDS]
    matcher = SequenceMatcher(None, [plain(each) for each in one], [plain(each) for each in two], autojunk=False)
    for tag, start, end, from_, to in matcher.get_opcodes():
        removed, added = " ".join(one[start:end]), " ".join(two[from_:to])
        if tag != "equal" and (_says(removed) or _says(added)):
            yield _Piece(_change(removed, added), removed, added)


def _change(removed: str, added: str) -> Change:
    if removed and added:
        return Change.REPLACED
    return Change.ADDED if added else Change.REMOVED


def _says(words: str) -> bool:
    """Whether anything but punctuation was changed."""
    return any(each.isalnum() for each in words)


def _likeness(one: frozenset[str], two: frozenset[str]) -> float:
    return 2 * len(one & two) / max(len(one) + len(two), 1)


def _sentences(text: str) -> list[str]:
    """Numbers that no mask took out are put alike, since they differ from customer to customer."""
    alike = _DIGITS.sub("[number]", text)
    return [each.strip() for each in _SENTENCE.split(alike) if each.strip()][:TEXT_SENTENCES]


def _words(sentence: str) -> list[str]:
    return [plain(each) for each in _WORD.findall(sentence)[:SENTENCE_WORDS] if _says(each)]


def _form(piece: _Piece) -> _Form:
    return _Form(piece.change, _meaning(piece.removed), _meaning(piece.added))


def _meaning(words: str) -> frozenset[str]:
    masks = [each.replace(" ", "-") for each in _MASK.findall(words)]
    told = keys(_MASK.sub(" ", words))
    return frozenset([*told, *masks] if len(told) + len(masks) >= FEW_WORDS else _words(words))
