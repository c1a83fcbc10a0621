"""The model endpoint of a turn and its prices, as they came with the claim. The key is unsealed for each use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

from apps.llm.model_backend import NotAuthorised
from apps.llm.prices import RateOverrides, TokenRates
from apps.runtime.models import CircuitBreaker
from apps.runtime.turn_store.json_rows import JsonRow, row_from_json
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint, SealedEndpoint, decrypt_endpoint


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """The endpoint and prices of a turn's model: the tenant's own endpoint if there is one, else the installation's."""

    tenant_id: int = 0
    endpoint: SealedEndpoint | None = None
    rates: RateOverrides = field(default_factory=dict)
    # The endpoint's circuit breakers that are not closed, by model.
    breakers: Mapping[str, CircuitBreaker] = field(default_factory=dict)

    @classmethod
    def of(cls, claim_row: JsonRow, tenant_id: int) -> "ModelEndpoint":
        endpoint, prices = claim_row["endpoint"], claim_row["prices"] or {}
        breakers = claim_row["circuit_breakers"] or {}
        return cls(
            tenant_id=tenant_id,
            endpoint=SealedEndpoint(**endpoint) if endpoint else None,
            rates={model: TokenRates.of_micro_usd(*rates) for model, rates in prices.items()},
            breakers={model: row_from_json(CircuitBreaker, row) for model, row in breakers.items()},
        )

    @property
    def reached(self) -> OpenedEndpoint | None:
        """The tenant's own endpoint, or None. Raises NotAuthorised if its key cannot be unsealed."""
        return decrypt_endpoint(self.endpoint, self.tenant_id) if self.endpoint else None


DEFAULT_ENDPOINT: Final = ModelEndpoint()


def refuse_tenant_endpoint(place: OpenedEndpoint) -> NoReturn:
    """Refuse a tenant's endpoint, for a process that only uses the installation's endpoint."""
    raise NotAuthorised(f"Endpoint {place.endpoint_id} cannot be asked by this process.")
