"""What one reflection reads and proposes at most, and which line may be remembered."""

from apps.learning.extraction.eligibility import Refused
from apps.text_analysis.pii.masking import KINDS, Firewall
from apps.text_analysis.relative_dates import all_dated

# What one reflection reads and writes at most, and how many conversations have to show the same.
CONVERSATIONS_READ = 20
LINES_READ = 60
SHOWN_BY = 2
MEMORY_CHARACTERS = 300


def vet_memory(text: str, firewall: Firewall) -> str | Refused:
    """A line to remember of the business; what is somebody's, or true of one day only, is refused (R086, R115)."""
    shown = firewall.mask(text).text
    if len(text) > MEMORY_CHARACTERS:
        return Refused(
            "refused",
            f"“{shown[:60]}...” has {len(text)} characters; a line of memory has {MEMORY_CHARACTERS} at most.",
        )
    if shown != text or any(f"[{kind}]" in text for kind in KINDS):
        return Refused("refused", f"“{shown}” names something of one person; that is no memory of an agent.")
    _, found = all_dated((text,), None)
    if found.left:
        return Refused("refused", f"“{text}” is true of one day only ({', '.join(found.left)}).")
    return text
