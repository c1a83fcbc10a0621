"""Titles of rows and formats of moments on pages."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Model
from django.utils import timezone
from django.utils.formats import date_format

from apps.console.framework.actor_names import actor_label, label_of_agent
from apps.desk.models import Draft, Escalation, SendRule
from apps.desk.reports.models import Report
from apps.governance.models import Proposal
from apps.learning.contradictions.models import Contradiction
from apps.learning.lessons.models import EditCluster, Example, LearningVersion
from apps.memory.models import AgentMemory, MemoryBlock, MemoryTier
from apps.notebook.models import Note
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.schedules.models import Schedule
from apps.tenants.models import InvokableAgent, Membership, TenantSettings
from apps.tenants.models.grants import AgentGrants, MemberLimit
from apps.tools.models import AgentTool, ToolApproval

# Rows that belong to an agent are named by its key, not by their own number.
AGENT_ROW_NOUNS = {
    Persona: "Persona",
    PersonaOverlay: "Overlay",
    IdentityCard: "Identity card",
    AgentMemory: "Memory",
}
# Proposals for these rows, or for all agents, are named by their scope.
PROPOSAL_SCOPES = {
    Persona._meta.label_lower: "for agent {agent}",
    AgentMemory._meta.label_lower: "of agent {agent}",
    TenantSettings._meta.label_lower: "for every agent",
}

# Rows whose own name would consist of ids; pages know the names of the people.
TITLES_BY_PERSON: Mapping[type[Model], Callable[[Any], str]] = {
    Membership: lambda row: str(row.people[actor_label(row.user_id)]),
    MemberLimit: lambda row: f"{row.people[actor_label(row.member.user_id)]}: {row.limited_act}",
    AgentGrants: lambda row: f"{row.get_role_display()} on {row.people[label_of_agent(row.agent_id)]}",
}
TITLES_BY_AGENT: Mapping[type[Model], Callable[[Any], str]] = {
    InvokableAgent: lambda row: f"Agent {row.agent} may ask {row.callee}",
    MemoryBlock: lambda row: f"Block {row.label} of agent {row.agent}",
    MemoryTier: lambda row: f"{row.get_tier_display()}, agent {row.agent}",
    Draft: lambda row: f"Draft of agent {row.agent}",
    Escalation: lambda row: f"{row.get_reason_display()}: agent {row.agent}",
    Report: lambda row: f"{row.get_reason_code_display()}: reported of agent {row.agent}",
    Schedule: lambda row: f"Schedule {row} of agent {row.agent}",
    Contradiction: lambda row: f"{row.get_kind_display()}: agent {row.agent}",
    Note: lambda row: f"{row.get_kind_display()} of agent {row.agent}",
    AgentTool: lambda row: f"Agent {row.agent} may call {row}",
    ToolApproval: lambda row: f"{row.tool_name}, asked for by agent {row.agent}",
    EditCluster: lambda row: f"{row}: agent {row.agent}",
    Example: lambda row: f"{row} of agent {row.agent}",
    StandingRule: lambda row: row.first_words,
    LearningVersion: lambda row: f"{row} of what agent {row.agent} learned",
    SendRule: lambda row: f"{row} for agent {row.agent}",
}


def title_of(row: Any) -> str:
    """Return the title of a row in the words people use for it."""
    if isinstance(row, Proposal) and row.target_type in PROPOSAL_SCOPES:
        return f"{row.get_kind_display()} {PROPOSAL_SCOPES[row.target_type].format(agent=row.agent)}"
    named = TITLES_BY_AGENT.get(type(row)) or (TITLES_BY_PERSON.get(type(row)) if hasattr(row, "people") else None)
    if named is not None:
        return named(row)
    kind = AGENT_ROW_NOUNS.get(type(row))
    if kind is None or row.agent_id is None:
        return str(row)
    line = getattr(row, "line_key", "")
    return f"{kind} of agent {row.agent} on line {line}" if line else f"{kind} of agent {row.agent}"


def format_moment(at: datetime | None) -> str:
    """Format a moment as every page writes it."""
    return date_format(timezone.localtime(at), "j M Y H:i") if at else "never"


def grant_label(name: str) -> str:
    """Return a grant as people read it, such as "persona amend: avoid"."""
    act, _, field = name.replace("__", ":").partition(":")
    return f"{act}: {field}".replace("_", " ") if field else act.replace("_", " ")


EXCERPT_CHARACTERS = 120


def excerpt(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT_CHARACTERS else f"{line[:EXCERPT_CHARACTERS]}…"
