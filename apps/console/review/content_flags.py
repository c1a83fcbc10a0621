"""Content flags for reviewers: text that the sanitizer would neutralise, suspected prompt injection, and likely personal data.

The check for personal data covers lines that no person has approved and that would reach every customer.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from apps.governance.actors import Actor
from apps.prompt.injection_scanner.rule_language import Suspicion
from apps.prompt.injection_scanner.scanner import scan
from apps.prompt.prompt_input import SanitizerRule
from apps.prompt.sanitizer.clean import sanitize
from apps.skills.skill_validation import missing_files
from apps.tenants.pii_flags import find_pii

MAX_CHARACTERS = 100_000
QUOTED_CHARACTERS = 120
SANITIZER_SENTENCES = {
    SanitizerRule.ESCAPED: "A line looks like one of the prompt's own titles or separators.",
    SanitizerRule.INVISIBLE: "It holds invisible or direction-changing characters.",
    SanitizerRule.ROLE_CONTROL: "It tries to speak as another role or to override instructions.",
    SanitizerRule.TRUNCATED: "It is longer than the model may be given.",
}
INJECTION_SENTENCES = {
    Suspicion.OVERRIDE: "It seems to override instructions.",
    Suspicion.NEW_TASK: "It seems to put another task in place of the agent's.",
    Suspicion.EXTRACTION: "It seems to ask for the prompt or for secrets.",
    Suspicion.PERSONA: "It seems to give the agent another role.",
    Suspicion.POLICY_REMOVAL: "It seems to lift limits or rules.",
    Suspicion.OUTPUT_HIJACK: "It seems to dictate the agent's answer.",
    Suspicion.EXFILTRATION: "It seems to send something to an outside address.",
    Suspicion.FORGED_ROLE: "It poses as another speaker.",
    Suspicion.FORGED_SECTION: "It poses as a part of the prompt.",
    Suspicion.FORGED_RESULT: "It poses as a tool call or its result.",
    Suspicion.ENCODED_PAYLOAD: "It holds encoded text that reads like one of these when decoded.",
    Suspicion.HIDDEN_CHARACTERS: "It hides text in characters that nobody sees.",
    Suspicion.CROWDED: "It holds so many suspicious beginnings that not all were read.",
}


@dataclass(frozen=True, slots=True)
class ContentFlag:
    """One sentence for the reviewer, with the field it concerns and the words it found."""

    sentence: str
    field: str
    words: str = ""


def find_content_flags(texts: Mapping[str, str]) -> list[ContentFlag]:
    """Return all flags of some texts, field by field. They are advice; the reviewer decides."""
    return [
        flag for field, text in texts.items() for flag in dict.fromkeys(_flags_of_field(field.replace("_", " "), text))
    ]


def _flags_of_field(field: str, text: str) -> Iterator[ContentFlag]:
    for rule in sanitize(text, MAX_CHARACTERS).notes:
        yield ContentFlag(SANITIZER_SENTENCES[rule], field)
    for finding in scan(text):
        words = " ".join(text[finding.start : finding.end].split())
        cut = "…" if len(words) > QUOTED_CHARACTERS else ""
        yield ContentFlag(INJECTION_SENTENCES[finding.rule], field, words[:QUOTED_CHARACTERS] + cut)


def missing_file_flags(body: str, names: Iterable[str]) -> list[ContentFlag]:
    """Return the files that a runbook mentions and that are not attached, so that no agent can read them."""
    return [
        ContentFlag("It mentions a file that is not attached.", "body", name) for name in missing_files(body, names)
    ]


def personal_data_flags(texts: Mapping[str, str], actor: Actor) -> list[ContentFlag]:
    """Return likely personal data, field by field; the reviewer knows whether it is the organisation's own."""
    return [
        ContentFlag(f"It holds what looks like somebody's ({found.kind}).", found.place.replace("_", " "), found.words)
        for found in find_pii(texts, actor=actor)
    ]


def unapproved_lines(body: str, approved: str) -> str:
    """Return the lines of a text that nobody has approved."""
    passed = frozenset(line.strip() for line in approved.splitlines())
    return "\n".join(line for line in body.splitlines() if line.strip() not in passed)
