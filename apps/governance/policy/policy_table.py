"""The policy table: who may perform which act on which fields. Grants narrow it and never widen it.

A rule's `direct` roles apply the act at once; `proposes` roles may bring the same content as a Proposal. `fields` are the governed
fields the act may write; each has its own guardian permission beside the act's (R015-R024). The act writes `settled` fields only
when it makes the row. `stamps` are columns the act writes besides, such as the signer and the time. These all follow from this
table: the columns that database roles may write, the admin's fields, the bodies of REST, and docs/policy.md. An auditor can print
the table.

`LEARNING_POLICY` holds the rows about lessons, recurring edits, reported replies and contradictions: people decide on those.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from apps.governance.actors import PEOPLE, Role
from apps.governance.policy.acts import Act
from apps.governance.policy.policy_rule import (
    AGENT_RUN_FIELDS,
    CARD_TEXT_FIELDS,
    PRICE_FIELDS,
    PROPOSAL,
    SCHEDULE_FIELDS,
    WEBHOOK_FIELDS,
    PolicyRule,
    Risk,
    RowEffect,
)

_SYSTEM = frozenset({Role.SYSTEM})
_APPROVER_STAMPS = ("approved_by", "approved_at")
_DECIDER_STAMPS = ("decided_by", "decided_at")

LEARNING_POLICY: Final[Mapping[Act, PolicyRule]] = MappingProxyType(
    {
        Act.LEARNING_VERSION_PROPOSE: PolicyRule(_SYSTEM, does=RowEffect.MAKES),
        Act.LEARNING_VERSION_APPLY: PolicyRule(_SYSTEM, ("status",)),
        Act.LEARNING_VERSION_ACTIVATE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_APPROVER_STAMPS),
        Act.LEARNING_VERSION_REJECT: PolicyRule(PEOPLE, ("status",)),
        Act.LEARNING_VERSION_RETIRE: PolicyRule(PEOPLE | _SYSTEM, ("status",)),
        Act.LEARNING_VERSION_RESTORE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_APPROVER_STAMPS),
        Act.LEARNING_VERSION_WITHDRAW: PolicyRule(PEOPLE, ("status",)),
        Act.LEARNING_VERSION_PRUNE: PolicyRule(_SYSTEM, does=RowEffect.REMOVES),
        Act.EDIT_CLUSTER_FIND: PolicyRule(_SYSTEM, does=RowEffect.MAKES),
        Act.EDIT_CLUSTER_PROPOSE: PolicyRule(PEOPLE, ("status",), stamps=("proposal_id", *_DECIDER_STAMPS)),
        Act.EDIT_CLUSTER_DISMISS: PolicyRule(
            PEOPLE, ("status", "dismissal_reason"), stamps=("count_at_dismissal", *_DECIDER_STAMPS)
        ),
        Act.EDIT_CLUSTER_REOPEN: PolicyRule(PEOPLE | _SYSTEM, ("status",)),
        Act.EXAMPLE_ADD: PolicyRule(
            PEOPLE, ("situation", "draft", "correction"), risk=Risk.HIGH, does=RowEffect.MAKES, stamps=_APPROVER_STAMPS
        ),
        Act.EXAMPLE_RETIRE: PolicyRule(PEOPLE, ("status",)),
        Act.REPORT_CREATE: PolicyRule(PEOPLE, ("reason_code", "explanation", "correction"), does=RowEffect.MAKES),
        Act.REPORT_WITHDRAW: PolicyRule(PEOPLE, ("status",), stamps=("explanation", "correction")),
        Act.REPORT_RESOLVE: PolicyRule(PEOPLE, ("status", "outcome", "resolution"), stamps=_DECIDER_STAMPS),
        Act.CONTRADICTION_SCAN: PolicyRule(PEOPLE, does=RowEffect.NOTHING),
        Act.CONTRADICTION_FIND: PolicyRule(_SYSTEM, does=RowEffect.MAKES),
        Act.CONTRADICTION_RECUR: PolicyRule(_SYSTEM, ("status",), stamps=("last_seen_at",)),
        Act.CONTRADICTION_CLEAR: PolicyRule(_SYSTEM, ("status",), stamps=("last_seen_at",)),
        Act.CONTRADICTION_DISMISS: PolicyRule(PEOPLE, ("status", "dismissal_reason"), stamps=_DECIDER_STAMPS),
        Act.CONTRADICTION_REOPEN: PolicyRule(PEOPLE, ("status",), stamps=("dismissal_reason", *_DECIDER_STAMPS)),
    }
)


__all__ = [
    "POLICY",
    "PROPOSAL",
    "Act",
    "PolicyRule",
    "Risk",
    "RowEffect",
    "codename",
    "codenames",
    "default_grants",
    "permissions",
]

_ALL_BUT_STAFF = frozenset(Role) - {Role.STAFF}
_ADMIN = frozenset({Role.ADMIN})
_AGENT = frozenset({Role.AGENT})
_STAFF = frozenset({Role.STAFF})
# The roles that administer a tenant and read none of its content.
_TENANT_MAINTAINERS = _ADMIN | _SYSTEM | _STAFF
_OWNER_FIELDS = frozenset({"agent"})
_PERSONA_TEXT = ("identity", "style", "avoid", "defaults", "goals")
_BLOCK_FIELDS = ("agent", "label", "body", "is_read_only", "is_pinned")
_TOOL_SERVER_FIELDS = ("title", "url", "is_active", "timeout_seconds", "max_result_bytes")
_DEFINITION_FIELDS = ("definition", "sha256")
_LIMIT_FIELDS = ("member", "limited_act", "agent_ids")
_LIMIT_KEY_FIELDS = frozenset({"member", "limited_act"})
_NOTE_FIELDS = ("agent", "kind", "text", "due_at", "end_user_key")
_SKILL_TEXT = ("name", "title", "description", "category", "body")
_AUTHOR_STAMPS = ("updated_by", "taint")
_PENDING_TEXT_STAMPS = ("pending_text", "taint")
_DISTILLATION_STAMPS = ("facts", *_AUTHOR_STAMPS)
_APPROVED_BODY = ("approved_body",)
_MEMORY_WRITE_STAMPS = (*_AUTHOR_STAMPS, "line_dates")
_QUARANTINE_STAMPS = ("quarantined_at", "quarantined_by")
_APPROVAL_STAMPS = ("approved_sha256", "approved_by", "approved_at")
_ADMISSION_FIELDS = ("is_customer_proof_required", "messages_per_minute", "messages_per_day")
_REVIEW_TERMS = ("high_risk_reviewers", "proposal_days", "max_open_proposals")
_BASE_FIELDS = ("base_version", "base_sha256", "base_content")
_EDIT_FIELDS = ("edited_content", "edited_by", "edited_by_id", "proposers", "approval_count")
_PROPOSAL_FIELDS = (
    *("target_label", "content", "rationale", "evidence", "support_count", "proposed_by", "proposers", "risk", "taint"),
    *("expires_at", "revision_request"),
    *(*_BASE_FIELDS, *_EDIT_FIELDS),
)
_TAKEOVER_FIELDS = ("taken_over_by", "taken_over_by_id", "taken_over_at")
_DECISION_FIELDS = ("state", "decided_by", "decided_by_id", "decision_reason", "reason_code")
_REOPEN_FIELDS = (*_DECISION_FIELDS, "quarantine_reason", "approval_count")

POLICY: Mapping[Act, PolicyRule] = MappingProxyType(
    {
        Act.PERSONA_CREATE: PolicyRule(
            PEOPLE | _SYSTEM, ("agent", *_PERSONA_TEXT), risk=Risk.HIGH, does=RowEffect.MAKES
        ),
        Act.PERSONA_AMEND: PolicyRule(PEOPLE, _PERSONA_TEXT, risk=Risk.HIGH),
        Act.PERSONA_ARCHIVE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.PERSONA_ACTIVATE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.PERSONA_PROPOSE: PolicyRule(
            PEOPLE,
            ("proposed_patch",),
            _AGENT,
            does=RowEffect.WRITES,
            stamps=_PROPOSAL_FIELDS,
            on=PROPOSAL,
            reviewers=1,
        ),
        Act.OVERLAY_WRITE: PolicyRule(
            PEOPLE, ("agent", "text"), risk=Risk.HIGH, settled=_OWNER_FIELDS, does=RowEffect.WRITES
        ),
        Act.MEMBER_OVERLAY_WRITE: PolicyRule(
            PEOPLE | _AGENT,
            ("agent", "text"),
            settled=_OWNER_FIELDS,
            does=RowEffect.WRITES,
            stamps=("member_user_id", *_PENDING_TEXT_STAMPS),
        ),
        Act.IDENTITY_CARD_WRITE: PolicyRule(
            PEOPLE,
            ("agent", "line_key", *CARD_TEXT_FIELDS),
            risk=Risk.HIGH,
            settled=_OWNER_FIELDS | {"line_key"},
            does=RowEffect.WRITES,
        ),
        Act.RULE_ADD: PolicyRule(PEOPLE, ("agent", "text", "position"), risk=Risk.HIGH, does=RowEffect.MAKES),
        Act.RULE_AMEND: PolicyRule(PEOPLE, ("text", "position"), risk=Risk.HIGH),
        Act.RULE_RETIRE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.RULE_RESTORE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.RULE_PROPOSE: PolicyRule(
            PEOPLE, (), _AGENT, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, on=PROPOSAL, reviewers=1
        ),
        Act.SKILL_DRAFT: PolicyRule(_ALL_BUT_STAFF, ("agent", *_SKILL_TEXT), does=RowEffect.MAKES),
        Act.SKILL_AMEND: PolicyRule(PEOPLE | _AGENT, _SKILL_TEXT, stamps=("taint",)),
        Act.SKILL_APPROVE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=(*_APPROVAL_STAMPS, "taint")),
        Act.SKILL_DEPRECATE: PolicyRule(PEOPLE, ("status",)),
        Act.SKILL_REVISE: PolicyRule(PEOPLE, _SKILL_TEXT, risk=Risk.HIGH, stamps=(*_APPROVAL_STAMPS, "taint")),
        Act.SKILL_PROPOSE: PolicyRule(
            PEOPLE, _SKILL_TEXT, _AGENT, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, on=PROPOSAL, reviewers=1
        ),
        Act.SKILL_DISCARD: PolicyRule(PEOPLE | _AGENT, does=RowEffect.REMOVES),
        Act.SKILL_UNDO: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_APPROVAL_STAMPS),
        Act.SKILL_RETAIN: PolicyRule(PEOPLE, stamps=("retained_until",)),
        Act.SKILL_FETCH: PolicyRule(_AGENT, does=RowEffect.NOTHING),
        Act.SKILL_QUARANTINE: PolicyRule(PEOPLE, ("quarantine_reason",), stamps=_QUARANTINE_STAMPS),
        Act.SKILL_RELEASE: PolicyRule(PEOPLE, ("quarantine_reason",), risk=Risk.HIGH, stamps=_QUARANTINE_STAMPS),
        Act.SKILL_ATTACH: PolicyRule(PEOPLE | _AGENT, ("attachments",), stamps=("taint",), signs=_APPROVAL_STAMPS),
        Act.SKILL_DETACH: PolicyRule(PEOPLE | _AGENT, ("attachments",), signs=_APPROVAL_STAMPS),
        Act.SKILL_ARRANGE: PolicyRule(PEOPLE | _AGENT, ("attachments",), signs=_APPROVAL_STAMPS),
        Act.MEMORY_AMEND: PolicyRule(
            _ALL_BUT_STAFF,
            ("agent", "body"),
            settled=_OWNER_FIELDS,
            does=RowEffect.WRITES,
            stamps=_MEMORY_WRITE_STAMPS,
            signs=_APPROVED_BODY,
        ),
        Act.MEMORY_APPROVE: PolicyRule(PEOPLE, risk=Risk.HIGH, stamps=_AUTHOR_STAMPS, signs=_APPROVED_BODY),
        Act.MEMORY_SET_LINE_DATES: PolicyRule(PEOPLE, stamps=("line_dates",)),
        Act.BLOCK_SET_LINE_DATES: PolicyRule(PEOPLE, stamps=("line_dates",)),
        Act.MEMORY_PROPOSE: PolicyRule(
            PEOPLE, (), _AGENT | _SYSTEM, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, on=PROPOSAL, reviewers=1
        ),
        Act.BLOCK_WRITE: PolicyRule(
            PEOPLE,
            _BLOCK_FIELDS,
            settled=_OWNER_FIELDS,
            does=RowEffect.WRITES,
            stamps=_MEMORY_WRITE_STAMPS,
            signs=_APPROVED_BODY,
        ),
        Act.BLOCK_AMEND: PolicyRule(PEOPLE | _AGENT, ("body",), stamps=_MEMORY_WRITE_STAMPS, signs=_APPROVED_BODY),
        Act.BLOCK_APPROVE: PolicyRule(PEOPLE, risk=Risk.HIGH, stamps=_AUTHOR_STAMPS, signs=_APPROVED_BODY),
        Act.BLOCK_PROPOSE: PolicyRule(
            PEOPLE, (), _AGENT, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, on=PROPOSAL, reviewers=1
        ),
        Act.TIER_DISTIL: PolicyRule(
            _SYSTEM,
            ("agent", "tier", "body"),
            settled=_OWNER_FIELDS | {"tier"},
            does=RowEffect.WRITES,
            stamps=("status", *_DISTILLATION_STAMPS),
        ),
        Act.TIER_AMEND: PolicyRule(PEOPLE, ("body",), risk=Risk.HIGH, stamps=_DISTILLATION_STAMPS),
        Act.TIER_APPROVE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_AUTHOR_STAMPS),
        Act.TIER_CLEAR: PolicyRule(PEOPLE, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.TIER_RUN: PolicyRule(PEOPLE, does=RowEffect.NOTHING),
        Act.PROFILE_AMEND: PolicyRule(
            _ALL_BUT_STAFF,
            ("end_user_key", "preferences", "notes"),
            settled=frozenset({"end_user_key"}),
            does=RowEffect.WRITES,
            stamps=("last_seen_at", *_MEMORY_WRITE_STAMPS),
        ),
        Act.PROFILE_SET_LINE_DATES: PolicyRule(PEOPLE, stamps=("line_dates",)),
        Act.PROFILE_PROPOSE: PolicyRule(
            PEOPLE, (), _AGENT, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, on=PROPOSAL, reviewers=1
        ),
        Act.CONVERSATION_OPEN: PolicyRule(_ALL_BUT_STAFF, does=RowEffect.MAKES),
        Act.CONVERSATION_TALK: PolicyRule(PEOPLE, does=RowEffect.MAKES),
        Act.CONVERSATION_IMPORT: PolicyRule(PEOPLE | _SYSTEM, does=RowEffect.MAKES),
        Act.CONVERSATION_RESOLVE: PolicyRule(_ALL_BUT_STAFF, ("status", "outcome"), stamps=("resolved_at",)),
        Act.CONVERSATION_ABANDON: PolicyRule(_ALL_BUT_STAFF, ("status",)),
        Act.CONVERSATION_TAKE_OVER: PolicyRule(PEOPLE, stamps=_TAKEOVER_FIELDS),
        Act.CONVERSATION_HAND_BACK: PolicyRule(PEOPLE, stamps=_TAKEOVER_FIELDS),
        Act.CONVERSATION_PROVE: PolicyRule(_SYSTEM, stamps=("proven_at", "proven_key_id")),
        Act.CONVERSATION_ERASE: PolicyRule(_SYSTEM, stamps=("erased_at",)),
        Act.CONVERSATION_RATE: PolicyRule(_AGENT, stamps=("rating", "rating_comment", "rated_at")),
        Act.CONVERSATION_DELEGATE: PolicyRule(_AGENT, does=RowEffect.NOTHING),
        **dict.fromkeys((Act.SESSION_OPEN, Act.TURN_REPORT), PolicyRule(_AGENT, does=RowEffect.NOTHING)),
        Act.MESSAGE_RECEIVE: PolicyRule(_ALL_BUT_STAFF, does=RowEffect.NOTHING),
        Act.MESSAGE_SEND: PolicyRule(PEOPLE, risk=Risk.HIGH, does=RowEffect.NOTHING),
        Act.DRAFT_CREATE: PolicyRule(_SYSTEM, does=RowEffect.MAKES),
        Act.DRAFT_SUPERSEDE: PolicyRule(_SYSTEM, ("status",), stamps=_DECIDER_STAMPS),
        Act.DRAFT_SEND: PolicyRule(
            PEOPLE, ("status",), risk=Risk.HIGH, stamps=("sent_text", "message", *_DECIDER_STAMPS)
        ),
        Act.DRAFT_SEND_EDITED: PolicyRule(
            PEOPLE, ("status", "sent_text"), risk=Risk.HIGH, stamps=("message", *_DECIDER_STAMPS)
        ),
        Act.DRAFT_DISCARD: PolicyRule(PEOPLE, ("status", "reason_code", "reason"), stamps=_DECIDER_STAMPS),
        Act.ESCALATION_OPEN: PolicyRule(
            _ALL_BUT_STAFF,
            ("conversation", "reason", "question"),
            settled=frozenset({"conversation", "reason"}),
            does=RowEffect.WRITES,
        ),
        Act.ESCALATION_ANSWER: PolicyRule(PEOPLE, ("status", "answer"), risk=Risk.HIGH, stamps=_DECIDER_STAMPS),
        Act.ESCALATION_DISMISS: PolicyRule(PEOPLE, ("status", "dismissal_reason"), stamps=_DECIDER_STAMPS),
        Act.SEND_RULE_WRITE: PolicyRule(
            PEOPLE,
            ("agent", "channel", "skill", "send_mode"),
            risk=Risk.HIGH,
            settled=_OWNER_FIELDS | {"channel", "skill"},
            does=RowEffect.WRITES,
        ),
        Act.SEND_RULE_LIFT: PolicyRule(PEOPLE, risk=Risk.HIGH, does=RowEffect.REMOVES),
        **LEARNING_POLICY,
        Act.SCHEDULE_DRAFT: PolicyRule(PEOPLE | _AGENT, ("agent", "key", *SCHEDULE_FIELDS), does=RowEffect.MAKES),
        Act.SCHEDULE_AMEND: PolicyRule(PEOPLE, SCHEDULE_FIELDS, risk=Risk.HIGH, stamps=_APPROVER_STAMPS),
        Act.SCHEDULE_APPROVE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_APPROVER_STAMPS),
        Act.SCHEDULE_PAUSE: PolicyRule(PEOPLE, ("status",)),
        Act.SCHEDULE_RESUME: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_APPROVER_STAMPS),
        Act.SCHEDULE_DEPRECATE: PolicyRule(PEOPLE | _AGENT, ("status",)),
        Act.SCHEDULE_RUN: PolicyRule(PEOPLE, risk=Risk.HIGH, does=RowEffect.NOTHING),
        Act.NOTE_WRITE: PolicyRule(PEOPLE | _AGENT, _NOTE_FIELDS, does=RowEffect.MAKES),
        Act.NOTE_AMEND: PolicyRule(PEOPLE | _AGENT, ("text", "due_at"), stamps=("author", "taint")),
        Act.NOTE_FINISH: PolicyRule(PEOPLE | _AGENT, ("status",)),
        Act.NOTE_DROP: PolicyRule(_ALL_BUT_STAFF, ("status",)),
        Act.COMMENT_ADD: PolicyRule(PEOPLE, ("text",), does=RowEffect.MAKES),
        Act.COMMENT_WITHDRAW: PolicyRule(PEOPLE, ("status",), stamps=("text",)),
        Act.PROPOSAL_SUBMIT: PolicyRule(_ALL_BUT_STAFF, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, reviewers=1),
        Act.PROPOSAL_APPROVE: PolicyRule(PEOPLE, risk=Risk.HIGH, stamps=(*_BASE_FIELDS, *_EDIT_FIELDS, "risk")),
        Act.PROPOSAL_APPLY: PolicyRule(PEOPLE, risk=Risk.HIGH, stamps=(*_DECISION_FIELDS, "replaced_values")),
        Act.PROPOSAL_UNDO: PolicyRule(PEOPLE, risk=Risk.HIGH, stamps=(*_REOPEN_FIELDS, "replaced_values")),
        Act.PROPOSAL_REJECT: PolicyRule(PEOPLE, stamps=_DECISION_FIELDS),
        Act.PROPOSAL_REOPEN: PolicyRule(PEOPLE, stamps=(*_REOPEN_FIELDS, "expires_at")),
        Act.PROPOSAL_SNOOZE: PolicyRule(PEOPLE, stamps=("snoozed_until",)),
        Act.PROPOSAL_CLAIM: PolicyRule(PEOPLE, stamps=("claimed_by", "claimed_by_id", "claimed_at")),
        Act.PROPOSAL_REQUEST_REVISION: PolicyRule(PEOPLE, stamps=("revision_request",)),
        Act.PROPOSAL_REBASE: PolicyRule(PEOPLE, risk=Risk.HIGH, stamps=(*_BASE_FIELDS, *_EDIT_FIELDS)),
        Act.PROPOSAL_QUARANTINE: PolicyRule(PEOPLE, stamps=(*_DECISION_FIELDS, "quarantine_reason")),
        Act.PROPOSAL_RELEASE: PolicyRule(PEOPLE, risk=Risk.HIGH, stamps=_REOPEN_FIELDS),
        Act.PROPOSAL_WITHDRAW: PolicyRule(PEOPLE | _AGENT, does=RowEffect.REMOVES),
        Act.PROPOSAL_EXPIRE: PolicyRule(_SYSTEM, stamps=_DECISION_FIELDS),
        Act.TENANT_CREATE: PolicyRule(_SYSTEM, does=RowEffect.MAKES, on="settings"),
        Act.TENANT_ENTER: PolicyRule(_STAFF, does=RowEffect.MAKES, on="visit"),
        Act.TENANT_LEAVE: PolicyRule(_STAFF, stamps=("ended_at",), on="visit"),
        Act.SETTINGS_AMEND: PolicyRule(
            _ADMIN,
            (
                *("timezone", "ai_disclosure", "slot_order", "memory_review", "learning_apply_mode"),
                *("pii_patterns", "is_second_factor_required"),
                *("requests_per_minute", "requests_per_minute_of_tenant", "day_budget_micro_usd"),
                *_REVIEW_TERMS,
                *_ADMISSION_FIELDS,
            ),
            risk=Risk.HIGH,
        ),
        Act.SETTINGS_ROTATE_PROOF_KEY: PolicyRule(
            _ADMIN, risk=Risk.HIGH, stamps=("proof_secret", "former_proof_secret")
        ),
        Act.AGENT_CREATE: PolicyRule(_ADMIN | _SYSTEM, does=RowEffect.MAKES),
        Act.AGENT_AMEND: PolicyRule(_ADMIN, AGENT_RUN_FIELDS),
        Act.ENDPOINT_CREATE: PolicyRule(
            _ADMIN, ("key", "title", "base_url"), risk=Risk.HIGH, does=RowEffect.MAKES, stamps=("secret",)
        ),
        Act.ENDPOINT_AMEND: PolicyRule(_ADMIN, ("title", "base_url"), risk=Risk.HIGH, stamps=("secret",)),
        Act.ENDPOINT_ROTATE_KEY: PolicyRule(_ADMIN, risk=Risk.HIGH, stamps=("secret",)),
        Act.ENDPOINT_TEST: PolicyRule(_ADMIN, does=RowEffect.NOTHING),
        Act.ENDPOINT_REMOVE: PolicyRule(_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.WEBHOOK_CREATE: PolicyRule(
            _ADMIN, ("key", *WEBHOOK_FIELDS), risk=Risk.HIGH, does=RowEffect.MAKES, stamps=("secret",)
        ),
        Act.WEBHOOK_AMEND: PolicyRule(_ADMIN, WEBHOOK_FIELDS, risk=Risk.HIGH),
        Act.WEBHOOK_ROTATE_SECRET: PolicyRule(_ADMIN, risk=Risk.HIGH, stamps=("secret", "former_secret")),
        Act.WEBHOOK_REPLAY: PolicyRule(PEOPLE, does=RowEffect.NOTHING),
        Act.PRICE_SET: PolicyRule(_ADMIN, ("model", "valid_from", *PRICE_FIELDS), risk=Risk.HIGH, does=RowEffect.MAKES),
        Act.PRICE_WITHDRAW: PolicyRule(_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.TOOL_SERVER_CREATE: PolicyRule(
            _ADMIN, ("key", *_TOOL_SERVER_FIELDS), risk=Risk.HIGH, does=RowEffect.MAKES, stamps=("secret",)
        ),
        Act.TOOL_SERVER_AMEND: PolicyRule(_ADMIN, _TOOL_SERVER_FIELDS, risk=Risk.HIGH, stamps=("secret",)),
        Act.TOOL_SERVER_ROTATE_HEADERS: PolicyRule(_ADMIN, risk=Risk.HIGH, stamps=("secret",)),
        Act.TOOL_SERVER_REFRESH: PolicyRule(PEOPLE, does=RowEffect.NOTHING),
        Act.AGENT_TOOL_ALLOW: PolicyRule(
            PEOPLE, ("agent", "tool", "needs_approval"), risk=Risk.HIGH, does=RowEffect.MAKES, stamps=_DEFINITION_FIELDS
        ),
        Act.AGENT_TOOL_AMEND: PolicyRule(PEOPLE, ("needs_approval",), risk=Risk.HIGH, stamps=_DEFINITION_FIELDS),
        Act.AGENT_TOOL_WITHDRAW: PolicyRule(PEOPLE, does=RowEffect.REMOVES),
        Act.TOOL_APPROVAL_REQUEST: PolicyRule(_SYSTEM, does=RowEffect.MAKES),
        Act.TOOL_APPROVAL_APPROVE: PolicyRule(PEOPLE, ("status",), risk=Risk.HIGH, stamps=_DECIDER_STAMPS),
        Act.TOOL_APPROVAL_REFUSE: PolicyRule(PEOPLE, ("status", "reason"), stamps=_DECIDER_STAMPS),
        Act.TOOL_APPROVAL_CONSUME: PolicyRule(_SYSTEM, ("status",)),
        Act.INVOKABLE_ALLOW: PolicyRule(
            PEOPLE, ("agent", "callee", "role_hint", "budget_micro_usd"), risk=Risk.HIGH, does=RowEffect.MAKES
        ),
        Act.INVOKABLE_AMEND: PolicyRule(PEOPLE, ("role_hint", "budget_micro_usd"), risk=Risk.HIGH),
        Act.INVOKABLE_WITHDRAW: PolicyRule(PEOPLE, does=RowEffect.REMOVES),
        Act.TOKEN_ISSUE: PolicyRule(_ADMIN | _SYSTEM, does=RowEffect.MAKES),
        Act.TOKEN_REVOKE: PolicyRule(_TENANT_MAINTAINERS, stamps=("revoked_at",)),
        Act.TOKEN_ROTATE: PolicyRule(_ADMIN | _SYSTEM, stamps=("expires_at",)),
        Act.MEMBER_ADD: PolicyRule(_ADMIN | _SYSTEM, does=RowEffect.MAKES),
        Act.MEMBER_INVITE: PolicyRule(
            _TENANT_MAINTAINERS, ("user", "role"), settled=frozenset({"user"}), does=RowEffect.MAKES
        ),
        Act.MEMBER_ACCEPT: PolicyRule(PEOPLE, stamps=("accepted_at",)),
        Act.MEMBER_DEACTIVATE: PolicyRule(_TENANT_MAINTAINERS, ("is_active",)),
        Act.MEMBER_REACTIVATE: PolicyRule(_TENANT_MAINTAINERS, ("is_active",)),
        Act.MEMBER_CHANGE_ROLE: PolicyRule(_ADMIN | _SYSTEM, ("role",)),
        Act.MEMBER_RESET: PolicyRule(_TENANT_MAINTAINERS, ("reset_at",)),
        Act.LIMIT_WRITE: PolicyRule(
            _ADMIN, _LIMIT_FIELDS, risk=Risk.HIGH, settled=_LIMIT_KEY_FIELDS, does=RowEffect.WRITES
        ),
        Act.LIMIT_LIFT: PolicyRule(_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.ROLE_GRANT_WRITE: PolicyRule(
            _ADMIN, ("role", "permissions"), risk=Risk.HIGH, settled=frozenset({"role"}), does=RowEffect.WRITES
        ),
        Act.ROLE_GRANT_WITHDRAW: PolicyRule(_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.GRANT_WRITE: PolicyRule(
            _ADMIN,
            ("agent", "role", "permissions"),
            risk=Risk.HIGH,
            settled=_OWNER_FIELDS | {"role"},
            does=RowEffect.WRITES,
        ),
        Act.GRANT_WITHDRAW: PolicyRule(_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.GRANT_SYNC: PolicyRule(_SYSTEM, does=RowEffect.NOTHING),
        Act.KILL_SWITCH_ACTIVATE: PolicyRule(
            PEOPLE | _SYSTEM | _STAFF, ("kind", "agent", "channel", "reason"), does=RowEffect.MAKES
        ),
        Act.KILL_SWITCH_DEACTIVATE: PolicyRule(
            PEOPLE | _SYSTEM | _STAFF, ("status",), stamps=("deactivated_by", "deactivated_at")
        ),
        Act.CHECKPOINT_CREATE: PolicyRule(
            PEOPLE | _SYSTEM, ("name", "agent", "moment", "reason"), does=RowEffect.MAKES
        ),
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
    """The permissions of a role in a tenant that has not changed them."""
    return frozenset(name for act, rule in POLICY.items() if role in rule.allowed for name in codenames(act))
