"""What a reviewer should look at before or after a text enters a prompt: the scanner's flags, with their slot and record."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from apps.prompt.injection_scanner.rule_language import Suspicion
from apps.prompt.injection_scanner.scanner import scan
from apps.prompt.prompt_input import PromptInput, Slot, TextProvenance, input_passages


@dataclass(frozen=True, slots=True)
class ReviewFinding:
    """One flag: which rule, where in the stored text (in characters; the end is exclusive), in which slot and record."""

    rule: str
    start: int
    end: int
    slot: Slot
    source: TextProvenance


def scan_prompt_input(given: PromptInput) -> tuple[ReviewFinding, ...]:
    """Every flag on the texts others wrote. Flags advise; what the model is told does not depend on them."""
    return tuple(
        ReviewFinding(found.rule.value, found.start, found.end, slot, passage.source)
        for slot, passage in input_passages(given)
        for found in scan(passage.text)
    )


# What no honest text for an agent needs: one of these is enough to ask the reviewer for a word.
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
# So many of the lesser ones ask for a word too.
MANY_FINDINGS: Final = 3


def rules_to_confirm(texts: Iterable[str]) -> tuple[str, ...]:
    """What a reviewer has to confirm before these texts reach a prompt; empty if the flags only advise."""
    found = [finding.rule for text in texts for finding in scan(text)]
    if GRAVE_SUSPICIONS.isdisjoint(found) and len(found) < MANY_FINDINGS:
        return ()
    return tuple(sorted({rule.value for rule in found}))
