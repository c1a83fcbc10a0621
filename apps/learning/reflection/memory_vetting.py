"""The limits of a reflection, and the check of proposed memory lines."""

from apps.learning.extraction.eligibility import LearningRejection
from apps.text_analysis.pii.masking import MASK_KINDS, PiiMasker
from apps.text_analysis.relative_dates import replace_all_relative_dates

# Limits of what one reflection reads and writes, and how many conversations must show the same pattern.
CONVERSATIONS_READ = 20
LINES_READ = 60
MIN_CONVERSATIONS = 2
MEMORY_CHARACTERS = 300


def vet_memory(text: str, firewall: PiiMasker) -> str | LearningRejection:
    """Check a memory line about the business; a line with personal data, or valid for one day only, is refused (R086, R115)."""
    shown = firewall.mask(text).text
    if len(text) > MEMORY_CHARACTERS:
        return LearningRejection(
            "refused",
            f"“{shown[:60]}...” has {len(text)} characters; a line of memory has {MEMORY_CHARACTERS} at most.",
        )
    if shown != text or any(f"[{kind}]" in text for kind in MASK_KINDS):
        return LearningRejection(
            "refused", f"“{shown}” contains data of one person, which an agent's memory must not hold."
        )
    _, found = replace_all_relative_dates((text,), None)
    if found.left:
        return LearningRejection("refused", f"“{text}” is true for one day only ({', '.join(found.left)}).")
    return text
