"""What looks like somebody's in what an agent writes by itself: pointed out to it and to reviewers, and left as it stands.

What is learned from conversations is masked. A line that an agent words itself may be the house's own address as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.tenants.models import TenantSettings
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tenant_patterns import UnusableTemplate, read_templates

FLAGS_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class PiiFlag:
    """Words that look like somebody's, the text they stand in, and what they seem to be."""

    place: str
    kind: str
    words: str


def find_pii(texts: Mapping[str, str], *, actor: Actor) -> tuple[PiiFlag, ...]:
    """What is of a form that everybody knows or of a template of the tenant. Names are not told from other words."""
    written = {place: text for place, text in texts.items() if text.strip()}
    if not written:
        return ()
    with acting_as(actor):
        read = read_templates(TenantSettings.objects.visible_to(actor).get().pii_patterns)
    firewall = PiiMasker.against(KnownValues(), templates=() if isinstance(read, UnusableTemplate) else read)
    return tuple(dict.fromkeys(found for place, text in written.items() for found in _flags_in(place, text, firewall)))


def pii_warning(text: str, *, actor: Actor) -> str:
    """What an agent is told of what it wrote for all customers; empty where nothing is found."""
    found = find_pii({"": text}, actor=actor)[:FLAGS_SHOWN]
    if not found:
        return ""
    named = "; ".join(f"“{each.words}” ({each.kind})" for each in found)
    return f"This looks like somebody's: {named}. It would serve every customer, so take it out unless it is the house's own."


def _flags_in(place: str, text: str, firewall: PiiMasker) -> Iterator[PiiFlag]:
    for finding in firewall.mask(text).findings:
        yield PiiFlag(place, finding.kind, text[finding.start : finding.end])
