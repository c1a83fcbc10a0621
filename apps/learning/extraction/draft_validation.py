"""The checks of a skill draft, and the masking of everything that identifies a person."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from apps.learning.extraction.eligibility import LearningRejection
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tenant_patterns import PiiTemplate
from apps.text_analysis.relative_dates import replace_all_relative_dates

RUNBOOK_SECTIONS = ("When to Use", "Procedure", "Pitfalls", "Verification")


@dataclass(frozen=True, slots=True)
class VettedDraft:
    """A checked draft, with personal data masked."""

    name: str
    title: str
    description: str
    body: str


def vet_draft(
    name: str, title: str, description: str, body: str, *, known: KnownValues, templates: Iterable[PiiTemplate] = ()
) -> VettedDraft | LearningRejection:
    """Mask personal data, and refuse a body without the sections of a runbook (R104, R115)."""
    firewall = PiiMasker.against(known, templates=templates)
    texts = [firewall.mask(text).text for text in (title, description, body)]
    missing = [section for section in RUNBOOK_SECTIONS if f"## {section}".lower() not in texts[2].lower()]
    if missing:
        return LearningRejection("refused", f"The draft lacks the sections {', '.join(missing)}.")
    if firewall.mask(name).findings:
        return LearningRejection("refused", "The draft's name contains an identifier from the conversation.")
    return VettedDraft(name, *texts)


def resolve_relative_dates(draft: VettedDraft, day: date | None) -> tuple[VettedDraft, str]:
    """Replace unambiguous relative days with dates, counted from `day`, and return a note about them for the reviewer (R115)."""
    (title, description, body), found = replace_all_relative_dates((draft.title, draft.description, draft.body), day)
    return VettedDraft(draft.name, title, description, body), found.sentences


def count_masked(texts: Iterable[str], firewall: PiiMasker) -> dict[str, int]:
    """Return the number of masked items by kind, for the reviewer; the masked values are not kept."""
    return dict(sorted(Counter(found.kind for text in texts for found in firewall.mask(text).findings).items()))
