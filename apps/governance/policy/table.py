"""The policy table: who may perform which act on which fields. Grants narrow it and never widen it.

A rule's `direct` roles apply the act at once; `proposes` roles may bring the same content as a Proposal. `fields` are the governed
fields the act may write; each has its own guardian permission beside the act's (R015-R024). The act writes `settled` fields only
when it makes the row. `stamps` are columns the act writes besides, such as the signer and the time. These all follow from this
table: the columns that database roles may write, the admin's fields, the bodies of REST, and docs/policy.md. An auditor can print
the table.

`OF_LEARNING` holds the rows about lessons, recurring edits, reported replies and contradictions: people decide on those.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from apps.governance.actors import PEOPLE, Role
from apps.governance.policy.acts import Act
from apps.governance.policy.rule import AGENT_RUNS, CARD_TEXT, PLAN, PRICES, PROPOSAL, TOLD, Does, Risk, Rule

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


__all__ = [
    "POLICY",
    "PROPOSAL",
    "Act",
    "Does",
    "Risk",
    "Rule",
    "codename",
    "codenames",
    "default_grants",
    "permissions",
]

_ALL = frozenset(Role) - {Role.STAFF}
_ADMIN = frozenset({Role.ADMIN})
_AGENT = frozenset({Role.AGENT})
_STAFF = frozenset({Role.STAFF})
# Who keeps a tenant in order without a word of its content.
_HOUSE = _ADMIN | _SYSTEM | _STAFF
_OWNER = frozenset({"agent"})
_PERSONA_TEXT = ("identity", "style", "avoid", "defaults", "goals")
_BLOCK = ("agent", "label", "body", "is_read_only", "is_pinned")
_SERVER = ("title", "url", "is_active", "timeout_seconds", "max_result_bytes")
_DESCRIBED = ("definition", "sha256")
_LIMIT = ("member", "limited_act", "agent_ids")
_OF_LIMIT = frozenset({"member", "limited_act"})
_NOTE = ("agent", "kind", "text", "due_at", "end_user_key")
_SKILL_TEXT = ("name", "title", "description", "category", "body")
_SIGNED = ("updated_by", "taint")
_OF_MEMBER = ("pending_text", "taint")
_DISTILLED = ("facts", *_SIGNED)
_LINES = ("approved_body",)
_WRITTEN = (*_SIGNED, "line_dates")
_QUARANTINED = ("quarantined_at", "quarantined_by")
_APPROVED = ("approved_sha256", "approved_by", "approved_at")
_ADMISSION = ("is_customer_proof_required", "messages_per_minute", "messages_per_day")
_REVIEW_TERMS = ("high_risk_reviewers", "proposal_days", "max_open_proposals")
_BOUND = ("base_version", "base_sha256", "base_content")
_EDITED = ("edited_content", "edited_by", "edited_by_id", "proposers", "approval_count")
_PROPOSED = (
    *("target_label", "content", "rationale", "evidence", "support_count", "proposed_by", "proposers", "risk", "taint"),
    *("expires_at", "revision_request"),
    *(*_BOUND, *_EDITED),
)
_HELD = ("taken_over_by", "taken_over_by_id", "taken_over_at")
_DECIDED = ("state", "decided_by", "decided_by_id", "decision_reason", "reason_code")
_WAITS_AGAIN = (*_DECIDED, "quarantine_reason", "approval_count")

POLICY: Mapping[Act, Rule] = MappingProxyType(
    {
        Act.PERSONA_CREATE: Rule(PEOPLE | _SYSTEM, ("agent", *_PERSONA_TEXT), risk=Risk.HIGH, does=Does.MAKES),
        Act.PERSONA_AMEND: Rule(PEOPLE, _PERSONA_TEXT, risk=Risk.HIGH),
        Act.PERSONA_ARCHIVE: Rule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.PERSONA_ACTIVATE: Rule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.PERSONA_PROPOSE: Rule(
            PEOPLE, ("proposed_patch",), _AGENT, does=Does.WRITES, stamps=_PROPOSED, on=PROPOSAL, reviewers=1
        ),
        Act.OVERLAY_WRITE: Rule(PEOPLE, ("agent", "text"), risk=Risk.HIGH, settled=_OWNER, does=Does.WRITES),
        Act.MEMBER_OVERLAY_WRITE: Rule(
            PEOPLE | _AGENT, ("agent", "text"), settled=_OWNER, does=Does.WRITES, stamps=("member_user_id", *_OF_MEMBER)
        ),
        Act.IDENTITY_CARD_WRITE: Rule(
            PEOPLE,
            ("agent", "line_key", *CARD_TEXT),
            risk=Risk.HIGH,
            settled=_OWNER | {"line_key"},
            does=Does.WRITES,
        ),
        Act.RULE_ADD: Rule(PEOPLE, ("agent", "text", "position"), risk=Risk.HIGH, does=Does.MAKES),
        Act.RULE_AMEND: Rule(PEOPLE, ("text", "position"), risk=Risk.HIGH),
        Act.RULE_RETIRE: Rule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.RULE_RESTORE: Rule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.RULE_PROPOSE: Rule(PEOPLE, (), _AGENT, does=Does.WRITES, stamps=_PROPOSED, on=PROPOSAL, reviewers=1),
        Act.SKILL_DRAFT: Rule(_ALL, ("agent", *_SKILL_TEXT), does=Does.MAKES),
        Act.SKILL_AMEND: Rule(PEOPLE | _AGENT, _SKILL_TEXT, stamps=("taint",)),
        Act.SKILL_APPROVE: Rule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=(*_APPROVED, "taint")),
        Act.SKILL_DEPRECATE: Rule(PEOPLE, ("status",)),
        Act.SKILL_REVISE: Rule(PEOPLE, _SKILL_TEXT, risk=Risk.HIGH, stamps=(*_APPROVED, "taint")),
        Act.SKILL_PROPOSE: Rule(
            PEOPLE, _SKILL_TEXT, _AGENT, does=Does.WRITES, stamps=_PROPOSED, on=PROPOSAL, reviewers=1
        ),
        Act.SKILL_DISCARD: Rule(PEOPLE | _AGENT, does=Does.REMOVES),
        Act.SKILL_UNDO: Rule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_APPROVED),
        Act.SKILL_RETAIN: Rule(PEOPLE, stamps=("retained_until",)),
        Act.SKILL_FETCH: Rule(_AGENT, does=Does.NOTHING),
        Act.SKILL_QUARANTINE: Rule(PEOPLE, ("quarantine_reason",), stamps=_QUARANTINED),
        Act.SKILL_RELEASE: Rule(PEOPLE, ("quarantine_reason",), risk=Risk.HIGH, stamps=_QUARANTINED),
        Act.SKILL_ATTACH: Rule(PEOPLE | _AGENT, ("attachments",), stamps=("taint",), signs=_APPROVED),
        Act.SKILL_DETACH: Rule(PEOPLE | _AGENT, ("attachments",), signs=_APPROVED),
        Act.SKILL_ARRANGE: Rule(PEOPLE | _AGENT, ("attachments",), signs=_APPROVED),
        Act.MEMORY_AMEND: Rule(
            _ALL, ("agent", "body"), settled=_OWNER, does=Does.WRITES, stamps=_WRITTEN, signs=_LINES
        ),
        Act.MEMORY_APPROVE: Rule(PEOPLE, risk=Risk.HIGH, stamps=_SIGNED, signs=_LINES),
        Act.MEMORY_SET_LINE_DATES: Rule(PEOPLE, stamps=("line_dates",)),
        Act.BLOCK_SET_LINE_DATES: Rule(PEOPLE, stamps=("line_dates",)),
        Act.MEMORY_PROPOSE: Rule(
            PEOPLE, (), _AGENT | _SYSTEM, does=Does.WRITES, stamps=_PROPOSED, on=PROPOSAL, reviewers=1
        ),
        Act.BLOCK_WRITE: Rule(PEOPLE, _BLOCK, settled=_OWNER, does=Does.WRITES, stamps=_WRITTEN, signs=_LINES),
        Act.BLOCK_AMEND: Rule(PEOPLE | _AGENT, ("body",), stamps=_WRITTEN, signs=_LINES),
        Act.BLOCK_APPROVE: Rule(PEOPLE, risk=Risk.HIGH, stamps=_SIGNED, signs=_LINES),
        Act.BLOCK_PROPOSE: Rule(PEOPLE, (), _AGENT, does=Does.WRITES, stamps=_PROPOSED, on=PROPOSAL, reviewers=1),
        Act.TIER_DISTIL: Rule(
            _SYSTEM,
            ("agent", "tier", "body"),
            settled=_OWNER | {"tier"},
            does=Does.WRITES,
            stamps=("status", *_DISTILLED),
        ),
        Act.TIER_AMEND: Rule(PEOPLE, ("body",), risk=Risk.HIGH, stamps=_DISTILLED),
        Act.TIER_APPROVE: Rule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_SIGNED),
        Act.TIER_CLEAR: Rule(PEOPLE, risk=Risk.HIGH, does=Does.REMOVES),
        Act.TIER_RUN: Rule(PEOPLE, does=Does.NOTHING),
        Act.PROFILE_AMEND: Rule(
            _ALL,
            ("end_user_key", "preferences", "notes"),
            settled=frozenset({"end_user_key"}),
            does=Does.WRITES,
            stamps=("last_seen_at", *_WRITTEN),
        ),
        Act.PROFILE_SET_LINE_DATES: Rule(PEOPLE, stamps=("line_dates",)),
        Act.PROFILE_PROPOSE: Rule(PEOPLE, (), _AGENT, does=Does.WRITES, stamps=_PROPOSED, on=PROPOSAL, reviewers=1),
        Act.CONVERSATION_OPEN: Rule(_ALL, does=Does.MAKES),
        Act.CONVERSATION_TALK: Rule(PEOPLE, does=Does.MAKES),
        Act.CONVERSATION_IMPORT: Rule(PEOPLE | _SYSTEM, does=Does.MAKES),
        Act.CONVERSATION_RESOLVE: Rule(_ALL, ("status", "outcome"), stamps=("resolved_at",)),
        Act.CONVERSATION_ABANDON: Rule(_ALL, ("status",)),
        Act.CONVERSATION_TAKE_OVER: Rule(PEOPLE, stamps=_HELD),
        Act.CONVERSATION_HAND_BACK: Rule(PEOPLE, stamps=_HELD),
        Act.CONVERSATION_PROVE: Rule(_SYSTEM, stamps=("proven_at", "proven_key_id")),
        Act.CONVERSATION_ERASE: Rule(_SYSTEM, stamps=("erased_at",)),
        Act.CONVERSATION_RATE: Rule(_AGENT, stamps=("rating", "rating_comment", "rated_at")),
        Act.CONVERSATION_DELEGATE: Rule(_AGENT, does=Does.NOTHING),
        **dict.fromkeys((Act.SESSION_OPEN, Act.TURN_REPORT), Rule(_AGENT, does=Does.NOTHING)),
        Act.MESSAGE_RECEIVE: Rule(_ALL, does=Does.NOTHING),
        Act.MESSAGE_SEND: Rule(PEOPLE, risk=Risk.HIGH, does=Does.NOTHING),
        Act.DRAFT_CREATE: Rule(_SYSTEM, does=Does.MAKES),
        Act.DRAFT_SUPERSEDE: Rule(_SYSTEM, ("status",), stamps=_SETTLED_BY),
        Act.DRAFT_SEND: Rule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=("sent_text", "message", *_SETTLED_BY)),
        Act.DRAFT_SEND_EDITED: Rule(PEOPLE, ("status", "sent_text"), risk=Risk.HIGH, stamps=("message", *_SETTLED_BY)),
        Act.DRAFT_DISCARD: Rule(PEOPLE, ("status", "reason_code", "reason"), stamps=_SETTLED_BY),
        Act.ESCALATION_OPEN: Rule(
            _ALL,
            ("conversation", "reason", "question"),
            settled=frozenset({"conversation", "reason"}),
            does=Does.WRITES,
        ),
        Act.ESCALATION_ANSWER: Rule(PEOPLE, ("status", "answer"), risk=Risk.HIGH, stamps=_SETTLED_BY),
        Act.ESCALATION_DISMISS: Rule(PEOPLE, ("status", "dismissal_reason"), stamps=_SETTLED_BY),
        Act.SEND_RULE_WRITE: Rule(
            PEOPLE,
            ("agent", "channel", "skill", "send_mode"),
            risk=Risk.HIGH,
            settled=_OWNER | {"channel", "skill"},
            does=Does.WRITES,
        ),
        Act.SEND_RULE_LIFT: Rule(PEOPLE, risk=Risk.HIGH, does=Does.REMOVES),
        **OF_LEARNING,
        Act.SCHEDULE_DRAFT: Rule(PEOPLE | _AGENT, ("agent", "key", *PLAN), does=Does.MAKES),
        Act.SCHEDULE_AMEND: Rule(PEOPLE, PLAN, risk=Risk.HIGH, stamps=_SIGNED_BY),
        Act.SCHEDULE_APPROVE: Rule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_SIGNED_BY),
        Act.SCHEDULE_PAUSE: Rule(PEOPLE, ("status",)),
        Act.SCHEDULE_RESUME: Rule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_SIGNED_BY),
        Act.SCHEDULE_DEPRECATE: Rule(PEOPLE | _AGENT, ("status",)),
        Act.SCHEDULE_RUN: Rule(PEOPLE, risk=Risk.HIGH, does=Does.NOTHING),
        Act.NOTE_WRITE: Rule(PEOPLE | _AGENT, _NOTE, does=Does.MAKES),
        Act.NOTE_AMEND: Rule(PEOPLE | _AGENT, ("text", "due_at"), stamps=("author", "taint")),
        Act.NOTE_FINISH: Rule(PEOPLE | _AGENT, ("status",)),
        Act.NOTE_DROP: Rule(_ALL, ("status",)),
        Act.COMMENT_ADD: Rule(PEOPLE, ("text",), does=Does.MAKES),
        Act.COMMENT_WITHDRAW: Rule(PEOPLE, ("status",), stamps=("text",)),
        Act.PROPOSAL_SUBMIT: Rule(_ALL, does=Does.WRITES, stamps=_PROPOSED, reviewers=1),
        Act.PROPOSAL_APPROVE: Rule(PEOPLE, risk=Risk.HIGH, stamps=(*_BOUND, *_EDITED, "risk")),
        Act.PROPOSAL_APPLY: Rule(PEOPLE, risk=Risk.HIGH, stamps=(*_DECIDED, "replaced_values")),
        Act.PROPOSAL_UNDO: Rule(PEOPLE, risk=Risk.HIGH, stamps=(*_WAITS_AGAIN, "replaced_values")),
        Act.PROPOSAL_REJECT: Rule(PEOPLE, stamps=_DECIDED),
        Act.PROPOSAL_REOPEN: Rule(PEOPLE, stamps=(*_WAITS_AGAIN, "expires_at")),
        Act.PROPOSAL_SNOOZE: Rule(PEOPLE, stamps=("snoozed_until",)),
        Act.PROPOSAL_CLAIM: Rule(PEOPLE, stamps=("claimed_by", "claimed_by_id", "claimed_at")),
        Act.PROPOSAL_REQUEST_REVISION: Rule(PEOPLE, stamps=("revision_request",)),
        Act.PROPOSAL_REBASE: Rule(PEOPLE, risk=Risk.HIGH, stamps=(*_BOUND, *_EDITED)),
        Act.PROPOSAL_QUARANTINE: Rule(PEOPLE, stamps=(*_DECIDED, "quarantine_reason")),
        Act.PROPOSAL_RELEASE: Rule(PEOPLE, risk=Risk.HIGH, stamps=_WAITS_AGAIN),
        Act.PROPOSAL_WITHDRAW: Rule(PEOPLE | _AGENT, does=Does.REMOVES),
        Act.PROPOSAL_EXPIRE: Rule(_SYSTEM, stamps=_DECIDED),
        Act.TENANT_CREATE: Rule(_SYSTEM, does=Does.MAKES, on="settings"),
        Act.TENANT_ENTER: Rule(_STAFF, does=Does.MAKES, on="visit"),
        Act.TENANT_LEAVE: Rule(_STAFF, stamps=("ended_at",), on="visit"),
        Act.SETTINGS_AMEND: Rule(
            _ADMIN,
            (
                *("timezone", "ai_disclosure", "slot_order", "memory_review", "learning_apply_mode"),
                *("pii_patterns", "is_second_factor_required"),
                *("requests_per_minute", "requests_per_minute_of_tenant", "day_budget_micro_usd"),
                *_REVIEW_TERMS,
                *_ADMISSION,
            ),
            risk=Risk.HIGH,
        ),
        Act.SETTINGS_ROTATE_PROOF_KEY: Rule(_ADMIN, risk=Risk.HIGH, stamps=("proof_secret", "former_proof_secret")),
        Act.AGENT_CREATE: Rule(_ADMIN | _SYSTEM, does=Does.MAKES),
        Act.AGENT_AMEND: Rule(_ADMIN, AGENT_RUNS),
        Act.ENDPOINT_CREATE: Rule(
            _ADMIN, ("key", "title", "base_url"), risk=Risk.HIGH, does=Does.MAKES, stamps=("secret",)
        ),
        Act.ENDPOINT_AMEND: Rule(_ADMIN, ("title", "base_url"), risk=Risk.HIGH, stamps=("secret",)),
        Act.ENDPOINT_ROTATE_KEY: Rule(_ADMIN, risk=Risk.HIGH, stamps=("secret",)),
        Act.ENDPOINT_TEST: Rule(_ADMIN, does=Does.NOTHING),
        Act.ENDPOINT_REMOVE: Rule(_ADMIN, risk=Risk.HIGH, does=Does.REMOVES),
        Act.WEBHOOK_CREATE: Rule(_ADMIN, ("key", *TOLD), risk=Risk.HIGH, does=Does.MAKES, stamps=("secret",)),
        Act.WEBHOOK_AMEND: Rule(_ADMIN, TOLD, risk=Risk.HIGH),
        Act.WEBHOOK_ROTATE_SECRET: Rule(_ADMIN, risk=Risk.HIGH, stamps=("secret", "former_secret")),
        Act.WEBHOOK_REPLAY: Rule(PEOPLE, does=Does.NOTHING),
        Act.PRICE_SET: Rule(_ADMIN, ("model", "valid_from", *PRICES), risk=Risk.HIGH, does=Does.MAKES),
        Act.PRICE_WITHDRAW: Rule(_ADMIN, risk=Risk.HIGH, does=Does.REMOVES),
        Act.TOOL_SERVER_CREATE: Rule(_ADMIN, ("key", *_SERVER), risk=Risk.HIGH, does=Does.MAKES, stamps=("secret",)),
        Act.TOOL_SERVER_AMEND: Rule(_ADMIN, _SERVER, risk=Risk.HIGH, stamps=("secret",)),
        Act.TOOL_SERVER_ROTATE_HEADERS: Rule(_ADMIN, risk=Risk.HIGH, stamps=("secret",)),
        Act.TOOL_SERVER_REFRESH: Rule(PEOPLE, does=Does.NOTHING),
        Act.AGENT_TOOL_ALLOW: Rule(
            PEOPLE, ("agent", "tool", "needs_approval"), risk=Risk.HIGH, does=Does.MAKES, stamps=_DESCRIBED
        ),
        Act.AGENT_TOOL_AMEND: Rule(PEOPLE, ("needs_approval",), risk=Risk.HIGH, stamps=_DESCRIBED),
        Act.AGENT_TOOL_WITHDRAW: Rule(PEOPLE, does=Does.REMOVES),
        Act.TOOL_APPROVAL_REQUEST: Rule(_SYSTEM, does=Does.MAKES),
        Act.TOOL_APPROVAL_APPROVE: Rule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_SETTLED_BY),
        Act.TOOL_APPROVAL_REFUSE: Rule(PEOPLE, ("status", "reason"), stamps=_SETTLED_BY),
        Act.TOOL_APPROVAL_CONSUME: Rule(_SYSTEM, ("status",)),
        Act.INVOKABLE_ALLOW: Rule(
            PEOPLE, ("agent", "callee", "role_hint", "budget_micro_usd"), risk=Risk.HIGH, does=Does.MAKES
        ),
        Act.INVOKABLE_AMEND: Rule(PEOPLE, ("role_hint", "budget_micro_usd"), risk=Risk.HIGH),
        Act.INVOKABLE_WITHDRAW: Rule(PEOPLE, does=Does.REMOVES),
        Act.TOKEN_ISSUE: Rule(_ADMIN | _SYSTEM, does=Does.MAKES),
        Act.TOKEN_REVOKE: Rule(_HOUSE, stamps=("revoked_at",)),
        Act.TOKEN_ROTATE: Rule(_ADMIN | _SYSTEM, stamps=("expires_at",)),
        Act.MEMBER_ADD: Rule(_ADMIN | _SYSTEM, does=Does.MAKES),
        Act.MEMBER_INVITE: Rule(_HOUSE, ("user", "role"), settled=frozenset({"user"}), does=Does.MAKES),
        Act.MEMBER_ACCEPT: Rule(PEOPLE, stamps=("accepted_at",)),
        Act.MEMBER_DEACTIVATE: Rule(_HOUSE, ("is_active",)),
        Act.MEMBER_REACTIVATE: Rule(_HOUSE, ("is_active",)),
        Act.MEMBER_CHANGE_ROLE: Rule(_ADMIN | _SYSTEM, ("role",)),
        Act.MEMBER_RESET: Rule(_HOUSE, ("reset_at",)),
        Act.LIMIT_WRITE: Rule(_ADMIN, _LIMIT, risk=Risk.HIGH, settled=_OF_LIMIT, does=Does.WRITES),
        Act.LIMIT_LIFT: Rule(_ADMIN, risk=Risk.HIGH, does=Does.REMOVES),
        Act.ROLE_GRANT_WRITE: Rule(
            _ADMIN, ("role", "permissions"), risk=Risk.HIGH, settled=frozenset({"role"}), does=Does.WRITES
        ),
        Act.ROLE_GRANT_WITHDRAW: Rule(_ADMIN, risk=Risk.HIGH, does=Does.REMOVES),
        Act.GRANT_WRITE: Rule(
            _ADMIN, ("agent", "role", "permissions"), risk=Risk.HIGH, settled=_OWNER | {"role"}, does=Does.WRITES
        ),
        Act.GRANT_WITHDRAW: Rule(_ADMIN, risk=Risk.HIGH, does=Does.REMOVES),
        Act.GRANT_SYNC: Rule(_SYSTEM, does=Does.NOTHING),
        Act.KILL_SWITCH_ACTIVATE: Rule(
            PEOPLE | _SYSTEM | _STAFF, ("kind", "agent", "channel", "reason"), does=Does.MAKES
        ),
        Act.KILL_SWITCH_DEACTIVATE: Rule(
            PEOPLE | _SYSTEM | _STAFF, ("status",), stamps=("deactivated_by", "deactivated_at")
        ),
        Act.CHECKPOINT_CREATE: Rule(PEOPLE | _SYSTEM, ("name", "agent", "moment", "reason"), does=Does.MAKES),
    }
)


def codename(act: Act, field: str = "") -> str:
    """The guardian permission of an act, or of one governed field of it."""
    name = act.value.replace(".", "_")
    return f"{name}__{field}" if field else name


def codenames(act: Act) -> tuple[str, ...]:
    """The act's permission and one for each of its governed fields."""
    return (codename(act), *(codename(act, field) for field in POLICY[act].fields))


def permissions() -> list[tuple[str, Any]]:
    """Every permission the policy knows, as a model's Meta wants them (its stubs ask for lazy strings too: Any)."""
    return [(name, f"May {name.replace('__', ', field ').replace('_', ' ')}") for act in Act for name in codenames(act)]


@cache
def default_grants(role: Role) -> frozenset[str]:
    """What a role holds where no tenant said otherwise."""
    return frozenset(name for act, rule in POLICY.items() if role in rule.allowed for name in codenames(act))
