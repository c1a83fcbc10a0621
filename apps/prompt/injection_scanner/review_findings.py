"""The scanner's findings in the texts of a prompt, for reviewers, each with its slot and record."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from apps.prompt.injection_scanner.rule_language import Suspicion
from apps.prompt.injection_scanner.scanner import scan
from apps.prompt.prompt_input import PromptInput, Slot, TextProvenance, input_passages


@dataclass(frozen=True, slots=True)
class ReviewFinding:
    """One finding: its rule, its position in the stored text (in characters, half-open), its slot and its record."""

    rule: str
    start: int
    end: int
    slot: Slot
    source: TextProvenance


def scan_prompt_input(given: PromptInput) -> tuple[ReviewFinding, ...]:
    """Return all findings in texts that others wrote. Findings are advice; the prompt does not depend on them."""
    return tuple(
        ReviewFinding(found.rule.value, found.start, found.end, slot, passage.source)
        for slot, passage in input_passages(given)
        for found in scan(passage.text)
    )


# Rules that no honest text for an agent matches: a single finding requires the reviewer's explanation.
GRAVE_SUSPICIONS: Final = frozenset(
    {
        Suspicion.OVERRIDE,
        Suspicion.EXTRACTION,
        Suspicion.EXFILTRATION,
        Suspicion.FORGED_ROLE,
        Suspicion.FORGED_SECTION,
        Suspicion.FORGED_RESULT,
        Suspicion.ENCODED_PAYLOAD,
        Suspicion.HIDDEN_CHARACTERS,
    }
)
# This many findings of other rules require an explanation too.
MANY_FINDINGS: Final = 3


def rules_to_confirm(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the rules that a reviewer must confirm before these texts enter a prompt; empty if the findings are only advice."""
    found = [finding.rule for text in texts for finding in scan(text)]
    if GRAVE_SUSPICIONS.isdisjoint(found) and len(found) < MANY_FINDINGS:
        return ()
    return tuple(sorted({rule.value for rule in found}))
