"""The beginning of a change in a row of the inbox: the old text beside the new one, or the new one if nothing was there."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.console.framework.text_diffs import field_label, first_difference
from apps.console.review.proposal_wording import excerpt, texts_of
from apps.governance.models import Proposal
from apps.review.appliers.base import Applier
from apps.review.appliers.registry import APPLIERS

NOTHING_THERE = "nothing"
# Whether a kind adds, replaces or retires does not depend on the target.
_APPLIER_BY_KIND: Mapping[Proposal.Kind, Applier] = MappingProxyType(
    {kind: each for (kind, _), each in APPLIERS.items()}
)


@dataclass(frozen=True, slots=True)
class ChangedPassage:
    """The first passage that a proposal changes, as it is and as proposed, and the names of the changed fields."""

    label: str
    before: str
    after: str


def change_excerpt(proposal: Proposal, *, needs_rebase: bool) -> SafeString | str:
    """Return the first changed passage in both versions. A proposal that only adds text shows how that text begins.

    The old text is the one that the proposer read. It is the live one unless the proposal needs a rebase.
    """
    passage = changed_passage(proposal)
    if passage is None:
        return excerpt(proposal)
    html = '<span class="pc-beside"><span>{}, {}: <del>{}</del></span> <span>Proposed: <ins>{}</ins></span></span>'
    before = "as the proposer read it" if needs_rebase else "now"
    return format_html(html, passage.label, before, passage.before or NOTHING_THERE, passage.after or NOTHING_THERE)


def changed_passage(proposal: Proposal) -> ChangedPassage | None:
    """Return the first changed passage, or None if the proposal replaces no text."""
    before, after = _texts_before_and_after(proposal)
    names = [name for name, text in after.items() if before.get(name, "") != text]
    if not any(before.get(name, "").strip() for name in names):
        return None
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return ChangedPassage(
        f"{field_label(names[0]).capitalize()}{others}", *first_difference(before.get(names[0], ""), after[names[0]])
    )


def _texts_before_and_after(proposal: Proposal) -> tuple[Mapping[str, str], Mapping[str, str]]:
    applier, words = _APPLIER_BY_KIND[Proposal.Kind(proposal.kind)], proposal.words
    if applier.retires or applier.awaits_words(proposal):
        return {}, {}
    if applier.appends:
        removed, added = words.get("removed_lines", []), words.get("lines", [])
        return {"lines": "\n".join(removed)}, {"lines": "\n".join(added)}
    return texts_of(proposal.base_content), texts_of(words)
