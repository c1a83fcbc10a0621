"""What rows and moments are called on pages."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format

from apps.governance.models import Proposal
from apps.memory.models import AgentMemory, MemoryBlock
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.tenants.models import InvokableAgent

# Rows that hang on an agent are known by its key, not by the number their own name has.
OF_AN_AGENT = {
    Persona: "Persona",
    PersonaOverlay: "Overlay",
    IdentityCard: "Identity card",
    StandingRule: "Rule",
    AgentMemory: "Memory",
}


def title_of(row: Any) -> str:
    """A row by the words people use for it."""
    if isinstance(row, Proposal) and row.target_type == Persona._meta.label_lower:
        return f"{row.get_kind_display()} for agent {row.agent}"
    if isinstance(row, InvokableAgent):
        return f"Agent {row.agent} may ask {row.callee}"
    if isinstance(row, MemoryBlock):
        return f"Block {row.label} of agent {row.agent}"
    kind = OF_AN_AGENT.get(type(row))
    if kind is None or row.agent_id is None:
        return str(row)
    line = getattr(row, "line_key", "")
    return f"{kind} of agent {row.agent} on line {line}" if line else f"{kind} of agent {row.agent}"


def moment(at: datetime | None) -> str:
    """A time as every page writes it."""
    return date_format(timezone.localtime(at), "j M Y H:i") if at else "never"
