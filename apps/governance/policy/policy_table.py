"""The policy table: who may perform which act, and which columns the act writes. Grants narrow it and never widen it.

Every act has one rule, from which everything that limits a write is derived: the check of `governed`, the permissions that
grants consist of (R015-R024), the columns that database roles may write, the fields of console forms and REST bodies, and
docs/policy.md. An auditor can print the table. An example of a rule:

    Act.NOTE_AMEND: PolicyRule(direct=PEOPLE | _AGENT, fields=("text", "due_at"), stamps=("author", "taint"))

People and agents may change a note directly. They choose `text` and `due_at`; the act itself fills in `author` and `taint`.
Parameters that are left out have their defaults: nobody proposes the act, it changes an existing row, and its risk is low.
`PolicyRule` explains each value.

To add an act:
1. Name it in acts.py: `NOTE_PIN = "note.pin"`.
2. Add its rule here, next to the acts of the same noun. Name every column that the act writes: in `fields` if somebody chooses
   the value, in `stamps` if the act does. A write to any other column is refused.
3. Write the action, a function around `governed(Act.NOTE_PIN, ...)`, in actions.py of the app.
4. Offer it: in `acts` of a REST view, as a button of a console page. Then run `manage.py sync_policy --write-docs`.

`LEARNING_POLICY` holds the rules for lessons, recurring edits, reported replies and contradictions, which people decide on.
"""

from collections.abc import Mapping
from dataclasses import replace
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

_SYSTEM = frozenset({Role.SYSTEM})
_APPROVER_STAMPS = ("approved_by", "approved_at")
_DECIDER_STAMPS = ("decided_by", "decided_at")

LEARNING_POLICY: Final[Mapping[Act, PolicyRule]] = MappingProxyType(
    {
        Act.LEARNING_VERSION_PROPOSE: PolicyRule(direct=_SYSTEM, does=RowEffect.MAKES),
        Act.LEARNING_VERSION_APPLY: PolicyRule(direct=_SYSTEM, fields=("status",)),
        **dict.fromkeys(
            (Act.LEARNING_VERSION_ACTIVATE, Act.LEARNING_VERSION_RESTORE),
            PolicyRule(direct=PEOPLE, fields=("status",), risk=Risk.HIGH, stamps=_APPROVER_STAMPS),
        ),
        Act.LEARNING_VERSION_REJECT: PolicyRule(direct=PEOPLE, fields=("status",)),
        Act.LEARNING_VERSION_RETIRE: PolicyRule(direct=PEOPLE | _SYSTEM, fields=("status",)),
        Act.LEARNING_VERSION_WITHDRAW: PolicyRule(direct=PEOPLE, fields=("status",)),
        Act.LEARNING_VERSION_PRUNE: PolicyRule(direct=_SYSTEM, does=RowEffect.REMOVES),
        Act.EDIT_CLUSTER_FIND: PolicyRule(direct=_SYSTEM, does=RowEffect.MAKES),
        Act.EDIT_CLUSTER_PROPOSE: PolicyRule(
            direct=PEOPLE, fields=("status",), stamps=("proposal_id", *_DECIDER_STAMPS)
        ),
        Act.EDIT_CLUSTER_DISMISS: PolicyRule(
            direct=PEOPLE, fields=("status", "dismissal_reason"), stamps=("count_at_dismissal", *_DECIDER_STAMPS)
        ),
        Act.EDIT_CLUSTER_REOPEN: PolicyRule(direct=PEOPLE | _SYSTEM, fields=("status",)),
        Act.EXAMPLE_ADD: PolicyRule(
            direct=PEOPLE,
            fields=("situation", "draft", "correction"),
            risk=Risk.HIGH,
            does=RowEffect.MAKES,
            stamps=_APPROVER_STAMPS,
        ),
        Act.EXAMPLE_RETIRE: PolicyRule(direct=PEOPLE, fields=("status",)),
        Act.REPORT_CREATE: PolicyRule(
            direct=PEOPLE, fields=("reason_code", "explanation", "correction"), does=RowEffect.MAKES
        ),
        Act.REPORT_WITHDRAW: PolicyRule(direct=PEOPLE, fields=("status",), stamps=("explanation", "correction")),
        Act.REPORT_RESOLVE: PolicyRule(
            direct=PEOPLE, fields=("status", "outcome", "resolution"), stamps=_DECIDER_STAMPS
        ),
        Act.CONTRADICTION_SCAN: PolicyRule(direct=PEOPLE, does=RowEffect.NOTHING),
        Act.CONTRADICTION_FIND: PolicyRule(direct=_SYSTEM, does=RowEffect.MAKES),
        Act.CONTRADICTION_RECUR: PolicyRule(direct=_SYSTEM, fields=("status",), stamps=("last_seen_at",)),
        Act.CONTRADICTION_CLEAR: PolicyRule(direct=_SYSTEM, fields=("status",), stamps=("last_seen_at",)),
        Act.CONTRADICTION_DISMISS: PolicyRule(
            direct=PEOPLE, fields=("status", "dismissal_reason"), stamps=_DECIDER_STAMPS
        ),
        Act.CONTRADICTION_REOPEN: PolicyRule(
            direct=PEOPLE, fields=("status",), stamps=("dismissal_reason", *_DECIDER_STAMPS)
        ),
    }
)

