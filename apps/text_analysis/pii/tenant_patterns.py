"""A tenant's own numbers, written as a template: `POL-######` matches POL-482113."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from apps.text_analysis.pii.text_folding import WORD_END, WORD_START, fold

LABEL_PATTERN: Final = re.compile(r"[a-z](?:[a-z]|-(?=[a-z])){1,23}")
TEMPLATE_CHARACTERS: Final = 80
TEMPLATE_WIDTH: Final = 64
MIN_FIXED_CHARACTERS: Final = 3
MAX_TEMPLATES: Final = 20
TEMPLATES_CHARACTERS: Final = 2_400

_PLACEHOLDERS: Final = {"#": "[0-9]", "@": r"[^\W\d_]", "*": r"[^\W_]"}
_TEMPLATE_PART: Final = re.compile(
    r"(?P<place>[#@*])(?:\{(?P<least>[0-9]{1,2})(?:,(?P<most>[0-9]{1,2}))?\})?|(?P<literal>.)"
)


@dataclass(frozen=True, slots=True)
class PiiTemplate:
    """A template: `#` is a digit, `@` a letter, `*` either; `{2,8}` repeats the placeholder before it.

    Every other character matches itself, in upper or lower case.
    """

    label: str
    pattern: "re.Pattern[str]"

    @property
    def token(self) -> str:
        return f"[{self.label}]"


@dataclass(frozen=True, slots=True)
class UnusableTemplate:
    """A refused template, and the reason for the operator who wrote it."""

    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _TemplatePart:
    written: str
    least: int
    most: int
    is_place: bool

    @property
    def pattern(self) -> str:
        if not self.is_place:
            return re.escape(self.written)
        # Possessive: a part never gives back what it has matched, so a text can be matched in only one way.
        return f"{_PLACEHOLDERS[self.written]}{{{self.least},{self.most}}}+"

    def may_begin(self, before: "_TemplatePart") -> bool:
        """Return whether the previous part could have matched a character with which this part begins."""
        if not before.is_place or before.least == before.most:
            return False
        taken = _PLACEHOLDERS[before.written]
        return any(re.fullmatch(taken, sample) for sample in (("7", "x") if self.is_place else self.written)) and (
            not self.is_place or self.written == "*" or before.written in ("*", self.written)
        )


def read_template(label: str, written: str) -> PiiTemplate | UnusableTemplate:
    """Parse a template. A template is refused if a match at some position of a text could take more than WIDTH steps."""
    plain = fold(written).text
    pieces = list(_parse_parts(plain))
    reasons = tuple(_flaws(label, written, plain, pieces))
    if reasons:
        return UnusableTemplate(reasons)
    body = "".join(piece.pattern for piece in pieces)
    return PiiTemplate(label, re.compile(f"{WORD_START}{body}{WORD_END}", re.IGNORECASE))


def read_templates(written: str) -> tuple[PiiTemplate, ...] | UnusableTemplate:
    """Parse a tenant's templates from its settings, one per line: `policy-number: POL-######`."""
    lines = [line for line in written.splitlines() if line.strip()]
    read = [read_template(label.strip(), rest.strip()) for label, _, rest in (line.partition(":") for line in lines)]
    reasons = [
        f"{line.strip()[:TEMPLATE_CHARACTERS]}: {reason}"
        for line, found in zip(lines, read, strict=True)
        if isinstance(found, UnusableTemplate)
        for reason in found.reasons
    ]
    if len(lines) > MAX_TEMPLATES:
        reasons.append(f"There are {len(lines)} templates; {MAX_TEMPLATES} are allowed.")
    return (
        UnusableTemplate(tuple(reasons))
        if reasons
        else tuple(found for found in read if isinstance(found, PiiTemplate))
    )


def _parse_parts(written: str) -> Iterator[_TemplatePart]:
    for found in _TEMPLATE_PART.finditer(written):
        if place := found["place"]:
            least = int(found["least"] or 1)
            yield _TemplatePart(place, least, int(found["most"] or least), is_place=True)
        else:
            yield _TemplatePart(found["literal"], 1, 1, is_place=False)


def _flaws(label: str, written: str, plain: str, pieces: list[_TemplatePart]) -> Iterator[str]:
    if not LABEL_PATTERN.fullmatch(label):
        yield "A label has 2 to 24 lower-case letters, with single hyphens between them, such as policy-number."
    if len(written) > TEMPLATE_CHARACTERS or "\n" in plain or plain != plain.strip():
        yield f"A template is a single line of at most {TEMPLATE_CHARACTERS} characters, without spaces at its ends."
    if any(piece.least > piece.most or piece.most == 0 for piece in pieces):
        yield "In {2,8} the first number is at most the second, and the second is not 0."
    if sum(piece.most for piece in pieces) > TEMPLATE_WIDTH:
        yield f"A template finds at most {TEMPLATE_WIDTH} characters."
    if sum(piece.least for piece in pieces if not piece.is_place or piece.written == "#") < MIN_FIXED_CHARACTERS:
        yield f"A template needs at least {MIN_FIXED_CHARACTERS} digits or fixed characters, or it would find ordinary words."
    if any(after.may_begin(before) for before, after in pairwise(pieces)):
        yield "The character after a {2,8} must differ from the one that it repeats; write #{3,9} for #{2,8}#."
