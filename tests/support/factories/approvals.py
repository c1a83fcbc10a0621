"""Decisions on proposals as a reviewer takes them, on the present content."""

from collections.abc import Mapping
from typing import Any

from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.review.approval_verdict import ApprovalRequest
from apps.review.decisions import DecisionResult, approve


def approve_as_read(
    proposal: Proposal,
    actor: Actor,
    content: Mapping[str, Any] | None = None,
    *,
    confirmed: str = "",
    read_at: int | None = None,
    target_read_at: int | None = None,
) -> DecisionResult:
    """Approve the present content, or `content` in its place; `confirmed` is the reason to accept the scanner's findings."""
    yes = ApprovalRequest(proposal.content_sha256, content, bool(confirmed), confirmed, read_at, target_read_at)
    return approve(proposal, yes, actor=actor)
