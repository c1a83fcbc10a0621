"""What identifies somebody, taken out of a text before anything is learned from it or leaves the house."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, takewhile
from typing import Final, Self, TypeAlias

from apps.text_analysis.pii.folding import BARRIER, TAKEN, fold
from apps.text_analysis.pii.identity_numbers import PHONE, Found, accounts_in, cards_in, identities_in, telephones_in
from apps.text_analysis.pii.impersonal_numbers import stays
from apps.text_analysis.pii.known_values import Known, Phrases, known_in, phrases
from apps.text_analysis.pii.postal_addresses import addresses_in
from apps.text_analysis.pii.tenant_patterns import Template

EMAIL: Final = "e-mail"
ROUNDS: Final = 8
KINDS: Final = (EMAIL, "phone", "card", "iban", "id-number", "number", "address", "name", "id")

_EMAIL: Final = re.compile(
    r"(?<![\w\x00.%+-])[\w.%+-][\w.%+'-]{0,63}(?:@| ?[(\[]at[)\]] ?)(?:[\w-]{1,63}(?:\.| ?[(\[]dot[)\]] ?)){1,8}[^\W\d_]{2,24}",
    re.IGNORECASE,
)
_Finder: TypeAlias = "Callable[[str], Iterable[Found]]"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something private: where it stands in the text as it was, and what stands there now."""

    kind: str
    start: int
    end: int

    @property
    def token(self) -> str:
        return f"[{self.kind}]"


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without what identifies somebody, and what that was, in the order of the text."""

    text: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Firewall:
    """What is looked for besides what anybody's text may hold: known values, and a tenant's templates."""

    known: Phrases
    templates: tuple[Template, ...] = ()

    @classmethod
    def against(cls, known: Known, *, templates: Iterable[Template] = ()) -> Self:
        """Reads the known values once, for many texts."""
        return cls(phrases(known), tuple(templates))

    def mask(self, text: str) -> Masked:
        """Put a word such as [e-mail] for each private thing; masking the outcome again changes nothing."""
        folded = fold(text)
        rounds = islice(self._rounds(_without_tokens(folded.text, self.templates)), ROUNDS)
        taken = sorted(chain.from_iterable(takewhile(bool, rounds)))
        findings = tuple(Finding(kind, *folded.span(start, end)) for start, end, kind in taken)
        return Masked(_written(text, findings), findings)

    def _rounds(self, text: str) -> Iterator[list[Found]]:
        """What one find covers may end the stretch in which another was too long to be one: look until there is nothing."""
        while True:
            text, found = self._searched(text)
            yield found

    def _searched(self, text: str) -> tuple[str, list[Found]]:
        """What is found when all have looked once, each at what the ones before it left."""
        taken = []
        for find in self._finders(text):
            characters = list(text)
            for start, end, kind in find(text):
                if TAKEN.isdisjoint(characters[start:end]):
                    characters[start:end] = BARRIER * (end - start)
                    taken.append((start, end, kind))
            text = "".join(characters)
        return text, taken

    def _finders(self, text: str) -> Iterator[_Finder]:
        """The surest first; numbers last, once prices and dates are out of the way.

        What a form tells goes before what was said: the digits at the end of a telephone number, or the postcode of an address, may
        be known as a code, and one thing is masked once. A find that is only a part of a known value leaves it whole.
        """
        yield lambda text: _templated(text, self.templates)
        yield _emails_in
        values = _Covered.by(known_in(text, self.known), len(text))
        for find in (identities_in, accounts_in, cards_in, addresses_in, _telephones_in):
            yield partial(values.beside, find)
        yield lambda text: known_in(text, self.known)
        yield lambda text: telephones_in(stays(text))


@dataclass(frozen=True, slots=True)
class _Covered:
    """For each place of a text, the known value that stands over it."""

    spans: Sequence[tuple[int, int]]

    @classmethod
    def by(cls, values: Iterable[Found], characters: int) -> Self:
        spans = [(0, 0)] * characters
        for start, end, _ in values:
            spans[start:end] = [(start, end)] * (end - start)
        return cls(spans)

    def beside(self, find: _Finder, text: str) -> Iterator[Found]:
        """What is found, but for parts of longer known values."""
        return (found for found in find(text) if not self._is_part(*found[:2]))

    def _is_part(self, start: int, end: int) -> bool:
        value_start, value_end = self.spans[start]
        return value_end >= end and value_end - value_start > end - start


def _written(text: str, findings: Iterable[Finding]) -> str:
    parts: list[str] = []
    place = 0
    for finding in findings:
        parts += (text[place : finding.start], finding.token)
        place = finding.end
    return "".join((*parts, text[place:]))


def _without_tokens(text: str, templates: Iterable[Template]) -> str:
    labels = {*KINDS, *(template.label for template in templates)}
    return re.sub(rf"\[(?:{'|'.join(sorted(labels))})\]", lambda found: BARRIER * len(found[0]), text)


def _templated(text: str, templates: Iterable[Template]) -> Iterator[Found]:
    for template in templates:
        for found in template.pattern.finditer(text):
            yield *found.span(), template.label


def _telephones_in(text: str) -> Iterator[Found]:
    return (found for found in telephones_in(stays(text)) if found[2] == PHONE)


def _emails_in(text: str) -> Iterator[Found]:
    for found in _EMAIL.finditer(text):
        yield *found.span(), EMAIL
