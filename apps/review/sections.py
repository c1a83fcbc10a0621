"""A yes to some sections of what is proposed for a persona."""

from collections.abc import Collection
from dataclasses import replace

from apps.governance.actors import Actor
from apps.governance.errors import Invalid
from apps.governance.models import Proposal
from apps.review.decisions import Decided, Yes, approve
from apps.review.sheet import sheet_of


def approve_sections(proposal: Proposal, sections: Collection[str], yes: Yes, *, actor: Actor) -> Decided:
    """Edit, then approve: the words of these sections, as they were proposed; the others stay as they are."""
    offered = sheet_of(proposal, actor=actor).offered
    foreign = [name for name in sections if name not in offered]
    if foreign or not sections:
        among = f"It would change {', '.join(offered)}." if offered else "It has no sections to choose from."
        raise Invalid(
            f"Take at least one of the sections that this proposal would change; to take none, reject it. {among}",
            {name: ["The proposal does not change this."] for name in foreign},
        )
    content = {name: text for name, text in offered.items() if name in sections}
    return approve(proposal, replace(yes, content=content), actor=actor)
