"""A tenant's endpoint with its key decrypted, for immediate use only."""

from dataclasses import dataclass, field

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import NotAuthorised
from apps.tenants.models.endpoints import Endpoint
from apps.tenants.sealed_secrets import CannotOpen, unseal


@dataclass(frozen=True, slots=True)
class SealedEndpoint:
    """A tenant's own endpoint as it is stored. `ciphertext` is its sealed key, or empty or None if it has no key."""

    id: int
    base_url: str
    ciphertext: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class OpenedEndpoint:
    """A tenant's endpoint with its decrypted key, which never appears in printed or logged output."""

    endpoint_id: int
    base_url: str
    api_key: str = field(repr=False)


def decrypt_endpoint(endpoint: SealedEndpoint, tenant_id: int) -> OpenedEndpoint:
    """Return an endpoint with its key decrypted. Raises NotAuthorised if the key cannot be decrypted."""
    try:
        api_key = unseal(endpoint.ciphertext, tenant_id) if endpoint.ciphertext else ""
    except CannotOpen as refusal:
        raise NotAuthorised(str(refusal)) from refusal
    return OpenedEndpoint(endpoint.id, endpoint.base_url, api_key)


def read_decrypted_endpoint(endpoint_id: int, *, system: Actor) -> OpenedEndpoint:
    """Return the current endpoint with its key decrypted. Only workers may read sealed secrets."""
    with acting_as(system):
        found = Endpoint.objects.visible_to(system).filter(pk=endpoint_id)
        values = found.values("id", "base_url", "secret__ciphertext").get()
    sealed = SealedEndpoint(values["id"], values["base_url"], values["secret__ciphertext"])
    return decrypt_endpoint(sealed, system.tenant_id)
