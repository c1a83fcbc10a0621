"""Applies a proposed change to the source rows of a prompt, in memory."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from apps.governance.models import Governed, Taint
from apps.governance.proposals.approval_rules import ProposedOutcome
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.personas.models import Persona, PersonaOverlay, StandingRule
from apps.runtime.prompt_snapshot.source_rows import SourceRows
from apps.skills.models import Skill
from apps.tenants.models import Agent, TenantSettings

# The field of `SourceRows` for each model.
FIELD_BY_MODEL: Final[Mapping[type[Governed], str]] = MappingProxyType(
    {
        Persona: "personas",
        PersonaOverlay: "overlays",
        StandingRule: "rules",
        Skill: "skills",
        AgentMemory: "memories",
        MemoryBlock: "blocks",
        CustomerProfile: "profiles",
    }
)
# Above the id of every existing rule, so that a proposed rule sorts last.
FIRST_NEW_RULE_ID: Final = 1 << 60


def with_change(rows: SourceRows, would: ProposedOutcome) -> SourceRows:
    """The rows with the proposed change. A row that would not appear in the prompt, such as an unpinned block, is not added."""
    row = would.row
    if isinstance(row, Agent | TenantSettings):
        return replace(rows, rules=(*rows.rules, *_new_rules(row, would.values["rules"])))
    place = FIELD_BY_MODEL[type(row)]
    stand: tuple[Governed, ...] = getattr(rows, place)
    if isinstance(row, Skill) and row.pk not in {each.pk for each in stand} and row.status == Skill.Status.DRAFT:
        stand = (*stand, row)
    others = [each for each in stand if each.pk != row.pk]
    if would.goes or len(others) == len(stand):
        return _replace_rows(rows, place, others)
    return _replace_rows(rows, place, [changed_copy(each, would) if each.pk == row.pk else each for each in stand])


def _replace_rows(rows: SourceRows, place: str, stand: Sequence[Governed]) -> SourceRows:
    changed: dict[str, Any] = {place: tuple(stand)}
    return replace(rows, **changed)


def _new_rules(holder: Agent | TenantSettings, lines: Sequence[str]) -> tuple[StandingRule, ...]:
    of_agent = holder.pk if isinstance(holder, Agent) else None
    return tuple(
        StandingRule(pk=FIRST_NEW_RULE_ID + number, tenant_id=holder.tenant_id, agent_id=of_agent, text=line)
        for number, line in enumerate(lines)
    )


def changed_copy(row: Governed, would: ProposedOutcome) -> Governed:
    """A copy of the row with the proposed values, and with an operator's taint if the approval would make a person its signer."""
    copied = copy.copy(row)
    for name, value in would.values.items():
        setattr(copied, name, value)
    if would.is_signed:
        copied.taint = Taint.OPERATOR
    return copied
