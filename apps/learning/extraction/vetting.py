"""What the draft of a skill must look like, and its texts without what identifies somebody."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from apps.learning.extraction.eligibility import Refused
from apps.text_analysis.pii.known_values import Known
from apps.text_analysis.pii.masking import Firewall
from apps.text_analysis.pii.tenant_patterns import Template
from apps.text_analysis.relative_dates import all_dated

SECTIONS = ("When to Use", "Procedure", "Pitfalls", "Verification")


@dataclass(frozen=True, slots=True)
class Vetted:
    """A draft's texts, generalised."""

    name: str
    title: str
    description: str
    body: str


def vet(
    name: str, title: str, description: str, body: str, *, known: Known, templates: Iterable[Template] = ()
) -> Vetted | Refused:
    """Take out what identifies anybody, and refuse a body without the sections of a runbook (R104, R115)."""
    firewall = Firewall.against(known, templates=templates)
    texts = [firewall.mask(text).text for text in (title, description, body)]
    missing = [section for section in SECTIONS if f"## {section}".lower() not in texts[2].lower()]
    if missing:
        return Refused("refused", f"The draft lacks the sections {', '.join(missing)}.")
    if firewall.mask(name).findings:
        return Refused("refused", "The draft's name holds an identifier from the conversation.")
    return Vetted(name, *texts)


def by_date(draft: Vetted, day: date | None) -> tuple[Vetted, str]:
    """The draft with dates for the days that are certain, as seen from `day`, and what a reviewer is told of it (R115)."""
    (title, description, body), found = all_dated((draft.title, draft.description, draft.body), day)
    return Vetted(draft.name, title, description, body), found.sentences


def counted_in(texts: Iterable[str], firewall: Firewall) -> dict[str, int]:
    """How often what of each kind was masked: what a reviewer is told, without the values."""
    return dict(sorted(Counter(found.kind for text in texts for found in firewall.mask(text).findings).items()))
