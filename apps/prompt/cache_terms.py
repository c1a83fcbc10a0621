"""What a plan has to know about the model: what its cache does, and what a token costs. `apps.llm` has both as data."""

from decimal import Decimal
from typing import Protocol


class CacheRules(Protocol):
    """What the model's cache does; `apps.llm.caching.CacheRules` is one."""

    @property
    def minimum_prefix_tokens(self) -> int: ...
    @property
    def marks(self) -> int: ...
    @property
    def look_back_positions(self) -> int: ...
    @property
    def run_kinds(self) -> frozenset[str]: ...


class Rates(Protocol):
    """Micro-dollars per token; `apps.llm.prices.Rates` is one."""

    @property
    def input(self) -> Decimal: ...
    @property
    def cache_read(self) -> Decimal: ...
    @property
    def cache_write_5m(self) -> Decimal: ...
    @property
    def cache_write_1h(self) -> Decimal: ...