_ALL_BUT_STAFF = frozenset(Role) - {Role.STAFF}
_ADMIN = frozenset({Role.ADMIN})
_AGENT = frozenset({Role.AGENT})
_STAFF = frozenset({Role.STAFF})
# The roles that administer a tenant without reading its content.
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
_REDRAFT_STAMPS = (*_APPROVAL_STAMPS, "taint")
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
_SWITCHING: Final = PEOPLE | _SYSTEM | _STAFF
_QUARANTINE: Final = PolicyRule(direct=PEOPLE, fields=("quarantine_reason",), stamps=_QUARANTINE_STAMPS)
_RELEASE: Final = replace(_QUARANTINE, risk=Risk.HIGH)

POLICY: Mapping[Act, PolicyRule] = MappingProxyType(
    {
        Act.PERSONA_CREATE: PolicyRule(
            direct=PEOPLE | _SYSTEM, fields=("agent", *_PERSONA_TEXT), risk=Risk.HIGH, does=RowEffect.MAKES
        ),
        Act.PERSONA_AMEND: PolicyRule(direct=PEOPLE, fields=_PERSONA_TEXT, risk=Risk.HIGH),
        Act.PERSONA_ARCHIVE: PolicyRule(direct=PEOPLE, fields=("status",), risk=Risk.HIGH),
        Act.PERSONA_ACTIVATE: PolicyRule(direct=PEOPLE, fields=("status",), risk=Risk.HIGH),
        Act.PERSONA_PROPOSE: PolicyRule(
            direct=PEOPLE,
            fields=("proposed_patch",),
            proposes=_AGENT,
            does=RowEffect.WRITES,
            stamps=_PROPOSAL_FIELDS,
            on=PROPOSAL,
            reviewers=1,
        ),
        Act.OVERLAY_WRITE: PolicyRule(
            direct=PEOPLE, fields=("agent", "text"), risk=Risk.HIGH, settled=_OWNER_FIELDS, does=RowEffect.WRITES
        ),
        Act.MEMBER_OVERLAY_WRITE: PolicyRule(
            direct=PEOPLE | _AGENT,
            fields=("agent", "text"),
            settled=_OWNER_FIELDS,
            does=RowEffect.WRITES,
            stamps=("member_user_id", *_PENDING_TEXT_STAMPS),
        ),
        Act.IDENTITY_CARD_WRITE: PolicyRule(
            direct=PEOPLE,
            fields=("agent", "line_key", *CARD_TEXT_FIELDS),
            risk=Risk.HIGH,
            settled=_OWNER_FIELDS | {"line_key"},
            does=RowEffect.WRITES,
        ),
        Act.RULE_ADD: PolicyRule(
            direct=PEOPLE, fields=("agent", "text", "position"), risk=Risk.HIGH, does=RowEffect.MAKES
        ),
        Act.RULE_AMEND: PolicyRule(direct=PEOPLE, fields=("text", "position"), risk=Risk.HIGH),
        Act.RULE_RETIRE: PolicyRule(direct=PEOPLE, fields=("status",), risk=Risk.HIGH),
        Act.RULE_RESTORE: PolicyRule(direct=PEOPLE, fields=("status",), risk=Risk.HIGH),
        Act.RULE_PROPOSE: PolicyRule(
            direct=PEOPLE, proposes=_AGENT, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, on=PROPOSAL, reviewers=1
        ),
        Act.SKILL_DRAFT: PolicyRule(direct=_ALL_BUT_STAFF, fields=("agent", *_SKILL_TEXT), does=RowEffect.MAKES),
        Act.SKILL_AMEND: PolicyRule(direct=PEOPLE | _AGENT, fields=_SKILL_TEXT, stamps=("taint",)),
        Act.SKILL_APPROVE: PolicyRule(
            direct=PEOPLE, fields=("status",), risk=Risk.HIGH, stamps=(*_APPROVAL_STAMPS, "taint")
        ),
        Act.SKILL_DEPRECATE: PolicyRule(direct=PEOPLE, fields=("status",)),
        Act.SKILL_REVISE: PolicyRule(
            direct=PEOPLE, fields=_SKILL_TEXT, risk=Risk.HIGH, stamps=(*_APPROVAL_STAMPS, "taint")
        ),
        Act.SKILL_PROPOSE: PolicyRule(
            direct=PEOPLE,
            fields=_SKILL_TEXT,
            proposes=_AGENT,
            does=RowEffect.WRITES,
            stamps=_PROPOSAL_FIELDS,
            on=PROPOSAL,
            reviewers=1,
        ),
        Act.SKILL_DISCARD: PolicyRule(direct=PEOPLE | _AGENT, does=RowEffect.REMOVES),
        Act.SKILL_UNDO: PolicyRule(direct=PEOPLE, fields=("status",), risk=Risk.HIGH, stamps=_APPROVAL_STAMPS),
        Act.SKILL_REDRAFT: PolicyRule(
            direct=PEOPLE, fields=("status", *_SKILL_TEXT, "attachments"), risk=Risk.HIGH, stamps=_REDRAFT_STAMPS
        ),
        Act.SKILL_RETAIN: PolicyRule(direct=PEOPLE, stamps=("retained_until",)),
        Act.SKILL_FETCH: PolicyRule(direct=_AGENT, does=RowEffect.NOTHING),
        Act.SKILL_QUARANTINE: _QUARANTINE,
        Act.SKILL_RELEASE: _RELEASE,
        Act.SKILL_ATTACH: PolicyRule(
            direct=PEOPLE | _AGENT, fields=("attachments",), stamps=("taint",), signs=_APPROVAL_STAMPS
        ),
        Act.SKILL_DETACH: PolicyRule(direct=PEOPLE | _AGENT, fields=("attachments",), signs=_APPROVAL_STAMPS),
        Act.SKILL_ARRANGE: PolicyRule(direct=PEOPLE | _AGENT, fields=("attachments",), signs=_APPROVAL_STAMPS),
        Act.MEMORY_AMEND: PolicyRule(
            direct=_ALL_BUT_STAFF,
            fields=("agent", "body"),
            settled=_OWNER_FIELDS,
            does=RowEffect.WRITES,
            stamps=_MEMORY_WRITE_STAMPS,
            signs=_APPROVED_BODY,
        ),
        Act.MEMORY_APPROVE: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, stamps=_AUTHOR_STAMPS, signs=_APPROVED_BODY),
        Act.MEMORY_SET_LINE_DATES: PolicyRule(direct=PEOPLE, stamps=("line_dates",)),
        Act.BLOCK_SET_LINE_DATES: PolicyRule(direct=PEOPLE, stamps=("line_dates",)),
        Act.MEMORY_PROPOSE: PolicyRule(
            direct=PEOPLE,
            proposes=_AGENT | _SYSTEM,
            does=RowEffect.WRITES,
            stamps=_PROPOSAL_FIELDS,
            on=PROPOSAL,
            reviewers=1,
        ),
        Act.BLOCK_WRITE: PolicyRule(
            direct=PEOPLE,
            fields=_BLOCK_FIELDS,
            settled=_OWNER_FIELDS,
            does=RowEffect.WRITES,
            stamps=_MEMORY_WRITE_STAMPS,
            signs=_APPROVED_BODY,
        ),
        Act.BLOCK_AMEND: PolicyRule(
            direct=PEOPLE | _AGENT, fields=("body",), stamps=_MEMORY_WRITE_STAMPS, signs=_APPROVED_BODY
        ),
        Act.BLOCK_APPROVE: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, stamps=_AUTHOR_STAMPS, signs=_APPROVED_BODY),
        Act.BLOCK_PROPOSE: PolicyRule(
            direct=PEOPLE, proposes=_AGENT, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, on=PROPOSAL, reviewers=1
        ),
        Act.TIER_DISTIL: PolicyRule(
            direct=_SYSTEM,
            fields=("agent", "tier", "body"),
            settled=_OWNER_FIELDS | {"tier"},
            does=RowEffect.WRITES,
            stamps=("status", *_DISTILLATION_STAMPS),
        ),
        Act.TIER_AMEND: PolicyRule(direct=PEOPLE, fields=("body",), risk=Risk.HIGH, stamps=_DISTILLATION_STAMPS),
        Act.TIER_APPROVE: PolicyRule(direct=PEOPLE, fields=("status",), risk=Risk.HIGH, stamps=_AUTHOR_STAMPS),
        Act.TIER_CLEAR: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.TIER_RUN: PolicyRule(direct=PEOPLE, does=RowEffect.NOTHING),
        Act.PROFILE_AMEND: PolicyRule(
            direct=_ALL_BUT_STAFF,
            fields=("end_user_key", "preferences", "notes"),
            settled=frozenset({"end_user_key"}),
            does=RowEffect.WRITES,
            stamps=("last_seen_at", *_MEMORY_WRITE_STAMPS),
        ),
        Act.PROFILE_SET_LINE_DATES: PolicyRule(direct=PEOPLE, stamps=("line_dates",)),
        Act.PROFILE_PROPOSE: PolicyRule(
            direct=PEOPLE, proposes=_AGENT, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, on=PROPOSAL, reviewers=1
        ),
        Act.CONVERSATION_OPEN: PolicyRule(direct=_ALL_BUT_STAFF, does=RowEffect.MAKES),
        Act.CONVERSATION_TALK: PolicyRule(direct=PEOPLE, does=RowEffect.MAKES),
        Act.CONVERSATION_IMPORT: PolicyRule(direct=PEOPLE | _SYSTEM, does=RowEffect.MAKES),
        Act.CONVERSATION_RESOLVE: PolicyRule(
            direct=_ALL_BUT_STAFF, fields=("status", "outcome"), stamps=("resolved_at",)
        ),
        Act.CONVERSATION_ABANDON: PolicyRule(direct=_ALL_BUT_STAFF, fields=("status",)),
        Act.CONVERSATION_TAKE_OVER: PolicyRule(direct=PEOPLE, stamps=_TAKEOVER_FIELDS),
        Act.CONVERSATION_HAND_BACK: PolicyRule(direct=PEOPLE, stamps=_TAKEOVER_FIELDS),
        Act.CONVERSATION_PROVE: PolicyRule(direct=_SYSTEM, stamps=("proven_at", "proven_key_id")),
        Act.CONVERSATION_ERASE: PolicyRule(direct=_SYSTEM, stamps=("erased_at",)),
        Act.CONVERSATION_RATE: PolicyRule(direct=_AGENT, stamps=("rating", "rating_comment", "rated_at")),
        Act.CONVERSATION_QUARANTINE: _QUARANTINE,
        Act.CONVERSATION_RELEASE: _RELEASE,
        Act.CONVERSATION_DELEGATE: PolicyRule(direct=_AGENT, does=RowEffect.NOTHING),
        **dict.fromkeys((Act.SESSION_OPEN, Act.TURN_REPORT), PolicyRule(direct=_AGENT, does=RowEffect.NOTHING)),
        Act.MESSAGE_RECEIVE: PolicyRule(direct=_ALL_BUT_STAFF, does=RowEffect.NOTHING),
        Act.TURN_RUN: PolicyRule(direct=PEOPLE, does=RowEffect.NOTHING),
        Act.MESSAGE_SEND: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, does=RowEffect.NOTHING),
        Act.DRAFT_CREATE: PolicyRule(direct=_SYSTEM, does=RowEffect.MAKES),
        Act.DRAFT_SUPERSEDE: PolicyRule(direct=_SYSTEM, fields=("status",), stamps=_DECIDER_STAMPS),
        Act.DRAFT_SEND: PolicyRule(
            direct=PEOPLE, fields=("status",), risk=Risk.HIGH, stamps=("sent_text", "message", *_DECIDER_STAMPS)
        ),
        Act.DRAFT_SEND_EDITED: PolicyRule(
            direct=PEOPLE, fields=("status", "sent_text"), risk=Risk.HIGH, stamps=("message", *_DECIDER_STAMPS)
        ),
        Act.DRAFT_DISCARD: PolicyRule(
            direct=PEOPLE, fields=("status", "reason_code", "reason"), stamps=_DECIDER_STAMPS
        ),
        Act.ESCALATION_OPEN: PolicyRule(
            direct=_ALL_BUT_STAFF,
            fields=("conversation", "reason", "question"),
            settled=frozenset({"conversation", "reason"}),
            does=RowEffect.WRITES,
        ),
        Act.ESCALATION_ANSWER: PolicyRule(
            direct=PEOPLE, fields=("status", "answer"), risk=Risk.HIGH, stamps=_DECIDER_STAMPS
        ),
        Act.ESCALATION_DISMISS: PolicyRule(
            direct=PEOPLE, fields=("status", "dismissal_reason"), stamps=_DECIDER_STAMPS
        ),
        Act.SEND_RULE_WRITE: PolicyRule(
            direct=PEOPLE,
            fields=("agent", "channel", "skill", "send_mode"),
            risk=Risk.HIGH,
            settled=_OWNER_FIELDS | {"channel", "skill"},
            does=RowEffect.WRITES,
        ),
        Act.SEND_RULE_LIFT: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, does=RowEffect.REMOVES),
        **LEARNING_POLICY,
        Act.SCHEDULE_DRAFT: PolicyRule(
            direct=PEOPLE | _AGENT, fields=("agent", "key", *SCHEDULE_FIELDS), does=RowEffect.MAKES
        ),
        Act.SCHEDULE_AMEND: PolicyRule(direct=PEOPLE, fields=SCHEDULE_FIELDS, risk=Risk.HIGH, stamps=_APPROVER_STAMPS),
        Act.SCHEDULE_APPROVE: PolicyRule(direct=PEOPLE, fields=("status",), risk=Risk.HIGH, stamps=_APPROVER_STAMPS),
        Act.SCHEDULE_PAUSE: PolicyRule(direct=PEOPLE, fields=("status",)),
        Act.SCHEDULE_RESUME: PolicyRule(direct=PEOPLE, fields=("status",), risk=Risk.HIGH, stamps=_APPROVER_STAMPS),
        Act.SCHEDULE_DEPRECATE: PolicyRule(direct=PEOPLE | _AGENT, fields=("status",)),
        Act.SCHEDULE_RUN: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, does=RowEffect.NOTHING),
        Act.NOTE_WRITE: PolicyRule(direct=PEOPLE | _AGENT, fields=_NOTE_FIELDS, does=RowEffect.MAKES),
        Act.NOTE_AMEND: PolicyRule(direct=PEOPLE | _AGENT, fields=("text", "due_at"), stamps=("author", "taint")),
        Act.NOTE_FINISH: PolicyRule(direct=PEOPLE | _AGENT, fields=("status",)),
        Act.NOTE_DROP: PolicyRule(direct=_ALL_BUT_STAFF, fields=("status",)),
        Act.COMMENT_ADD: PolicyRule(direct=PEOPLE, fields=("text",), does=RowEffect.MAKES),
        Act.COMMENT_WITHDRAW: PolicyRule(direct=PEOPLE, fields=("status",), stamps=("text",)),
        Act.PROPOSAL_SUBMIT: PolicyRule(
            direct=_ALL_BUT_STAFF, does=RowEffect.WRITES, stamps=_PROPOSAL_FIELDS, reviewers=1
        ),
        Act.PROPOSAL_APPROVE: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, stamps=(*_BASE_FIELDS, *_EDIT_FIELDS, "risk")),
        Act.PROPOSAL_APPLY: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, stamps=(*_DECISION_FIELDS, "replaced_values")),
        Act.PROPOSAL_UNDO: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, stamps=(*_REOPEN_FIELDS, "replaced_values")),
        Act.PROPOSAL_REJECT: PolicyRule(direct=PEOPLE, stamps=_DECISION_FIELDS),
        Act.PROPOSAL_REOPEN: PolicyRule(direct=PEOPLE, stamps=(*_REOPEN_FIELDS, "expires_at")),
        Act.PROPOSAL_SNOOZE: PolicyRule(direct=PEOPLE, stamps=("snoozed_until",)),
        Act.PROPOSAL_CLAIM: PolicyRule(direct=PEOPLE, stamps=("claimed_by", "claimed_by_id", "claimed_at")),
        Act.PROPOSAL_REQUEST_REVISION: PolicyRule(direct=PEOPLE, stamps=("revision_request",)),
        Act.PROPOSAL_REBASE: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, stamps=(*_BASE_FIELDS, *_EDIT_FIELDS)),
        Act.PROPOSAL_QUARANTINE: PolicyRule(direct=PEOPLE, stamps=(*_DECISION_FIELDS, "quarantine_reason")),
        Act.PROPOSAL_RELEASE: PolicyRule(direct=PEOPLE, risk=Risk.HIGH, stamps=(*_REOPEN_FIELDS, "expires_at")),
        Act.PROPOSAL_WITHDRAW: PolicyRule(direct=PEOPLE | _AGENT, does=RowEffect.REMOVES),
        Act.PROPOSAL_EXPIRE: PolicyRule(direct=_SYSTEM, stamps=_DECISION_FIELDS),
        Act.TENANT_CREATE: PolicyRule(direct=_SYSTEM, does=RowEffect.MAKES, on="settings"),
        Act.TENANT_ENTER: PolicyRule(direct=_STAFF, does=RowEffect.MAKES, on="visit"),
        Act.TENANT_LEAVE: PolicyRule(direct=_STAFF, stamps=("ended_at",), on="visit"),
        Act.SETTINGS_AMEND: PolicyRule(
            direct=_ADMIN,
            fields=(
                *("timezone", "ai_disclosure", "slot_order", "memory_review", "learning_apply_mode"),
                *("pii_patterns", "is_second_factor_required"),
                *("requests_per_minute", "requests_per_minute_of_tenant", "day_budget_micro_usd"),
                *_REVIEW_TERMS,
                *_ADMISSION_FIELDS,
            ),
            risk=Risk.HIGH,
        ),
        Act.SETTINGS_ROTATE_PROOF_KEY: PolicyRule(
            direct=_ADMIN, risk=Risk.HIGH, stamps=("proof_secret", "former_proof_secret")
        ),
        Act.AGENT_CREATE: PolicyRule(direct=_ADMIN | _SYSTEM, does=RowEffect.MAKES),
        Act.AGENT_AMEND: PolicyRule(direct=_ADMIN, fields=AGENT_RUN_FIELDS),
        Act.AGENT_END_SESSIONS: PolicyRule(direct=PEOPLE, stamps=("sessions_ended_at",)),
        Act.ENDPOINT_CREATE: PolicyRule(
            direct=_ADMIN, fields=("key", "title", "base_url"), risk=Risk.HIGH, does=RowEffect.MAKES, stamps=("secret",)
        ),
        Act.ENDPOINT_AMEND: PolicyRule(direct=_ADMIN, fields=("title", "base_url"), risk=Risk.HIGH, stamps=("secret",)),
        Act.ENDPOINT_ROTATE_KEY: PolicyRule(direct=_ADMIN, risk=Risk.HIGH, stamps=("secret",)),
        Act.ENDPOINT_TEST: PolicyRule(direct=_ADMIN, does=RowEffect.NOTHING),
        Act.ENDPOINT_REMOVE: PolicyRule(direct=_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.WEBHOOK_CREATE: PolicyRule(
            direct=_ADMIN, fields=("key", *WEBHOOK_FIELDS), risk=Risk.HIGH, does=RowEffect.MAKES, stamps=("secret",)
        ),
        Act.WEBHOOK_AMEND: PolicyRule(direct=_ADMIN, fields=WEBHOOK_FIELDS, risk=Risk.HIGH),
        Act.WEBHOOK_ROTATE_SECRET: PolicyRule(direct=_ADMIN, risk=Risk.HIGH, stamps=("secret", "former_secret")),
        Act.WEBHOOK_REPLAY: PolicyRule(direct=PEOPLE, does=RowEffect.NOTHING),
        Act.PRICE_SET: PolicyRule(
            direct=_ADMIN, fields=("model", "valid_from", *PRICE_FIELDS), risk=Risk.HIGH, does=RowEffect.MAKES
        ),
        Act.PRICE_WITHDRAW: PolicyRule(direct=_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.TOOL_SERVER_CREATE: PolicyRule(
            direct=_ADMIN,
            fields=("key", *_TOOL_SERVER_FIELDS),
            risk=Risk.HIGH,
            does=RowEffect.MAKES,
            stamps=("secret",),
        ),
        Act.TOOL_SERVER_AMEND: PolicyRule(
            direct=_ADMIN, fields=_TOOL_SERVER_FIELDS, risk=Risk.HIGH, stamps=("secret",)
        ),
        Act.TOOL_SERVER_ROTATE_HEADERS: PolicyRule(direct=_ADMIN, risk=Risk.HIGH, stamps=("secret",)),
        Act.TOOL_SERVER_REFRESH: PolicyRule(direct=PEOPLE, does=RowEffect.NOTHING),
        Act.AGENT_TOOL_ALLOW: PolicyRule(
            direct=PEOPLE,
            fields=("agent", "tool", "needs_approval"),
            risk=Risk.HIGH,
            does=RowEffect.MAKES,
            stamps=_DEFINITION_FIELDS,
        ),
        Act.AGENT_TOOL_AMEND: PolicyRule(
            direct=PEOPLE, fields=("needs_approval",), risk=Risk.HIGH, stamps=_DEFINITION_FIELDS
        ),
        Act.AGENT_TOOL_WITHDRAW: PolicyRule(direct=PEOPLE, does=RowEffect.REMOVES),
        Act.TOOL_APPROVAL_REQUEST: PolicyRule(direct=_SYSTEM, does=RowEffect.MAKES),
        Act.TOOL_APPROVAL_APPROVE: PolicyRule(
            direct=PEOPLE, fields=("status",), risk=Risk.HIGH, stamps=_DECIDER_STAMPS
        ),
        Act.TOOL_APPROVAL_REFUSE: PolicyRule(direct=PEOPLE, fields=("status", "reason"), stamps=_DECIDER_STAMPS),
        Act.TOOL_APPROVAL_CONSUME: PolicyRule(direct=_SYSTEM, fields=("status",)),
        Act.INVOKABLE_ALLOW: PolicyRule(
            direct=PEOPLE,
            fields=("agent", "callee", "role_hint", "budget_micro_usd"),
            risk=Risk.HIGH,
            does=RowEffect.MAKES,
        ),
        Act.INVOKABLE_AMEND: PolicyRule(direct=PEOPLE, fields=("role_hint", "budget_micro_usd"), risk=Risk.HIGH),
        Act.INVOKABLE_WITHDRAW: PolicyRule(direct=PEOPLE, does=RowEffect.REMOVES),
        Act.TOKEN_ISSUE: PolicyRule(direct=_ADMIN | _SYSTEM, does=RowEffect.MAKES),
        Act.TOKEN_REVOKE: PolicyRule(direct=_TENANT_MAINTAINERS, stamps=("revoked_at",)),
        Act.TOKEN_ROTATE: PolicyRule(direct=_ADMIN | _SYSTEM, stamps=("expires_at",)),
        Act.MEMBER_ADD: PolicyRule(direct=_ADMIN | _SYSTEM, does=RowEffect.MAKES),
        Act.MEMBER_INVITE: PolicyRule(
            direct=_TENANT_MAINTAINERS, fields=("user", "role"), settled=frozenset({"user"}), does=RowEffect.MAKES
        ),
        Act.MEMBER_ACCEPT: PolicyRule(direct=PEOPLE, stamps=("accepted_at",)),
        Act.MEMBER_DEACTIVATE: PolicyRule(direct=_TENANT_MAINTAINERS, fields=("is_active",)),
        Act.MEMBER_REACTIVATE: PolicyRule(direct=_TENANT_MAINTAINERS, fields=("is_active",)),
        Act.MEMBER_CHANGE_ROLE: PolicyRule(direct=_ADMIN | _SYSTEM, fields=("role",)),
        Act.MEMBER_RESET: PolicyRule(direct=_TENANT_MAINTAINERS, fields=("reset_at",)),
        Act.LIMIT_WRITE: PolicyRule(
            direct=_ADMIN, fields=_LIMIT_FIELDS, risk=Risk.HIGH, settled=_LIMIT_KEY_FIELDS, does=RowEffect.WRITES
        ),
        Act.LIMIT_LIFT: PolicyRule(direct=_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.ROLE_GRANT_WRITE: PolicyRule(
            direct=_ADMIN,
            fields=("role", "permissions"),
            risk=Risk.HIGH,
            settled=frozenset({"role"}),
            does=RowEffect.WRITES,
        ),
        Act.ROLE_GRANT_WITHDRAW: PolicyRule(direct=_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.GRANT_WRITE: PolicyRule(
            direct=_ADMIN,
            fields=("agent", "role", "permissions"),
            risk=Risk.HIGH,
            settled=_OWNER_FIELDS | {"role"},
            does=RowEffect.WRITES,
        ),
        Act.GRANT_WITHDRAW: PolicyRule(direct=_ADMIN, risk=Risk.HIGH, does=RowEffect.REMOVES),
        Act.GRANT_SYNC: PolicyRule(direct=_SYSTEM, does=RowEffect.NOTHING),
        Act.KILL_SWITCH_ACTIVATE: PolicyRule(
            direct=_SWITCHING, fields=("kind", "agent", "channel", "ends_sessions", "reason"), does=RowEffect.MAKES
        ),
        Act.KILL_SWITCH_DEACTIVATE: PolicyRule(
            direct=_SWITCHING, fields=("status",), stamps=("deactivated_by", "deactivated_at")
        ),
        Act.CHECKPOINT_CREATE: PolicyRule(
            direct=PEOPLE | _SYSTEM, fields=("name", "agent", "moment", "reason"), does=RowEffect.MAKES
        ),
    }
)


def codename(act: Act, field: str = "") -> str:
    """Return the name of the guardian permission for an act, or for one governed field of the act."""
    name = act.value.replace(".", "_")
    return f"{name}__{field}" if field else name


def codenames(act: Act) -> tuple[str, ...]:
    """Return the names of the act's permission and of the permissions for its governed fields."""
    return (codename(act), *(codename(act, field) for field in POLICY[act].fields))


def permissions() -> list[tuple[str, Any]]:
    """Return every permission of the policy, in the form of a model's Meta (Any: the stubs also require lazy strings)."""
    return [(name, f"May {name.replace('__', ', field ').replace('_', ' ')}") for act in Act for name in codenames(act)]


@cache
def default_grants(role: Role) -> frozenset[str]:
    """Return the permissions that a role has by default in a tenant."""
    return frozenset(name for act, rule in POLICY.items() if role in rule.allowed for name in codenames(act))
