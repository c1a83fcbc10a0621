"""An endpoint of a tenant's own with its key opened, for the use at hand alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import NotAuthorised
from apps.tenants.models.endpoints import Endpoint
from apps.tenants.sealed_secrets import CannotOpen, unseal


@dataclass(frozen=True, slots=True)
class OpenedEndpoint:
    """An endpoint of a tenant's own. Its key is in nothing that is printed or logged."""

    endpoint_id: int
    base_url: str
    api_key: str = field(repr=False)


def decrypt_endpoint(endpoint: Mapping[str, Any], tenant_id: int) -> OpenedEndpoint:  # Any: a JSON object
    """An endpoint with its key open."""
    sealed = endpoint["ciphertext"]
    try:
        api_key = unseal(sealed, tenant_id) if sealed else ""
    except CannotOpen as refusal:
        raise NotAuthorised(str(refusal)) from refusal
    return OpenedEndpoint(int(endpoint["id"]), str(endpoint["base_url"]), api_key)


def read_decrypted_endpoint(endpoint_id: int, *, system: Actor) -> OpenedEndpoint:
    """As it stands. People never read what is sealed; a worker does."""
    with acting_as(system):
        found = Endpoint.objects.visible_to(system).filter(pk=endpoint_id)
        values = found.values("id", "base_url", "secret__ciphertext").get()
    return decrypt_endpoint({**values, "ciphertext": values["secret__ciphertext"]}, system.tenant_id)
