"""Actors: the roles, and the frozen `Actor` value. `tenants.authentication` builds actors, and every action takes one."""

from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from typing import Final


class Role(StrEnum):
    """The kind of an actor. A grant permits an act only to the roles that the policy lists for the act."""

    OPERATOR = "operator"
    ADMIN = "admin"
    AGENT = "agent"
    SYSTEM = "system"
    STAFF = "staff"


PEOPLE = frozenset({Role.OPERATOR, Role.ADMIN})


class Anywhere(Enum):
    """The scope of a check that concerns no particular row: whether the act is permitted for any row at all."""

    AT_ALL = auto()


ANYWHERE: Final = Anywhere.AT_ALL
# The id of the agent that a row belongs to, or None for a row that belongs to the whole tenant.
AgentScope = int | None | Anywhere


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The tenant's rate limits in requests per minute: one for each agent or member, and one for all of them together.

    None means no limit.
    """

    per_asker: int | None = None
    per_tenant: int | None = None


@dataclass(frozen=True, slots=True)
class Actor:
    """An operator, agent or worker of one tenant, with its resolved grants.

    `grants` apply to all rows, except to the rows of agents that `by_agent` lists with grants of their own. `limits` confines a
    member's grant to the rows of the named agents; a limit never adds rights. `customer_key` names the customer that a turn
    serves, who is the only customer that the agent sees (R006, R007). It is empty if the conversation names no customer, and None
    outside a turn. The profile of a customer is hidden while the customer's identity is not proven. `member_id` is the user id of
    the member whom an assistant answers in a turn; the assistant sees only that member's talks (R129). `pace` holds the tenant's
    rate limits and is not part of the actor's identity. `via_agent_id` is set when an assistant looks things up for a person: it
    reads what that person may read and writes nothing.
    """

    tenant_id: int
    role: Role
    grants: frozenset[str]
    label: str
    user_id: int | None = None
    agent_id: int | None = None
    customer_key: str | None = None
    customer_is_proven: bool = True
    by_agent: tuple[tuple[int, frozenset[str]], ...] = ()
    limits: tuple[tuple[str, frozenset[int]], ...] = ()
    member_id: int | None = None
    via_agent_id: int | None = None
    pace: RateLimits = field(default=RateLimits(), compare=False)

    @property
    def talks_as(self) -> int | None:
        """The id of the user whose talks with assistants this actor sees.

        For a person it is their own id; for an agent, the member whom it answers in this turn.
        """
        return self.user_id if self.is_person else self.member_id

    @property
    def is_person(self) -> bool:
        """Whether the actor is a person. Only people review; agents and workers never do."""
        return self.role in PEOPLE

    def holds(self, name: str, place: AgentScope) -> bool:
        """Whether the actor holds the grant for the rows of an agent.

        None means rows of the whole tenant, and ANYWHERE means any rows at all.
        """
        if isinstance(place, Anywhere):
            places = {None, *(agent_id for agent_id, _ in self.by_agent), *(self._limited_agent_ids(name) or ())}
            return any(self.holds(name, each) for each in places)
        granted = next((names for agent_id, names in self.by_agent if agent_id == place), self.grants)
        confined = self._limited_agent_ids(name)
        return name in granted and (confined is None or place in confined)

    def _limited_agent_ids(self, name: str) -> frozenset[int] | None:
        return next((agent_ids for limited, agent_ids in self.limits if limited == name), None)

    def serving(self, customer_key: str, *, is_proven: bool = True) -> "Actor":
        """Return the same agent, acting inside a turn with one customer."""
        return replace(self, customer_key=customer_key, customer_is_proven=is_proven)

    def for_member(self, member_id: int) -> "Actor":
        """Return the same agent, answering a member's talk without a customer. Change records name the agent and the member."""
        label = f"{self.label} for {Role.OPERATOR}:{member_id}"
        return replace(self, label=label, customer_key="", customer_is_proven=False, member_id=member_id)

    def via(self, agent_id: int, agent_label: str) -> "Actor":
        """Return the same person, acting through an assistant that reads for them."""
        return replace(self, label=f"{self.label} via {agent_label}", via_agent_id=agent_id)
