"""How one kind of proposal is read, shown, applied and undone: what a noun declares, so that no surface asks about kinds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.governance.actors import Actor
from apps.governance.models import Governed, Proposal
from apps.governance.policy.risk_tiers import RiskFactor
from apps.governance.proposals.approval_rules import ProposalBase

# Field by field; Any, for a field may be a text, a number or lines.
Values = Mapping[str, Any]
# A target is a row of the noun the applier is declared for.
Target = Any


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A file that is approved with the words. `text` is what a reviewer is shown of it, if it is one; `note` says the rest."""

    name: str
    media_type: str
    size_bytes: int
    sha256: str
    uploaded_by: str
    findings: tuple[str, ...]
    text: str | None
    note: str


def no_extra_findings(target: Target) -> tuple[str, ...]:
    """Most kinds are all words."""
    return ()


def no_extra_risk(target: Target) -> frozenset[RiskFactor]:
    """And what stands beside no words reaches nothing."""
    return frozenset()


def no_files(target: Target) -> tuple[ReviewedFile, ...]:
    """Nor is there anything to open."""
    return ()


@dataclass(frozen=True, slots=True)
class Applier:
    """One kind of proposal.

    `live` is what stands now, field by field, and `after` what would stand once the words are applied to it. `check` refuses
    words that could not be applied. `beside` names what a reviewer has to confirm besides the words, `reaches` what that
    touches, and `files` are what to read of it. `apply` makes the change and returns what an undo needs; `undo` puts it back.
    A kind that `appends` never needs a rebase. One whose words are `free_text` is applied in the words of a reviewer alone.
    One that `retires` takes its target away. One that is `by_section` holds fields that can be taken one by one.
    """

    model: type[Governed]
    live: Callable[[Target], Values]
    sha256: Callable[[Target], str]
    after: Callable[[Values, Values], Values]
    touches: Callable[[Values, Values], frozenset[RiskFactor]]
    check: Callable[[Values], Values]
    apply: Callable[[Target, Actor, Proposal], Values]
    undo: Callable[[Target, Actor, Proposal], object] | None = None
    cannot_undo: str = ""
    beside: Callable[[Target], tuple[str, ...]] = no_extra_findings
    reaches: Callable[[Target], frozenset[RiskFactor]] = no_extra_risk
    files: Callable[[Target], tuple[ReviewedFile, ...]] = no_files
    appends: bool = False
    free_text: bool = False
    retires: bool = False
    by_section: bool = False
    consequence: str = "The next session of the agent carries it; sessions already open keep what they started with."

    def base(self, target: Target) -> ProposalBase:
        """What a reader of the target is bound to."""
        return ProposalBase(target.version, self.sha256(target), self.live(target))


def merge_words(live: Values, words: Values) -> Values:
    """The live fields with those that the words name replaced."""
    return {**live, **words}


def changed_fields(live: Values, after: Values) -> frozenset[str]:
    """The fields that would be others."""
    return frozenset(name for name in after if after[name] != live.get(name))
