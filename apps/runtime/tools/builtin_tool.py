"""The definition of a built-in tool: its form for the model, its function, and the sessions that offer it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Self

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.llm.model_backend import JsonObject, ToolDefinition
from apps.runtime.limits.turn_budgets import TurnMoney, detect_loop
from apps.tenants.models import Agent

# Parameters that are lists in every tool.
LIST_PARAMETERS: Final = ("columns", "rows", "labels", "series")
# Channels that cannot show tables or charts.
TEXT_ONLY_CHANNELS: Final = frozenset({"sms", "voice"})


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """The facts about a new session that decide which tools it offers beyond those of every session."""

    off_the_record: bool = False
    may_propose_schedules: bool = False
    may_ask_agents: bool = False
    is_asked: bool = False
    may_show_tables_and_charts: bool = False
    may_edit_memory: bool = False
    may_edit_skills: bool = False
    has_notebook: bool = False
    # The permissions of the member in a talk; None if a customer writes.
    member_rights: frozenset[Act] | None = None

    @classmethod
    def of(
        cls,
        agent: Agent,
        conversation: Conversation,
        *,
        knows_agents: bool,
        member_rights: frozenset[Act] | None = None,
    ) -> Self:
        """The facts about a conversation with this agent."""
        may_ask = knows_agents and detect_loop(conversation.hops + 1, 0, 0) is None
        shows = agent.may_show_tables_and_charts and conversation.channel not in TEXT_ONLY_CHANNELS
        return cls(
            off_the_record=conversation.tells_off_the_record,
            may_propose_schedules=agent.may_propose_schedules,
            may_ask_agents=may_ask,
            is_asked=conversation.is_asked,
            may_show_tables_and_charts=shows,
            may_edit_memory=agent.may_edit_memory,
            may_edit_skills=agent.may_edit_skills,
            has_notebook=agent.has_notebook,
            member_rights=member_rights,
        )


DEFAULT_OFFER: Final = ToolOffer()


def _is_always_offered(offer: ToolOffer) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of a tool call: the actor, the agent, the conversation and the turn."""

    actor: Actor
    agent_id: int
    conversation: Conversation
    snapshot_at: datetime
    turn_id: int
    # Keys of current rows that the model has read in this turn, newer than its frozen prompt.
    shown: set[str] = field(default_factory=set)
    money: TurnMoney = field(default_factory=TurnMoney)


@dataclass(frozen=True, slots=True)
class BuiltinTool:
    """A built-in tool: its definition for the model, and its function."""

    name: str
    description: str
    parameters: dict[str, str]
    required: tuple[str, ...]
    run: Callable[[ToolContext, JsonObject], str]
    # Whether the tool stores something beyond the conversation; such tools are not offered off the record (R178).
    keeps: bool = True
    # Whether the stored content counts as learned, so that the tool is refused while learning is frozen.
    learns: bool = True
    # Whether it writes nothing. A tool that writes does so in one commit with its step.
    reads: bool = False
    # Decides on the sessions that offer the tool.
    offered: Callable[[ToolOffer], bool] = _is_always_offered
    # Parameters that need a whole JSON schema instead of a type.
    shapes: Mapping[str, JsonObject] = field(default_factory=dict)

    @property
    def definition(self) -> ToolDefinition:
        """The tool in the Messages API's form."""
        kinds = {
            "skill_id": "integer",
            "version": "integer",
            "conversation_id": "integer",
            "note_id": "integer",
            "arguments": "object",
            **dict.fromkeys(LIST_PARAMETERS, "array"),
        }
        properties: JsonObject = {
            name: self.shapes.get(name) or {"type": kinds.get(name, "string"), "description": description}
            for name, description in self.parameters.items()
        }
        return ToolDefinition(
            self.name,
            self.description,
            {
                "type": "object",
                "properties": properties,
                "required": list(self.required),
                "additionalProperties": False,
            },
        )


def whole_number(value: object) -> int:
    """The argument as an int. JSON Schema accepts 12.0 as an integer, the database does not."""
    return int(str(value).removesuffix(".0"))
