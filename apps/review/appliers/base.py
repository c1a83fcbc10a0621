"""`Applier`: how one kind of proposal is read, shown, applied and undone. Surfaces need no branches per kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models.expressions import Combinable

from apps.governance.actors import Actor
from apps.governance.models import Governed, Proposal
from apps.governance.policy.risk_tiers import RiskFactor
from apps.governance.proposals.approval_rules import ProposalBase

# Values by field. Any: a value may be a text, a number or a list of lines.
Values = Mapping[str, Any]
# A row of the applier's `model`.
Target = Any


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A file that is approved together with the words.

    `text` is the part shown to reviewers (None for a binary file); `note` adds remarks.
    """

    name: str
    media_type: str
    size_bytes: int
    sha256: str
    uploaded_by: str
    findings: tuple[str, ...]
    text: str | None
    note: str


def no_extra_findings(target: Target, live: Values, after: Values) -> tuple[str, ...]:
    """Default of `Applier.beside`: no findings besides those in the words."""
    return ()


def no_extra_risk(target: Target) -> frozenset[RiskFactor]:
    """Default of `Applier.reaches`: no risk factors besides those of the words."""
    return frozenset()


def no_files(target: Target) -> tuple[ReviewedFile, ...]:
    """Default of `Applier.files`: the target has no files."""
    return ()


@dataclass(frozen=True, slots=True)
class Applier:
    """The functions and properties of one kind of proposal.

    `live` returns the current values by field, and `after` the values once the words are applied to them. `sha256` returns the
    hash to which a proposal is bound; `sql_sha256` is the same hash in SQL, over the row's columns, and None for a kind that
    `appends`, which never needs a rebase. `touches` returns the risk factors of that change. `check` returns the words, or
    refuses words that cannot be applied. `beside` returns findings about files that a reviewer has to confirm besides those in
    the words, `reaches` their risk factors, and `files` the files. `apply` makes the change and returns the values that `undo`
    needs to restore the target. A `free_text` proposal is applied only in a reviewer's words. A kind that `retires` retires its
    target. The fields of a kind that is `by_section` can be approved one by one.
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
    beside: Callable[[Target, Values, Values], tuple[str, ...]] = no_extra_findings
    reaches: Callable[[Target], frozenset[RiskFactor]] = no_extra_risk
    files: Callable[[Target], tuple[ReviewedFile, ...]] = no_files
    appends: bool = False
    free_text: bool = False
    retires: bool = False
    by_section: bool = False
    sql_sha256: Combinable | None = None
    consequence: str = "The next session of the agent carries it; sessions already open keep what they started with."

    def awaits_words(self, proposal: Proposal) -> bool:
        """Whether the proposal is free text, which a reviewer must still put into the target's fields."""
        return self.free_text and not proposal.is_edited

    def base(self, target: Target) -> ProposalBase:
        """Return the target's current version, hash and texts, to which a proposal is bound."""
        return ProposalBase(target.version, self.sha256(target), self.live(target))


def merge_words(live: Values, words: Values) -> Values:
    """Return the live fields, overridden by the fields that the words name."""
    return {**live, **words}


def changed_fields(live: Values, after: Values) -> frozenset[str]:
    """Return the names of the fields whose values would change."""
    return frozenset(name for name in after if after[name] != live.get(name))
