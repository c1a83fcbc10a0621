"""The model's answer to a digest: its schema, its parsing, and the checks before a version is stored."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from apps.learning.guardrails.conflicts_with_guardrails import Guardrails, GuardrailWeakening, find_weakenings
from apps.learning.lessons.rules import parse_bullets
from apps.prompt.learning_prompts.extraction import json_objects_in
from apps.prompt.rendering.data_fences import Json
from apps.prompt.sanitizer.invisible_characters import UNSTORABLE_CHARACTERS
from apps.prompt.text_limits import LEARNING_BULLET_CHARACTERS

BODY_CHARACTERS: Final = 8_000
BODY_BULLETS: Final = 40
SUMMARY_CHARACTERS: Final = 500
REPLY_CHARACTERS: Final = 40_000
MAX_LESSON_IDS: Final = 500

digest_schema: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "body": {"type": "string"},
        "change_summary": {"type": "string"},
        "folded_lesson_ids": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["body", "change_summary", "folded_lesson_ids"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Digest:
    """The model's answer before the checks (R156)."""

    body: str
    change_summary: str
    folded_lesson_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MalformedDigest:
    """The answer does not match the schema, so the digest learns nothing from it."""

    reason: str


@dataclass(frozen=True, slots=True)
class AcceptedDigest:
    """An accepted digest: the body to store, the lessons that support it, and the lesson ids that the model made up."""

    body: str
    change_summary: str
    lesson_ids: tuple[int, ...]
    unknown_lesson_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RefusedDigest:
    """A refused digest and the reason; `weakenings` names the bullets that would weaken a guardrail."""

    reasons: tuple[str, ...]
    weakenings: tuple[GuardrailWeakening, ...] = ()


ParsedDigest: TypeAlias = Digest | MalformedDigest


def parse_digest(text: str) -> ParsedDigest:
    """Parse the answer, skipping code fences and prose around the JSON object. Never raises."""
    if len(text) > REPLY_CHARACTERS:
        return MalformedDigest("The answer is longer than a digest can be.")
    for found in json_objects_in(text):
        match found:
            case {"body": str(body), "change_summary": str(summary), "folded_lesson_ids": list(ids)}:
                return _check_digest_fields(body, summary, ids)
    return MalformedDigest("The answer holds no JSON object with a body, a change summary and the ids of lessons.")


def _check_digest_fields(body: str, summary: str, ids: list[object]) -> ParsedDigest:
    if len(ids) > MAX_LESSON_IDS or not all(isinstance(each, int) and not isinstance(each, bool) for each in ids):
        return MalformedDigest(f"The ids of lessons are at most {MAX_LESSON_IDS} whole numbers.")
    if UNSTORABLE_CHARACTERS.search(body + summary):
        return MalformedDigest("The digest holds characters that no database stores.")
    return Digest(body.strip(), summary.strip(), tuple(each for each in ids if isinstance(each, int)))


def vet_digest(
    digest: Digest, *, active_body: str, given_ids: Collection[int], held: Guardrails
) -> AcceptedDigest | RefusedDigest:
    """Drop made-up lesson ids. Refuse a body that is empty, unchanged, too long, or weakens a guardrail (R157)."""
    ids = tuple(dict.fromkeys(digest.folded_lesson_ids))
    real = tuple(each for each in ids if each in given_ids)
    bullets = parse_bullets(digest.body)
    reasons = _flaws(digest, bullets, active_body)
    if ids and not real:
        reasons.append("None of the lessons that it names exists.")
    elif not ids:
        reasons.append("It names no lesson that supports it.")
    # Bullets of the active version were accepted before, so they do not block an edit to other bullets.
    known = set(parse_bullets(active_body))
    weaker = find_weakenings([bullet for bullet in bullets[:BODY_BULLETS] if bullet not in known], held)
    reasons += [f"“{each.bullet}”: {each.reason}" for each in weaker]
    if reasons:
        return RefusedDigest(tuple(reasons), weaker)
    body = "\n".join(f"- {bullet}" for bullet in bullets)
    made_up = tuple(each for each in ids if each not in given_ids)
    return AcceptedDigest(body, digest.change_summary[:SUMMARY_CHARACTERS], real, made_up)


def _flaws(digest: Digest, bullets: tuple[str, ...], active_body: str) -> list[str]:
    flaws = []
    if not bullets:
        return ["The body is empty."]
    if _normalize_bullets(bullets) == _normalize_bullets(parse_bullets(active_body)):
        flaws.append("The body equals that of the active version.")
    if len(digest.body) > BODY_CHARACTERS:
        flaws.append(f"The body has {len(digest.body)} characters; {BODY_CHARACTERS} are allowed.")
    if len(bullets) > BODY_BULLETS:
        flaws.append(f"The body has {len(bullets)} bullets; {BODY_BULLETS} are allowed.")
    if any(len(bullet) > LEARNING_BULLET_CHARACTERS for bullet in bullets):
        flaws.append(f"A bullet has more than {LEARNING_BULLET_CHARACTERS} characters.")
    if any(not line.lstrip().startswith(("-", "*", "•")) for line in digest.body.splitlines() if line.strip()):
        flaws.append("The body is a list: every line begins with a hyphen.")
    if not digest.change_summary:
        flaws.append("The change has no summary.")
    return flaws


def _normalize_bullets(bullets: tuple[str, ...]) -> list[str]:
    return [" ".join(bullet.casefold().split()).rstrip(".") for bullet in bullets]
