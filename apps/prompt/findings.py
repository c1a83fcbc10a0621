"""What a reviewer should look at before or after a text enters a prompt: the scanner's flags, with their slot and record."""

from dataclasses import dataclass

from apps.prompt.scanner import scan
from apps.prompt.values import PromptInput, Slot, Source
from apps.prompt.written import passages


@dataclass(frozen=True, slots=True)
class Finding:
    """One flag: which rule, where in the stored text (in characters; the end is exclusive), in which slot and record."""

    rule: str
    start: int
    end: int
    slot: Slot
    source: Source


def review(given: PromptInput) -> tuple[Finding, ...]:
    """Every flag on the texts others wrote. Flags advise; what the model is told does not depend on them."""
    return tuple(
        Finding(found.rule.value, found.start, found.end, slot, passage.source)
        for slot, passage in passages(given)
        for found in scan(passage.text)
    )
