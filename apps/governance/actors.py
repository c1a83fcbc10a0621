"""Who acts: built by `tenants.identity`, carried by value, never guessed."""

from dataclasses import dataclass, replace
from enum import StrEnum


class Role(StrEnum):
    """What kind of actor this is. The role floor in the policy cannot be lifted by a grant."""

    OPERATOR = "operator"
    ADMIN = "admin"
    AGENT = "agent"
    SYSTEM = "system"


PEOPLE = frozenset({Role.OPERATOR, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Actor:
    """One tenant's operator, agent or worker, with the grants resolved for it.

    `customer_key` is set in a turn: the end user being served, beyond whom the agent sees nobody (R006, R007); empty where the
    conversation names none. Outside a turn it is None.
    """

    tenant_id: int
    role: Role
    grants: frozenset[str]
    label: str
    user_id: int | None = None
    agent_id: int | None = None
    customer_key: str | None = None

    @property
    def is_person(self) -> bool:
        """People review; agents and workers never do."""
        return self.role in PEOPLE

    def serving(self, customer_key: str) -> "Actor":
        """The same actor inside a turn with one customer."""
        return replace(self, customer_key=customer_key)
