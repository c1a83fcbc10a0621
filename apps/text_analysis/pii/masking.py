"""Masks personal data in a text before anything is learned from the text or it leaves the installation."""

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
    """One masked item: its position in the original text, and the token that replaces it."""

    kind: str
    start: int
    end: int

    @property
    def token(self) -> str:
        return f"[{self.kind}]"


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text with personal data masked, and the masked items in order."""

    text: str
    findings: tuple[PiiFinding, ...]


@dataclass(frozen=True, slots=True)
class PiiMasker:
    """Masks general patterns, known values, and a tenant's templates."""

    known: KnownPhrases
    templates: tuple[PiiTemplate, ...] = ()

    @classmethod
    def against(cls, known: KnownValues, *, templates: Iterable[PiiTemplate] = ()) -> Self:
        """Return a masker that indexes the known values once, for many texts."""
        return cls(build_phrases(known), tuple(templates))

    def mask(self, text: str) -> MaskedText:
        """Replace each item of personal data with a token such as [e-mail]. Masking the result again changes nothing."""
        folded = fold(text)
        rounds = islice(self._search_rounds(_blank_tokens(folded.text, self.templates)), MAX_ROUNDS)
        taken = sorted(chain.from_iterable(takewhile(bool, rounds)))
        findings = tuple(PiiFinding(kind, *folded.span(start, end)) for start, end, kind in taken)
        return MaskedText(_replace_findings(text, findings), findings)

    def _search_rounds(self, text: str) -> Iterator[list[FoundSpan]]:
        """Search until nothing is found, because masking one item may shorten a run that was too long to match."""
        while True:
            text, found = self._search_once(text)
            yield found

    def _search_once(self, text: str) -> tuple[str, list[FoundSpan]]:
        """Run all finders once, each on the text left by the previous ones."""
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
        """Yield the finders, most reliable first; numbers come last, when prices and dates are hidden.

        Patterns come before known values, because the last digits of a telephone number or the postcode of an address may also
        be a known code, and each item is masked once. A match that is only a part of a known value is dropped.
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
    """For each position of a text, the known value that covers it."""

    spans: Sequence[tuple[int, int]]

    @classmethod
    def by(cls, values: Iterable[FoundSpan], characters: int) -> Self:
        spans = [(0, 0)] * characters
        for start, end, _ in values:
            spans[start:end] = [(start, end)] * (end - start)
        return cls(spans)

    def beside(self, find: _Finder, text: str) -> Iterator[FoundSpan]:
        """Yield the matches of a finder, except parts of longer known values."""
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
