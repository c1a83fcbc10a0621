import pytest

from apps.llm.model_backend import Usage
from apps.llm.prices import PRICES, TokenRates, cache_rules_for, cost_micro_usd, price_of

pytestmark = pytest.mark.pure


def test_cost_adds_the_five_rates() -> None:  # R185
    usage = Usage(
        input_tokens=1000,
        output_tokens=100,
        cache_read_tokens=10_000,
        cache_write_5m_tokens=400,
        cache_write_1h_tokens=200,
    )
    # 1000 x 4 + 100 x 20 + 10000 x 0.2 + 400 x 5 + 200 x 8
    assert cost_micro_usd("claude-opus-5-5", usage) == 11_600


def test_fraction_of_a_micro_dollar_is_rounded_up() -> None:
    assert cost_micro_usd("claude-haiku-5-5", Usage(1, 0)) == 1


def test_long_prompt_costs_more_for_every_token() -> None:
    assert cost_micro_usd("claude-haiku-5-5", Usage(100_000, 10)) == 10_005
    assert cost_micro_usd("claude-haiku-5-5", Usage(1, 10, cache_read_tokens=100_000)) == 5_026


def test_price_of_an_unknown_model_is_unknown_and_not_zero() -> None:
    assert cost_micro_usd("somebody-elses-model", Usage(10, 10)) is None


def test_dated_snapshot_costs_what_its_model_costs() -> None:
    assert price_of("claude-sonnet-4-5-20250929") == price_of("claude-sonnet-4-5")


@pytest.mark.parametrize(
    ("model", "tokens"), [("claude-opus-5-5", 512), ("claude-haiku-4-5", 4096), ("somebody-elses-model", 1024)]
)
def test_minimum_prefix_is_data_per_model(model: str, tokens: int) -> None:  # R184
    assert cache_rules_for(model).minimum_prefix_tokens == tokens


def test_every_price_is_dated_and_every_model_stands_once() -> None:
    assert len({price.model for price in PRICES}) == len(PRICES)
    for price in PRICES:
        assert price.as_of.year == 2026
        assert price.rates.cache_read < price.rates.input < price.rates.cache_write_5m < price.rates.cache_write_1h


def test_usages_add_up() -> None:
    total = Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50)
    assert total == Usage(11, 22, 33, 44, 55)
    assert total.prompt_tokens == 11 + 33 + 44 + 55


TENANT_PRICES = {
    "claude-opus-5-5": TokenRates.of_micro_usd(1_000_000, 2_000_000, 100_000, 1_250_000, 2_000_000),
    "house-*": TokenRates.of_micro_usd(3_000_000, 0, 0, 0, 0),
    "house-large-*": TokenRates.of_micro_usd(7_000_000, 0, 0, 0, 0),
}


@pytest.mark.parametrize(
    ("model", "micro_usd"),
    {
        "claude-opus-5-5": 30,
        "claude-opus-5-5-20261101": 30,
        "claude-sonnet-5-5": 120,
        "house-small": 30,
        "house-large-2": 70,
        "household": None,
    }.items(),
)
def test_a_tenants_own_price_stands_above_the_list(model: str, micro_usd: int | None) -> None:  # R131
    assert cost_micro_usd(model, Usage(10, 10), TENANT_PRICES) == micro_usd


def test_a_price_of_ones_own_holds_for_long_prompts_too() -> None:
    own = {"claude-haiku-5-5": TokenRates.of_micro_usd(1_000_000, 0, 0, 0, 0)}
    assert cost_micro_usd("claude-haiku-5-5", Usage(200_000, 0), own) == 200_000
    priced = price_of("claude-haiku-5-5", own)
    assert priced is not None
    assert priced.cache_rules == cache_rules_for("claude-haiku-5-5")
