"""The policy's rows about what agents learned, what people keep changing or report, and contradictions: people decide."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from apps.governance.actors import PEOPLE, Role
from apps.governance.acts import Act
from apps.governance.policy_rule import Does, Risk, Rule

_SYSTEM = frozenset({Role.SYSTEM})
_SIGNED_BY = ("approved_by", "approved_at")
_SETTLED_BY = ("decided_by", "decided_at")

OF_LEARNING: Final[Mapping[Act, Rule]] = MappingProxyType(
    {
        Act.LEARNING_VERSION_PROPOSE: Rule(_SYSTEM, does=Does.MAKES),
        Act.LEARNING_VERSION_APPLY: Rule(_SYSTEM, ("status",)),
        Act.LEARNING_VERSION_ACTIVATE: Rule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_SIGNED_BY),
        Act.LEARNING_VERSION_REJECT: Rule(PEOPLE, ("status",)),
        Act.LEARNING_VERSION_RETIRE: Rule(PEOPLE | _SYSTEM, ("status",)),
        Act.LEARNING_VERSION_RESTORE: Rule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_SIGNED_BY),
        Act.LEARNING_VERSION_WITHDRAW: Rule(PEOPLE, ("status",)),
        Act.LEARNING_VERSION_PRUNE: Rule(_SYSTEM, does=Does.REMOVES),
        Act.EDIT_CLUSTER_FIND: Rule(_SYSTEM, does=Does.MAKES),
        Act.EDIT_CLUSTER_PROPOSE: Rule(PEOPLE, ("status",), stamps=("proposal_id", *_SETTLED_BY)),
        Act.EDIT_CLUSTER_DISMISS: Rule(
            PEOPLE, ("status", "dismissal_reason"), stamps=("count_at_dismissal", *_SETTLED_BY)
        ),
        Act.EDIT_CLUSTER_REOPEN: Rule(PEOPLE | _SYSTEM, ("status",)),
        Act.EXAMPLE_ADD: Rule(
            PEOPLE, ("situation", "draft", "correction"), risk=Risk.HIGH, does=Does.MAKES, stamps=_SIGNED_BY
        ),
        Act.EXAMPLE_RETIRE: Rule(PEOPLE, ("status",)),
        Act.REPORT_CREATE: Rule(PEOPLE, ("reason_code", "explanation", "correction"), does=Does.MAKES),
        Act.REPORT_WITHDRAW: Rule(PEOPLE, ("status",), stamps=("explanation", "correction")),
        Act.REPORT_RESOLVE: Rule(PEOPLE, ("status", "outcome", "resolution"), stamps=_SETTLED_BY),
        Act.CONTRADICTION_SCAN: Rule(PEOPLE, does=Does.NOTHING),
        Act.CONTRADICTION_FIND: Rule(_SYSTEM, does=Does.MAKES),
        Act.CONTRADICTION_RECUR: Rule(_SYSTEM, ("status",), stamps=("last_seen_at",)),
        Act.CONTRADICTION_CLEAR: Rule(_SYSTEM, ("status",), stamps=("last_seen_at",)),
        Act.CONTRADICTION_DISMISS: Rule(PEOPLE, ("status", "dismissal_reason"), stamps=_SETTLED_BY),
        Act.CONTRADICTION_REOPEN: Rule(PEOPLE, ("status",), stamps=("dismissal_reason", *_SETTLED_BY)),
    }
)
