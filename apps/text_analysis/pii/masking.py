"""What identifies somebody, taken out of a text before anything is learned from it or leaves the house."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, takewhile
from typing import Final, Self, TypeAlias

from apps.text_analysis.pii.identity_numbers import (
    PHONE,
    FoundSpan,
    accounts_in,
    cards_in,
    identities_in,
    telephones_in,
)
from apps.text_analysis.pii.impersonal_numbers import hide_impersonal_numbers
from apps.text_analysis.pii.known_values import KnownPhrases, KnownValues, build_phrases, find_known_values
from apps.text_analysis.pii.postal_addresses import addresses_in
from apps.text_analysis.pii.tenant_patterns import PiiTemplate
from apps.text_analysis.pii.text_folding import BARRIER, RESERVED_CHARACTERS, fold

EMAIL: Final = "e-mail"
MAX_ROUNDS: Final = 8
MASK_KINDS: Final = (EMAIL, "phone", "card", "iban", "id-number", "number", "address", "name", "id")

_EMAIL: Final = re.compile(
    r"(?<![\w\x00.%+-])[\w.%+-][\w.%+'-]{0,63}(?:@| ?[(\[]at[)\]] ?)(?:[\w-]{1,63}(?:\.| ?[(\[]dot[)\]] ?)){1,8}[^\W\d_]{2,24}",
    re.IGNORECASE,
)
_Finder: TypeAlias = "Callable[[str], Iterable[FoundSpan]]"


@dataclass(frozen=True, slots=True)
class PiiFinding:
    """Something private: where it stands in the text as it was, and what stands there now."""

    kind: str
    start: int
    end: int

    @property
    def token(self) -> str:
        return f"[{self.kind}]"


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text without what identifies somebody, and what that was, in the order of the text."""

    text: str
    findings: tuple[PiiFinding, ...]


@dataclass(frozen=True, slots=True)
class PiiMasker:
    """What is looked for besides what anybody's text may hold: known values, and a tenant's templates."""

    known: KnownPhrases
    templates: tuple[PiiTemplate, ...] = ()

    @classmethod
    def against(cls, known: KnownValues, *, templates: Iterable[PiiTemplate] = ()) -> Self:
        """Reads the known values once, for many texts."""
        return cls(build_phrases(known), tuple(templates))

    def mask(self, text: str) -> MaskedText:
        """Put a word such as [e-mail] for each private thing; masking the outcome again changes nothing."""
        folded = fold(text)
        rounds = islice(self._search_rounds(_blank_tokens(folded.text, self.templates)), MAX_ROUNDS)
        taken = sorted(chain.from_iterable(takewhile(bool, rounds)))
        findings = tuple(PiiFinding(kind, *folded.span(start, end)) for start, end, kind in taken)
        return MaskedText(_replace_findings(text, findings), findings)

    def _search_rounds(self, text: str) -> Iterator[list[FoundSpan]]:
        """What one find covers may end the stretch in which another was too long to be one: look until there is nothing."""
        while True:
            text, found = self._search_once(text)
            yield found

    def _search_once(self, text: str) -> tuple[str, list[FoundSpan]]:
        """What is found when all have looked once, each at what the ones before it left."""
        taken = []
        for find in self._finders(text):
            characters = list(text)
            for start, end, kind in find(text):
                if RESERVED_CHARACTERS.isdisjoint(characters[start:end]):
                    characters[start:end] = BARRIER * (end - start)
                    taken.append((start, end, kind))
            text = "".join(characters)
        return text, taken

    def _finders(self, text: str) -> Iterator[_Finder]:
        """The surest first; numbers last, once prices and dates are out of the way.

        What a form tells goes before what was said: the digits at the end of a telephone number, or the postcode of an address, may
        be known as a code, and one thing is masked once. A find that is only a part of a known value leaves it whole.
        """
        yield lambda text: _template_matches(text, self.templates)
        yield _emails_in
        values = _KnownSpans.by(find_known_values(text, self.known), len(text))
        for find in (identities_in, accounts_in, cards_in, addresses_in, _telephones_in):
            yield partial(values.beside, find)
        yield lambda text: find_known_values(text, self.known)
        yield lambda text: telephones_in(hide_impersonal_numbers(text))


@dataclass(frozen=True, slots=True)
class _KnownSpans:
    """For each place of a text, the known value that stands over it."""

    spans: Sequence[tuple[int, int]]

    @classmethod
    def by(cls, values: Iterable[FoundSpan], characters: int) -> Self:
        spans = [(0, 0)] * characters
        for start, end, _ in values:
            spans[start:end] = [(start, end)] * (end - start)
        return cls(spans)

    def beside(self, find: _Finder, text: str) -> Iterator[FoundSpan]:
        """What is found, but for parts of longer known values."""
        return (found for found in find(text) if not self._is_part(*found[:2]))

    def _is_part(self, start: int, end: int) -> bool:
        value_start, value_end = self.spans[start]
        return value_end >= end and value_end - value_start > end - start


def _replace_findings(text: str, findings: Iterable[PiiFinding]) -> str:
    parts: list[str] = []
    place = 0
    for finding in findings:
        parts += (text[place : finding.start], finding.token)
        place = finding.end
    return "".join((*parts, text[place:]))


def _blank_tokens(text: str, templates: Iterable[PiiTemplate]) -> str:
    labels = {*MASK_KINDS, *(template.label for template in templates)}
    return re.sub(rf"\[(?:{'|'.join(sorted(labels))})\]", lambda found: BARRIER * len(found[0]), text)


def _template_matches(text: str, templates: Iterable[PiiTemplate]) -> Iterator[FoundSpan]:
    for template in templates:
        for found in template.pattern.finditer(text):
            yield *found.span(), template.label


def _telephones_in(text: str) -> Iterator[FoundSpan]:
    return (found for found in telephones_in(hide_impersonal_numbers(text)) if found[2] == PHONE)


def _emails_in(text: str) -> Iterator[FoundSpan]:
    for found in _EMAIL.finditer(text):
        yield *found.span(), EMAIL
