"""What of a proposal can be tried before it is decided on."""

from typing import Final

from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.review.sheet import sheet_of

_WORDLESS: Final = (
    "Proposal {number} does not say yet in which words the change would be made. Edit it, or choose another."
)


def untried_because(proposal: Proposal, actor: Actor) -> str:
    """Why nobody can try it yet; empty where it says what would stand there."""
    return _WORDLESS.format(number=proposal.pk) if sheet_of(proposal, actor=actor).would is None else ""
