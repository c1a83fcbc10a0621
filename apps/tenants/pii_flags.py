"""Detection of personal data in texts that an agent writes itself. It is reported to the agent and to reviewers, and not changed.

Learning masks personal data from conversations. But a line that an agent words itself may contain the tenant's own address.
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
    """A match: the matching words, the text that contains them, and the kind of personal data."""

    place: str
    kind: str
    words: str


def find_pii(texts: Mapping[str, str], *, actor: Actor) -> tuple[PiiFlag, ...]:
    """Find well-known formats and the tenant's own templates. Names are not recognised."""
    written = {place: text for place, text in texts.items() if text.strip()}
    if not written:
        return ()
    with acting_as(actor):
        read = read_templates(TenantSettings.objects.visible_to(actor).get().pii_patterns)
    firewall = PiiMasker.against(KnownValues(), templates=() if isinstance(read, UnusableTemplate) else read)
    return tuple(dict.fromkeys(found for place, text in written.items() for found in _flags_in(place, text, firewall)))


def pii_warning(text: str, *, actor: Actor) -> str:
    """Return a warning to an agent about a text that would be used for all customers; empty if nothing is found."""
    found = find_pii({"": text}, actor=actor)[:FLAGS_SHOWN]
    if not found:
        return ""
    named = "; ".join(f"“{each.words}” ({each.kind})" for each in found)
    return f"This looks like somebody's: {named}. It would serve every customer, so remove it unless it is your organisation's own."


def _flags_in(place: str, text: str, firewall: PiiMasker) -> Iterator[PiiFlag]:
    for finding in firewall.mask(text).findings:
        yield PiiFlag(place, finding.kind, text[finding.start : finding.end])
