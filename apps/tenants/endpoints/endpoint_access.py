"""Permission to test an endpoint."""

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.governance.refusal_log import recording_refusals
from apps.tenants.models.endpoints import Endpoint


def endpoint_to_test(endpoint_id: int, *, actor: Actor) -> Endpoint:
    """Return the endpoint to test. Raises a refusal unless the actor may test it. A test costs the tenant a few tokens."""
    authorize(actor, Act.ENDPOINT_TEST, actor.tenant_id)
    with recording_refusals(actor, Act.ENDPOINT_TEST), acting_as(actor):
        endpoint = Endpoint.objects.visible_to(actor).filter(pk=endpoint_id).first()
        if endpoint is None:
            raise NotVisible("There is no such endpoint.")
    return endpoint
