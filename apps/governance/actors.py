"""Who acts: built by `tenants.identity`, carried by value, never guessed."""

from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from typing import Final


class Role(StrEnum):
    """What kind of actor this is. The role floor in the policy cannot be lifted by a grant."""

    OPERATOR = "operator"
    ADMIN = "admin"
    AGENT = "agent"
    SYSTEM = "system"
    STAFF = "staff"


PEOPLE = frozenset({Role.OPERATOR, Role.ADMIN})


class Anywhere(Enum):
    """Asked of no particular row: whether there is any place at all."""

    AT_ALL = auto()


ANYWHERE: Final = Anywhere.AT_ALL
# The agent a row belongs to, or None for a row of the whole tenant.
AgentScope = int | None | Anywhere


@dataclass(frozen=True, slots=True)
class RateLimits:
    """How many requests a minute the tenant takes: of each agent or member, and of all together; None where it says nothing."""

    per_asker: int | None = None
    per_tenant: int | None = None


@dataclass(frozen=True, slots=True)
class Actor:
    """One tenant's operator, agent or worker, with the grants resolved for it.

    `grants` hold wherever nothing else is said. `by_agent` replaces them for the rows of one agent; `limits` names the agents
    to whose rows a member is confined with a grant, and takes away without ever giving.
    `customer_key` is set in a turn: the end user being served, beyond whom the agent sees nobody (R006, R007); empty where the
    conversation names none. Outside a turn it is None. Of a customer who is named but not proven no profile is seen.
    `member_id` is the person, by their user, whose talk an assistant answers in a turn: of talks it sees theirs alone (R129).
    `pace` is what the tenant says of requests, and no part of who this is.
    `via_agent_id` says that a person's assistant looks things up in their place: it reads what they may and writes nothing.
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
        """Whose talks with assistants are seen: a person's own, and in a turn those of the member it answers."""
        return self.user_id if self.is_person else self.member_id

    @property
    def is_person(self) -> bool:
        """People review; agents and workers never do."""
        return self.role in PEOPLE

    def holds(self, name: str, place: AgentScope) -> bool:
        """Whether the grant reaches the rows of this agent, of the whole tenant (None), or any at all (ANYWHERE)."""
        if isinstance(place, Anywhere):
            places = {None, *(agent_id for agent_id, _ in self.by_agent), *(self._limited_agent_ids(name) or ())}
            return any(self.holds(name, each) for each in places)
        granted = next((names for agent_id, names in self.by_agent if agent_id == place), self.grants)
        confined = self._limited_agent_ids(name)
        return name in granted and (confined is None or place in confined)

    def _limited_agent_ids(self, name: str) -> frozenset[int] | None:
        return next((agent_ids for limited, agent_ids in self.limits if limited == name), None)

    def serving(self, customer_key: str, *, is_proven: bool = True) -> "Actor":
        """The same actor inside a turn with one customer."""
        return replace(self, customer_key=customer_key, customer_is_proven=is_proven)

    def for_member(self, member_id: int) -> "Actor":
        """The same agent inside a turn of a member's talk, where there is no customer; what it writes names both."""
        label = f"{self.label} for {Role.OPERATOR}:{member_id}"
        return replace(self, label=label, customer_key="", customer_is_proven=False, member_id=member_id)

    def via(self, agent_id: int, agent_label: str) -> "Actor":
        """The same person through an assistant of theirs, which reads for them."""
        return replace(self, label=f"{self.label} via {agent_label}", via_agent_id=agent_id)
