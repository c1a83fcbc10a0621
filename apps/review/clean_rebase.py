"""Clean rebases: the words of a proposal, carried over to the live text if nobody has to choose between two changes.

A field that only the proposal changed keeps the proposed value, and a field that only the live row changed keeps the live value. If
both changed a text, their changes are merged by lines. Whatever touches the same place is a conflict, for a person to solve.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from apps.governance.errors import Conflict, GovernanceError
from apps.governance.models import Proposal
from apps.review.appliers.base import Applier, Target, Values
from apps.review.approval_verdict import needs_rebase
from apps.text_analysis.three_way_merge import merge_texts

_UP_TO_DATE: Final = "Its target has not changed since it was proposed, so there is nothing to rebase."
# These proposals are about the row as a whole, so the proposed words cannot show that they still fit.
_WHOLE_ROW: Mapping[Proposal.Kind, str] = MappingProxyType(
    {
        Proposal.Kind.SKILL_NEW: "The draft that it would publish has changed. Read the draft, and rebase it on its own page.",
        Proposal.Kind.SKILL_DEPRECATION: (
            "The skill that it would retire has changed. Read the skill, and rebase it on its own page."
        ),
    }
)


def cleanly_rebased_words(proposal: Proposal, target: Target, applier: Applier) -> Values:
    """Return the words of the proposal over the live text. Raises `Conflict` if no rebase is needed, or a person has to choose."""
    if not needs_rebase(proposal, target, applier):
        raise Conflict(_UP_TO_DATE)
    if reason := _WHOLE_ROW.get(Proposal.Kind(proposal.kind)):
        raise Conflict(reason)
    base, live = proposal.base_content, applier.live(target)
    words = {name: _merged(name, word, base.get(name), live.get(name)) for name, word in proposal.words.items()}
    try:
        return applier.check(words)
    except GovernanceError as refusal:
        raise Conflict(f"Its words no longer fit the live text. {refusal} Rebase it on its own page.") from refusal


def _merged(name: str, word: Any, base: Any, live: Any) -> Any:  # Any: a text, or the dates of lines
    if live in (base, word):
        return word
    if word == base:
        return live
    merged = merge_texts(base, word, live) if all(isinstance(each, str) for each in (base, word, live)) else None
    if merged is None:
        raise Conflict(
            f"The proposal and the live text changed the same place in {name.replace('_', ' ')}. Rebase it on its own page."
        )
    return merged
