from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_CEILING, Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from apps.llm.cache_rules import CacheRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apps.llm.model_backend import ModelReply, Usage

_AUGUST = date(2026, 8, 21)
_OCTOBER = date(2026, 10, 24)

# The rates of models that the table does not list.
DEFAULT_CACHE_RULES = CacheRules(_AUGUST, minimum_prefix_tokens=1024)


@dataclass(frozen=True, slots=True)
class TokenRates:
    """Rates in US dollars per million tokens, which equal micro-dollars per token."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal

    @classmethod
    def of_micro_usd(cls, *per_million: int) -> TokenRates:
        """Return rates from micro-dollars per million tokens, one argument per billing class."""
        return cls(*(Decimal(price) / 1_000_000 for price in per_million))


# Rates that replace the price list, by a model's name, or by a name prefix followed by a star.
RateOverrides: TypeAlias = "Mapping[str, TokenRates]"
NO_RATE_OVERRIDES: Final[RateOverrides] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LongPromptRates:
    """The rates of all tokens of a request whose prompt is longer than `above_tokens`."""

    above_tokens: int
    rates: TokenRates


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model and the shortest prefix it caches, as published on `as_of`."""

    model: str
    as_of: date
    rates: TokenRates
    minimum_prefix_tokens: int
    long_prompt: LongPromptRates | None = None

    @property
    def cache_rules(self) -> CacheRules:
        """Return the model's cache rules. All models so far have the same look-back, number of marks and lifetimes."""
        return CacheRules(self.as_of, self.minimum_prefix_tokens)

    def rates_for(self, prompt_tokens: int) -> TokenRates:
        """Return the rates of a request whose prompt has this many tokens."""
        long_prompt = self.long_prompt
        return long_prompt.rates if long_prompt and prompt_tokens > long_prompt.above_tokens else self.rates


def _rates(input_price: str, output_price: str, read_share: str = "0.1") -> TokenRates:
    price = Decimal(input_price)
    return TokenRates(price, Decimal(output_price), price * Decimal(read_share), price * Decimal("1.25"), price * 2)


# The minimum prefixes of Haiku 5.5 and the 5.1 models are unconfirmed; they are taken from other models of the same family.
PRICES: tuple[Price, ...] = (
    Price("claude-opus-5-5", _OCTOBER, _rates("4", "20", "0.05"), 512),
    Price("claude-sonnet-5-5", _OCTOBER, _rates("2", "10", "0.05"), 512),
    Price(
        "claude-haiku-5-5",
        _OCTOBER,
        _rates("0.10", "0.50"),
        4096,
        LongPromptRates(100_000, _rates("0.50", "2.50")),
    ),
    Price("claude-fable-5-1", _OCTOBER, _rates("10", "50", "0.025"), 512),
    Price("claude-mythos-5-1", _OCTOBER, _rates("10", "50", "0.025"), 512),
    Price("claude-fable-5", _AUGUST, _rates("10", "50"), 512),
    Price("claude-mythos-5", _AUGUST, _rates("10", "50"), 512),
    Price("claude-opus-5", _AUGUST, _rates("5", "25"), 512),
    Price("claude-sonnet-5", _AUGUST, _rates("2", "10"), 1024),
    Price("claude-opus-4-8", _AUGUST, _rates("5", "25"), 1024),
    Price("claude-opus-4-7", _AUGUST, _rates("5", "25"), 2048),
    Price("claude-opus-4-6", _AUGUST, _rates("5", "25"), 4096),
    Price("claude-opus-4-5", _AUGUST, _rates("5", "25"), 4096),
    Price("claude-sonnet-4-6", _AUGUST, _rates("3", "15"), 1024),
    Price("claude-sonnet-4-5", _AUGUST, _rates("3", "15"), 1024),
    Price("claude-haiku-4-5", _AUGUST, _rates("1", "5"), 4096),
)
_BY_MODEL = {price.model: price for price in PRICES}


def price_of(model: str, own: RateOverrides = NO_RATE_OVERRIDES) -> Price | None:
    """Return the price of a model, also for a dated snapshot of it. The tenant's own rates override the price list."""
    undated = _without_snapshot_date(model)
    listed, rates = _BY_MODEL.get(undated), _rate_override((model, undated), own)
    if rates is None:
        return listed
    if listed is None:
        return Price(model, DEFAULT_CACHE_RULES.as_of, rates, DEFAULT_CACHE_RULES.minimum_prefix_tokens)
    return replace(listed, rates=rates, long_prompt=None)


def _without_snapshot_date(model: str) -> str:
    undated, _, suffix = model.rpartition("-")
    is_snapshot = len(suffix) == 8 and suffix.isdigit()
    return undated if is_snapshot else model


def _rate_override(names: tuple[str, ...], own: RateOverrides) -> TokenRates | None:
    exact = next((own[name] for name in names if name in own), None)
    if exact is not None:
        return exact
    beginnings = [pattern for pattern in own if pattern.endswith("*") and names[0].startswith(pattern[:-1])]
    return own[max(beginnings, key=len)] if beginnings else None


def cache_rules_for(model: str) -> CacheRules:
    price = price_of(model)
    return price.cache_rules if price else DEFAULT_CACHE_RULES


def cost_micro_usd(model: str, usage: Usage, own: RateOverrides = NO_RATE_OVERRIDES) -> int | None:
    """Return the cost, rounded up to a whole micro-dollar; None if no price is known, which does not mean free."""
    price = price_of(model, own)
    if price is None:
        return None
    rates = price.rates_for(usage.prompt_tokens)
    exact = (
        usage.input_tokens * rates.input
        + usage.output_tokens * rates.output
        + usage.cache_read_tokens * rates.cache_read
        + usage.cache_write_5m_tokens * rates.cache_write_5m
        + usage.cache_write_1h_tokens * rates.cache_write_1h
    )
    return int(exact.to_integral_value(rounding=ROUND_CEILING))


def reply_cost_micro_usd(reply: ModelReply, own: RateOverrides = NO_RATE_OVERRIDES) -> int | None:
    """Return the cost of a call; None without a known price. The stand-in has a price only if the tenant sets one."""
    if reply.is_stand_in and _rate_override((reply.model, _without_snapshot_date(reply.model)), own) is None:
        return None
    return cost_micro_usd(reply.model, reply.usage, own)
