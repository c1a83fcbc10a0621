"""Who may do what: one table, printable for an auditor. Grants narrow it and never widen it.

A rule's `direct` roles apply the act at once; `proposes` roles may bring the same content as a Proposal. `fields` are the
governed fields the act may write; each is a guardian permission of its own beside the act's (R015-R024). Those that are
`settled` it writes only when it makes the row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from apps.governance.actors import PEOPLE, Role


class Act(StrEnum):
    """Every governed act, named `noun.verb`."""

    PERSONA_CREATE = "persona.create"
    PERSONA_AMEND = "persona.amend"
    PERSONA_ARCHIVE = "persona.archive"
    PERSONA_ACTIVATE = "persona.activate"
    PERSONA_PROPOSE = "persona.propose"
    OVERLAY_WRITE = "overlay.write"
    IDENTITY_CARD_WRITE = "identity_card.write"
    RULE_ADD = "rule.add"
    RULE_AMEND = "rule.amend"
    RULE_RETIRE = "rule.retire"
    RULE_RESTORE = "rule.restore"
    SKILL_DRAFT = "skill.draft"
    SKILL_AMEND = "skill.amend"
    SKILL_APPROVE = "skill.approve"
    SKILL_DEPRECATE = "skill.deprecate"
    SKILL_REVISE = "skill.revise"
    SKILL_PROPOSE = "skill.propose"
    SKILL_DISCARD = "skill.discard"
    SKILL_FETCH = "skill.fetch"
    SKILL_ATTACH = "skill.attach"
    SKILL_DETACH = "skill.detach"
    SKILL_ARRANGE = "skill.arrange"
    MEMORY_AMEND = "memory.amend"
    MEMORY_APPROVE = "memory.approve"
    BLOCK_WRITE = "block.write"
    BLOCK_AMEND = "block.amend"
    BLOCK_APPROVE = "block.approve"
    PROFILE_AMEND = "profile.amend"
    CONVERSATION_OPEN = "conversation.open"
    CONVERSATION_IMPORT = "conversation.import"
    CONVERSATION_RESOLVE = "conversation.resolve"
    CONVERSATION_ABANDON = "conversation.abandon"
    MESSAGE_RECEIVE = "message.receive"
    PROPOSAL_REJECT = "proposal.reject"
    PROPOSAL_APPLY = "proposal.apply"
    TENANT_CREATE = "tenant.create"
    SETTINGS_AMEND = "settings.amend"
    AGENT_CREATE = "agent.create"
    AGENT_AMEND = "agent.amend"
    INVOKABLE_ALLOW = "invokable.allow"
    INVOKABLE_AMEND = "invokable.amend"
    INVOKABLE_WITHDRAW = "invokable.withdraw"
    TOKEN_ISSUE = "token.issue"
    TOKEN_REVOKE = "token.revoke"
    TOKEN_ROTATE = "token.rotate"
    MEMBER_ADD = "member.add"
    GRANT_SYNC = "grant.sync"
    SWITCH_THROW = "switch.throw"
    SWITCH_LIFT = "switch.lift"
    CHECKPOINT_MAKE = "checkpoint.make"


class Risk(StrEnum):
    """What a mistaken yes would cost."""

    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the policy."""

    direct: frozenset[Role]
    fields: tuple[str, ...] = ()
    proposes: frozenset[Role] = frozenset()
    risk: Risk = Risk.LOW
    settled: frozenset[str] = frozenset()

    def writes(self, *, adding: bool) -> frozenset[str]:
        """The governed fields of a row that the act makes, or of one that stands already."""
        return frozenset(self.fields) if adding else frozenset(self.fields) - self.settled

    @property
    def allowed(self) -> frozenset[Role]:
        """Every role that may come to the door with this act at all."""
        return self.direct | self.proposes


_ALL = frozenset(Role)
_ADMIN = frozenset({Role.ADMIN})
_SYSTEM = frozenset({Role.SYSTEM})
_AGENT = frozenset({Role.AGENT})
_OWNER = frozenset({"agent"})
_PERSONA_TEXT = ("identity", "style", "avoid", "defaults", "goals")
_CARD_TEXT = ("business_name", "assigned_name", "assigned_title", "hours", "timezone", "signature", "locale")
_BLOCK = ("agent", "label", "body", "read_only", "pinned")
_AGENT_RUNS = (
    *("title", "model", "contract", "learns", "session_idle_seconds", "max_session_age_seconds", "max_steps"),
    *("flavour", "context_tier", "skill_index", "tells_time"),
)
_SKILL_TEXT = ("name", "title", "description", "category", "body")

