"""How acts are tried on endpoints and prices."""

from collections.abc import Mapping

from apps.governance.policy.policy_table import Act
from apps.tenants.endpoints.actions import (
    amend_endpoint,
    create_endpoint,
    remove_endpoint,
    rotate_endpoint_key,
    set_price,
    withdraw_price,
)
from apps.tenants.endpoints.endpoint_access import endpoint_to_test
from apps.tenants.models import Endpoint, ModelPrice
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row, write_parameter
from tests.support.factories.endpoints import ADDRESS, RATES, SINCE


def _create(chosen: ActChoice) -> object:
    return create_endpoint(chosen.name, chosen.words, ADDRESS, actor=chosen.actor, api_key="sk-1"[: chosen.pick % 5])


def _rotate(chosen: ActChoice) -> object:
    row = chosen.row(Endpoint)
    return rotate_endpoint_key(row, actor=chosen.actor, api_key=chosen.name, read_at=chosen.read_at(row))


def _refuse_endpoint_test(chosen: ActChoice) -> object:
    return endpoint_to_test(chosen.row(Endpoint).pk, actor=chosen.actor)


def _price(chosen: ActChoice) -> object:
    return set_price(chosen.name, SINCE, RATES, actor=chosen.actor)


ENDPOINTS: Mapping[Act, ActRunner] = {
    Act.ENDPOINT_CREATE: _create,
    Act.ENDPOINT_AMEND: write_parameter(Endpoint, amend_endpoint, "title"),
    Act.ENDPOINT_ROTATE_KEY: _rotate,
    Act.ENDPOINT_TEST: _refuse_endpoint_test,
    Act.ENDPOINT_REMOVE: amend_row(Endpoint, remove_endpoint),
    Act.PRICE_SET: _price,
    Act.PRICE_WITHDRAW: amend_row(ModelPrice, withdraw_price),
}
