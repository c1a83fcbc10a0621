"""Where a turn's model is reached, and what it costs there: as the claim brought it, with the key opened for this use alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from apps.llm.model_backend import NotAuthorised
from apps.llm.prices import RateOverrides, TokenRates
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint, decrypt_endpoint

# What CLAIM says of it, beside `agent`: the agent's own endpoint with its sealed key, the tenant's prices as they
# hold now, and what fails there.
ENDPOINT_CLAUSE: Final = """
    'terms', json_build_object(
        'endpoint', (SELECT json_build_object('id', endpoint.id, 'base_url', endpoint.base_url, 'ciphertext', secret.ciphertext)
                       FROM tenants_endpoint AS endpoint
                       LEFT JOIN tenants_sealedsecret AS secret
                         ON secret.tenant_id = endpoint.tenant_id AND secret.id = endpoint.secret_id
                      WHERE endpoint.tenant_id = agent.tenant_id AND endpoint.id = agent.endpoint_id),
        'prices', (SELECT json_object_agg(price.model, json_build_array(
                              price.input_micro_usd, price.output_micro_usd, price.cache_read_micro_usd,
                              price.cache_write_5m_micro_usd, price.cache_write_1h_micro_usd))
                     FROM (SELECT DISTINCT ON (model) * FROM tenants_modelprice
                            WHERE tenant_id = %(tenant)s AND valid_from <= statement_timestamp()
                            ORDER BY model, valid_from DESC) AS price),
        'breakers', (SELECT json_object_agg(breaker.model, to_json(breaker)) FROM runtime_circuitbreaker AS breaker
                      WHERE breaker.endpoint_id = coalesce(agent.endpoint_id, 0) AND breaker.state <> 'closed'))"""


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Where and at what price a turn thinks. Without an endpoint it is the installation's."""

    tenant_id: int = 0
    endpoint: Mapping[str, Any] | None = field(default=None, repr=False)  # Any: a JSON object
    rates: RateOverrides = field(default_factory=dict)
    # Of what fails at that endpoint, by model.
    breakers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, terms: Mapping[str, Any], tenant_id: int) -> "ModelEndpoint":
        """What the claim says."""
        prices = terms["prices"] or {}
        return cls(
            tenant_id,
            terms["endpoint"],
            {model: TokenRates.of_micro_usd(*rates) for model, rates in prices.items()},
            terms["breakers"] or {},
        )

    @property
    def reached(self) -> OpenedEndpoint | None:
        """The tenant's own endpoint; raises NotAuthorised where its key cannot be opened."""
        if self.endpoint is None:
            return None
        return decrypt_endpoint(self.endpoint, self.tenant_id)


DEFAULT_ENDPOINT: Final = ModelEndpoint()


def refuse_tenant_endpoint(place: OpenedEndpoint) -> NoReturn:
    """For a process that asks the installation's endpoint alone."""
    raise NotAuthorised(f"Endpoint {place.endpoint_id} cannot be asked by this process.")
