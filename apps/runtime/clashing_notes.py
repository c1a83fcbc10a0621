"""Lines noted of one customer that do not fit each other (R161): said to whoever writes or reads them, and refused to nobody.

Nothing of another customer is looked at, nor what the agent goes by: "wants refunds in cash" contradicts no policy.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from django.utils import timezone

from apps.memory.models import CustomerProfile
from apps.prompt.memory_lines.line_diff import bare, known, lines_of
from apps.prompt.memory_lines.line_expiry import holding
from apps.prompt.sanitizer.clean import clean
from apps.runtime.clashing import QUOTED, SHOWN, Clash
from apps.text_analysis.contradictions.detection import Part, Written, contradictions
from apps.text_analysis.relative_dates import told_by_today

NOTED: Final = "what else is noted"
TEXTS: Final = ("preferences", "notes")


def texts_of(profile: CustomerProfile | None) -> dict[str, str]:
    """What is noted and holds, by field."""
    noted, now = profile or CustomerProfile(), timezone.now()
    return {name: holding(getattr(noted, name), noted.line_dates, now) for name in TEXTS}


def clashes_within(profile: CustomerProfile) -> tuple[Clash, ...]:
    """Which of a customer's lines contradict each other."""
    return _clashes("\n".join(texts_of(profile).values()), "")


def with_advice_on_notes(said: str, profile: CustomerProfile, before: Mapping[str, str]) -> str:
    """What of the lines that are new, compared with what was noted `before`, does not fit; behind what was said."""
    were = {line for text in before.values() for line in known(text)}
    lines = [line for text in texts_of(profile).values() for line in lines_of(text) if bare(line)]
    new = [line for line in lines if bare(line) not in were]
    found = _clashes("\n".join(new), "\n".join(line for line in lines if bare(line) in were))
    again = f"It is saved, but look again: {' '.join(clash.sentence for clash in found)}" if found else ""
    return "\n".join(filter(None, [said, *map(clean, (again, told_by_today(new)))]))


def _clashes(new: str, rest: str) -> tuple[Clash, ...]:
    checked = contradictions([Written(NOTED, Part.MEMORY, new)], [Written(NOTED, Part.MEMORY, rest)])
    found = (
        Clash(finding.place.text[:QUOTED], finding.other.text[:QUOTED], finding.other.record, finding.kind)
        for finding in checked.findings
        if finding.other is not None
    )
    return tuple(islice(found, SHOWN))
