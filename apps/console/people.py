"""Names for the labels rows carry: `operator:7` is a person, `agent:support` an agent."""

from django.db.models import Value

from apps.governance.actors import Actor
from apps.tenants.models import Membership
from apps.tenants.visits import StaffVisit

STAFF = " (platform staff)"


class People(dict[str, str]):
    """The name behind a label; a label nobody is known by reads as itself."""

    def __missing__(self, label: str) -> str:
        kind, _, key = label.partition(":")
        if kind == "agent" and key:
            return f"agent {key}"
        return f"former member {key}" if kind == "operator" and key else label


def label_of(user_id: int) -> str:
    """The label a person's acts carry."""
    return f"operator:{user_id}"


def people_of_tenant(actor: Actor) -> People:
    """Every member of the actor's tenant, and whoever of the platform's staff looked in, by the label their acts carry."""
    members = Membership.objects.visible_to(actor).order_by().values_list("user_id", "user__username", Value(""))
    staff = StaffVisit.objects.visible_to(actor).order_by().values_list("user_id", "user__username", Value(STAFF))
    return People(
        {
            f"staff:{user_id}" if kind else label_of(user_id): f"{username}{kind}"
            for user_id, username, kind in members.union(staff)
        }
    )