POLICY: Mapping[Act, Rule] = MappingProxyType(
    {
        Act.PERSONA_CREATE: Rule(PEOPLE | _SYSTEM, ("agent", *_PERSONA_TEXT), risk=Risk.HIGH),
        Act.PERSONA_AMEND: Rule(PEOPLE, _PERSONA_TEXT, risk=Risk.HIGH),
        Act.PERSONA_ARCHIVE: Rule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.PERSONA_ACTIVATE: Rule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.PERSONA_PROPOSE: Rule(PEOPLE, ("proposed_patch",), _AGENT),
        Act.OVERLAY_WRITE: Rule(PEOPLE, ("agent", "text"), risk=Risk.HIGH, settled=_OWNER),
        Act.IDENTITY_CARD_WRITE: Rule(
            PEOPLE, ("agent", "line_key", *_CARD_TEXT), risk=Risk.HIGH, settled=_OWNER | {"line_key"}
        ),
        Act.RULE_ADD: Rule(PEOPLE, ("agent", "text", "position"), risk=Risk.HIGH),
        Act.RULE_AMEND: Rule(PEOPLE, ("text", "position"), risk=Risk.HIGH),
        Act.RULE_RETIRE: Rule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.RULE_RESTORE: Rule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.SKILL_DRAFT: Rule(_ALL, ("agent", *_SKILL_TEXT)),
        Act.SKILL_AMEND: Rule(PEOPLE | _AGENT, _SKILL_TEXT),
        Act.SKILL_APPROVE: Rule(PEOPLE, ("status",), risk=Risk.HIGH),
        Act.SKILL_DEPRECATE: Rule(PEOPLE, ("status",)),
        Act.SKILL_REVISE: Rule(PEOPLE, _SKILL_TEXT, risk=Risk.HIGH),
        Act.SKILL_PROPOSE: Rule(PEOPLE, _SKILL_TEXT, _AGENT),
        Act.SKILL_DISCARD: Rule(PEOPLE | _AGENT),
        Act.SKILL_FETCH: Rule(_AGENT),
        Act.SKILL_ATTACH: Rule(PEOPLE | _AGENT, ("attachments",)),
        Act.SKILL_DETACH: Rule(PEOPLE | _AGENT, ("attachments",)),
        Act.SKILL_ARRANGE: Rule(PEOPLE | _AGENT, ("attachments",)),
        Act.MEMORY_AMEND: Rule(_ALL, ("agent", "body"), settled=_OWNER),
        Act.MEMORY_APPROVE: Rule(PEOPLE, risk=Risk.HIGH),
        Act.BLOCK_WRITE: Rule(PEOPLE, _BLOCK, settled=_OWNER),
        Act.BLOCK_AMEND: Rule(PEOPLE | _AGENT, ("body",)),
        Act.BLOCK_APPROVE: Rule(PEOPLE, risk=Risk.HIGH),
        Act.PROFILE_AMEND: Rule(_ALL, ("end_user_key", "preferences", "notes"), settled=frozenset({"end_user_key"})),
        Act.CONVERSATION_OPEN: Rule(_ALL),
        Act.CONVERSATION_IMPORT: Rule(PEOPLE | _SYSTEM),
        Act.CONVERSATION_RESOLVE: Rule(_ALL, ("status", "outcome")),
        Act.CONVERSATION_ABANDON: Rule(_ALL, ("status",)),
        Act.MESSAGE_RECEIVE: Rule(_ALL),
        Act.PROPOSAL_REJECT: Rule(PEOPLE),
        Act.PROPOSAL_APPLY: Rule(PEOPLE, risk=Risk.HIGH),
        Act.TENANT_CREATE: Rule(_SYSTEM),
        Act.SETTINGS_AMEND: Rule(_ADMIN, ("timezone", "ai_disclosure", "slot_order"), risk=Risk.HIGH),
        Act.AGENT_CREATE: Rule(_ADMIN | _SYSTEM),
        Act.AGENT_AMEND: Rule(_ADMIN, _AGENT_RUNS),
        Act.INVOKABLE_ALLOW: Rule(PEOPLE, ("agent", "callee", "role_hint"), risk=Risk.HIGH),
        Act.INVOKABLE_AMEND: Rule(PEOPLE, ("role_hint",), risk=Risk.HIGH),
        Act.INVOKABLE_WITHDRAW: Rule(PEOPLE),
        Act.TOKEN_ISSUE: Rule(_ADMIN | _SYSTEM),
        Act.TOKEN_REVOKE: Rule(_ADMIN | _SYSTEM),
        Act.TOKEN_ROTATE: Rule(_ADMIN | _SYSTEM),
        Act.MEMBER_ADD: Rule(_ADMIN | _SYSTEM),
        Act.GRANT_SYNC: Rule(_SYSTEM),
        Act.SWITCH_THROW: Rule(PEOPLE | _SYSTEM, ("kind", "agent", "channel", "reason")),
        Act.SWITCH_LIFT: Rule(PEOPLE | _SYSTEM, ("status",)),
        Act.CHECKPOINT_MAKE: Rule(PEOPLE | _SYSTEM, ("name", "agent", "moment", "why")),
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


def default_grants(role: Role) -> frozenset[str]:
    """What a role holds where no tenant said otherwise."""
    return frozenset(name for act, rule in POLICY.items() if role in rule.allowed for name in codenames(act))
