"""Names for the actor labels that rows carry: `operator:7` is a person, `agent:support` an agent."""

import re
from operator import itemgetter

from django.db.models import Value

from apps.governance.actors import Actor
from apps.tenants.models import Agent, Membership
from apps.tenants.models.tenant import StaffAccess

STAFF_SUFFIX = " (platform staff)"
AGENT_KIND = "agent"
AGENT_LABEL_PREFIX = "agent#"


class ActorNames(dict[str, str]):
    """Names by actor label; a label without a name is shown as it is."""

    def agents(self) -> list[tuple[str, str]]:
        """Return the tenant's agents as pairs of number and key, in the order of their keys."""
        numbers = (label.removeprefix(AGENT_LABEL_PREFIX) for label in self if label.startswith(AGENT_LABEL_PREFIX))
        named = ((number, self[f"{AGENT_LABEL_PREFIX}{number}"].removeprefix("agent ")) for number in numbers)
        return sorted(named, key=itemgetter(1))

    def __missing__(self, label: str) -> str:
        if label.startswith(AGENT_LABEL_PREFIX):
            return f"agent {label.removeprefix(AGENT_LABEL_PREFIX)}"
        kind, _, key = label.partition(":")
        if kind == "agent" and key:
            return f"agent {key}"
        return f"former member {key}" if kind == "operator" and key else label


def actor_label(user_id: int) -> str:
    """Return the actor label of a person."""
    return f"operator:{user_id}"


def label_of_agent(agent_id: int) -> str:
    """Return the label under which `ActorNames` holds the name of an agent."""
    return f"{AGENT_LABEL_PREFIX}{agent_id}"


def people_of_tenant(actor: Actor) -> ActorNames:
    """Return names by actor label: the members of the actor's tenant, and the platform staff who visited it.

    It contains the agents too, for records that name them by number.
    """
    members = Membership.objects.visible_to(actor).order_by().values_list("user_id", "user__username", Value(""))
    staff = (
        StaffAccess.objects.visible_to(actor).order_by().values_list("user_id", "user__username", Value(STAFF_SUFFIX))
    )
    agents = Agent.objects.visible_to(actor).order_by().values_list("pk", "key", Value(AGENT_KIND))
    return ActorNames(
        {
            _row_label(row_id, kind): f"agent {name}" if kind == AGENT_KIND else f"{name}{kind}"
            for row_id, name, kind in members.union(staff, agents)
        }
    )


def _row_label(row_id: int, kind: str) -> str:
    if kind == AGENT_KIND:
        return label_of_agent(row_id)
    return f"staff:{row_id}" if kind else actor_label(row_id)


AGENT_NUMBER = re.compile(r"\bagent (\d{1,18})\b")


def agents_named(label: str, people: ActorNames) -> str:
    """Return the name of a row in a record, with agents by name instead of by number."""
    return AGENT_NUMBER.sub(lambda found: people[label_of_agent(int(found[1]))], label)
