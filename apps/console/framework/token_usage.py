"""Token usage and cost of model calls, added up for a page."""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.runtime.explain.session_ending import SessionEndingCost
from apps.runtime.models import ModelCall


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens by billing class; a cost is unknown where no price is known."""

    calls: int = 0
    fresh_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int = 0
    unpriced: int = 0
    is_stand_in: int = 0

    @property
    def prompt_tokens(self) -> int:
        return self.fresh_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def cached_percent(self) -> int | None:
        """The share of the prompts that was read from the cache, in percent; None if no prompt was sent."""
        return round(100 * self.cache_read_tokens / self.prompt_tokens) if self.prompt_tokens else None

    @property
    def cost(self) -> str:
        """US dollars; the text says so if a model without a price makes the sum incomplete."""
        if self.calls and self.unpriced == self.calls:
            return "no price known"
        return dollars(self.cost_micro_usd) + (" and more" if self.unpriced else "")


def dollars(micro_usd: int) -> str:
    """Format millionths of a US dollar as people read them."""
    return f"${micro_usd / 1_000_000:,.4f}"


def ending_cost_sentence(cost: SessionEndingCost) -> str:
    """Return how many open sessions end, and what their new prompts cost."""
    if not cost.sessions:
        return "No session is open, so it costs nothing."
    sessions = "1 open session ends" if cost.sessions == 1 else f"{cost.sessions:,} open sessions end"
    price = "; the model has no price here" if cost.micro_usd is None else f", at most {dollars(cost.micro_usd)}"
    return f"{sessions}. Their new prompts write at most {cost.tokens:,} tokens to the prompt cache{price}."


def total_usage(calls: Iterable[ModelCall]) -> TokenUsage:
    """Return the sum of some calls."""
    known = list(calls)
    return TokenUsage(
        calls=len(known),
        fresh_tokens=sum(call.input_tokens for call in known),
        cache_read_tokens=sum(call.cache_read_tokens for call in known),
        cache_write_tokens=sum(call.cache_write_5m_tokens + call.cache_write_1h_tokens for call in known),
        output_tokens=sum(call.output_tokens for call in known),
        cost_micro_usd=sum(call.cost_micro_usd or 0 for call in known),
        unpriced=sum(call.cost_micro_usd is None for call in known),
        is_stand_in=sum(call.is_stand_in for call in known),
    )


def grouped(number: int | str) -> str:
    """Format a number with thousands separators; words stay as they are."""
    return number if isinstance(number, str) else f"{number:,}"
