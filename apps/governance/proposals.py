"""What a proposer hands in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.governance.models import Proposal


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """What would change if a person says yes, and the hash of what the proposer read."""

    kind: Proposal.Kind
    agent_id: int
    base_sha256: str
    content: Mapping[str, Any]
    rationale: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
