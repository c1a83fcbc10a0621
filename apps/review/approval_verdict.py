"""The verdict on a proposal: the words to apply, whether they still fit the live text, the scanner's findings, and the risk.

This module writes nothing. `decisions.py` calls it while the proposal and its target are locked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.governance.errors import FindingsUnconfirmed, Invalid, NeedsRebase
from apps.governance.models import Proposal
from apps.governance.policy.risk_tiers import tier_of
from apps.governance.proposals.approval_rules import ApprovalVerdict
from apps.prompt.injection_scanner.review_findings import rules_to_confirm
from apps.review.appliers.base import Applier, Target, Values, changed_fields
from apps.review.appliers.registry import applier_of


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A reviewer's approval as it was sent.

    `reviewed_sha256` is the hash of the words that the reviewer read. `content` holds the reviewer's own wording, or None to
    approve the words unchanged. `read_at` is the version of the proposal, and `target_read_at` that of the row it would change.
    """

    reviewed_sha256: str
    content: Mapping[str, Any] | None = None
    confirm_findings: bool = False
    reason: str = ""
    read_at: int | None = None
    target_read_at: int | None = None


def approval_verdict(proposal: Proposal, target: Target, request: ApprovalRequest) -> ApprovalVerdict:
    """Return the verdict on an approval of `proposal` for `target`, both locked.

    Raises `Invalid` for words that cannot be applied, `NeedsRebase` if the live text changed since the proposal was written, and
    `FindingsUnconfirmed` if the scanner found something that the reviewer did not confirm.
    """
    applier = applier_of(proposal)
    words = _words_to_apply(proposal, applier, request)
    is_edit = request.content is not None and dict(request.content) != proposal.words
    live = applier.live(target)
    if needs_rebase(proposal, target, applier) and not (is_edit and applier.free_text):
        raise NeedsRebase(
            f"{proposal.target_label} changed since the proposer read it (version {proposal.base_version}; it is now at"
            f" {target.version}). Compare both and rebase the proposal, as it is or in other words.",
            proposal.base_content,
            live,
        )
    after = applier.after(live, words)
    findings = (*_findings_in_changes(live, after), *applier.beside(target, live, after))
    _refuse_unconfirmed_findings(findings, request)
    return ApprovalVerdict(
        reviewed_sha256=request.reviewed_sha256,
        risk=tier_of(applier.touches(live, after) | applier.reaches(target)),
        edited=words if is_edit else None,
        base=applier.base(target) if is_edit else None,
        findings=findings,
        reason=request.reason,
    )


def needs_rebase(proposal: Proposal, target: Target, applier: Applier) -> bool:
    """Whether the target changed since the proposal was bound to it."""
    is_unbound = applier.appends or applier.awaits_words(proposal)
    return not is_unbound and bool(applier.sha256(target) != proposal.base_sha256)


def _words_to_apply(proposal: Proposal, applier: Applier, request: ApprovalRequest) -> Values:
    if request.content is not None:
        return applier.check(request.content)
    if applier.awaits_words(proposal):
        raise Invalid(
            "This proposal is free text. Send the fields as they should read.",
            {"content": ["Write the text of each field."]},
        )
    words: Values = proposal.words
    return words


def _findings_in_changes(live: Values, after: Values) -> tuple[str, ...]:
    changed = sorted(changed_fields(live, after))
    return tuple(rules_to_confirm(text for name in changed for text in _as_texts(after[name])))


def _as_texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | dict) else [str(value)]


def _refuse_unconfirmed_findings(findings: tuple[str, ...], request: ApprovalRequest) -> None:
    if findings and not (request.confirm_findings and request.reason.strip()):
        raise FindingsUnconfirmed(
            f"The scanner found something in these words ({', '.join(findings)}). Read them again. To approve them anyway,"
            " confirm the findings and give a reason.",
            findings,
        )
