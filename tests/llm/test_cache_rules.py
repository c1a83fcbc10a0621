"""The published cache rules, worked by hand. Tokens per block are chosen, so every figure can be checked on paper."""

from datetime import date

import pytest

from apps.llm.cache_rules import (
    CacheBlock,
    CacheEntry,
    CacheRules,
    CacheSettlement,
    Prefix,
    TokenBill,
    hash_prefixes,
    settle,
    settle_prefixes,
)
from apps.llm.model_backend import CacheLifetime

pytestmark = pytest.mark.pure

RULES = CacheRules(date(2026, 10, 24), minimum_prefix_tokens=100)


class PersistentCache:
    """A cache that lives from request to request."""

    def __init__(self, rules: CacheRules = RULES) -> None:
        self.cached: dict[bytes, CacheEntry] = {}
        self.rules = rules

    def ask(self, *blocks: CacheBlock, now: float = 0.0, scope: str = "account model") -> TokenBill:
        settled = self.plan(*blocks, now=now, scope=scope)
        self.cached |= settled.entries
        return settled.bill

    def plan(self, *blocks: CacheBlock, now: float = 0.0, scope: str = "account model") -> CacheSettlement:
        return settle(blocks, scope=scope, cached=self.cached, rules=self.rules, now=now)


def text(content: str, tokens: int, mark: CacheLifetime | None = None) -> CacheBlock:
    return CacheBlock(content.encode(), "text", tokens, mark)


def make_run(kind: str, count: int) -> list[CacheBlock]:
    return [CacheBlock(f"{kind} {number}".encode(), kind, 10) for number in range(count)]


def numbered_blocks(count: int, *, marked: tuple[int, ...]) -> list[CacheBlock]:
    """Blocks 1 to `count` of 100 tokens each, with breakpoints behind some."""
    return [text(f"block {number}", 100, "5m" if number in marked else None) for number in range(1, count + 1)]


def test_prefix_is_written_once_and_then_read() -> None:
    account = PersistentCache()
    prompt = (text("system", 600, "5m"), text("question", 40))
    assert account.ask(*prompt) == TokenBill(read=0, written_5m=600, written_1h=0, uncached=40)
    assert account.ask(*prompt, now=10) == TokenBill(read=600, written_5m=0, written_1h=0, uncached=40)


def test_without_a_breakpoint_nothing_is_written_or_read() -> None:
    account = PersistentCache()
    account.ask(text("system", 600, "5m"))
    assert account.ask(text("system", 600), now=1) == TokenBill(0, 0, 0, 600)


@pytest.mark.parametrize(("tokens", "written"), [(99, 0), (100, 100)])
def test_short_prefix_is_silently_not_cached(tokens: int, written: int) -> None:  # R184
    bill = PersistentCache().ask(text("system", tokens, "5m"), text("question", 5))
    assert (bill.written_5m, bill.uncached) == (written, tokens + 5 - written)


def test_growing_conversation_reads_what_the_turn_before_wrote() -> None:  # R183
    account = PersistentCache()
    account.ask(*numbered_blocks(10, marked=(10,)))
    assert account.ask(*numbered_blocks(15, marked=(15,)), now=1) == TokenBill(
        read=1000, written_5m=500, written_1h=0, uncached=0
    )


def test_look_back_ends_after_twenty_positions_and_resumes_at_the_next_breakpoint() -> None:
    account = PersistentCache()
    account.ask(*numbered_blocks(15, marked=(15,)))
    assert account.plan(*numbered_blocks(34, marked=(34,)), now=1).bill.read == 1500
    assert account.plan(*numbered_blocks(35, marked=(35,)), now=1).bill == TokenBill(0, 3500, 0, 0)
    assert account.plan(*numbered_blocks(35, marked=(15, 35)), now=1).bill == TokenBill(1500, 2000, 0, 0)


def test_breakpoint_on_what_changes_every_time_never_reads() -> None:
    account = PersistentCache()
    for moment in range(3):
        bill = account.ask(text("system", 500), text(f"the time is {moment}", 50, "5m"), now=moment)
        assert bill == TokenBill(0, 550, 0, 0)


@pytest.mark.parametrize("kind", ["tool_use", "tool_result"])
def test_run_of_tool_blocks_counts_as_one_position(kind: str) -> None:
    account = PersistentCache()
    account.ask(text("system", 500, "5m"))
    near = (text("system", 500), *make_run(kind, 40), text("question", 5, "5m"))
    assert account.plan(*near, now=1).bill.read == 500
    far = (text("system", 500), *make_run("text", 40), text("question", 5, "5m"))
    assert account.plan(*far, now=1).bill.read == 0


def test_lifetime_runs_from_the_start_of_the_last_use() -> None:
    account = PersistentCache()
    prompt = (text("system", 500, "5m"),)
    account.ask(*prompt, now=0)
    assert account.ask(*prompt, now=299).read == 500
    assert account.ask(*prompt, now=598).read == 500
    assert account.ask(*prompt, now=898).read == 0


def test_hour_entry_outlives_five_minutes() -> None:
    account = PersistentCache()
    prompt = (text("contract", 500, "1h"), text("profile", 200, "5m"))
    assert account.ask(*prompt) == TokenBill(read=0, written_5m=200, written_1h=500, uncached=0)
    assert account.ask(*prompt, now=3000) == TokenBill(read=500, written_5m=200, written_1h=0, uncached=0)
    assert account.ask(*prompt, now=6700) == TokenBill(read=0, written_5m=200, written_1h=500, uncached=0)


def test_tokens_between_the_hit_and_the_last_hour_mark_are_hour_writes() -> None:
    account = PersistentCache()
    account.ask(text("a", 300, "5m"))
    bill = account.ask(text("a", 300), text("b", 200, "1h"), text("c", 100, "5m"), text("d", 7), now=1)
    assert bill == TokenBill(read=300, written_5m=100, written_1h=200, uncached=7)


def test_longer_mark_on_a_prefix_that_is_only_read_does_not_prolong_it() -> None:
    account = PersistentCache()
    account.ask(text("a", 300, "5m"), text("b", 300, "5m"))
    account.ask(text("a", 300, "1h"), text("b", 300, "5m"), now=100)
    assert account.plan(text("a", 300, "1h"), now=401).bill.read == 0


def test_breakpoint_below_the_hit_is_remembered_no_longer_than_the_hit() -> None:
    account = PersistentCache()
    account.ask(text("a", 300), text("b", 300, "5m"))
    account.ask(text("a", 300, "1h"), text("b", 300, "5m"), now=100)
    assert account.plan(text("a", 300, "5m"), text("c", 50), now=399).bill.read == 300
    assert account.plan(text("a", 300, "5m"), text("c", 50), now=401).bill.read == 0


def test_read_refreshes_an_entry_that_has_no_mark_any_more() -> None:
    account = PersistentCache()
    account.ask(text("a", 300, "5m"))
    account.ask(text("a", 300), text("b", 100, "5m"), now=200)
    assert account.plan(text("a", 300, "5m"), now=450).bill.read == 300


def test_scopes_share_nothing() -> None:
    account = PersistentCache()
    account.ask(text("system", 500, "5m"))
    assert account.ask(text("system", 500, "5m"), now=1, scope="another account").read == 0


def test_same_bytes_cut_differently_are_another_prefix() -> None:
    account = PersistentCache()
    account.ask(text("ab", 100), text("c", 100, "5m"))
    assert account.ask(text("a", 100), text("bc", 100, "5m"), now=1).read == 0


def test_parallel_first_calls_both_write() -> None:
    account = PersistentCache()
    prompt = (text("system", 500, "5m"),)
    plans = [account.plan(*prompt, now=moment) for moment in (0.0, 0.1)]
    assert [plan.bill.written_5m for plan in plans] == [500, 500]


def test_empty_prompt_costs_nothing() -> None:
    assert PersistentCache().ask() == TokenBill(0, 0, 0, 0)


# The three billing positions: A the hit, B the last hour mark behind it, C the last mark of all.
def test_every_billing_position_by_hand() -> None:
    account = PersistentCache()
    account.ask(text("tools", 400, "1h"), text("persona", 250, "1h"))
    bill = account.ask(
        text("tools", 400, "1h"),
        text("persona", 250),
        text("profile", 90, "1h"),
        text("history", 60),
        text("question", 30, "5m"),
        text("unmarked", 11),
        now=60,
    )
    # A = 650 is read, B - A = 90 at two prices, C - B = 60 + 30 at one and a quarter, 11 at one.
    assert bill == TokenBill(read=650, written_5m=90, written_1h=90, uncached=11)


def test_hour_mark_below_the_hit_is_no_billing_position() -> None:
    account = PersistentCache()
    account.ask(text("tools", 400), text("persona", 250, "5m"))
    bill = account.ask(text("tools", 400, "1h"), text("persona", 250), text("question", 30, "5m"), now=1)
    assert bill == TokenBill(read=650, written_5m=30, written_1h=0, uncached=0)


def test_hour_mark_on_a_short_last_block_keeps_the_whole_prefix_for_an_hour_at_the_price_of_reading_it() -> None:
    account = PersistentCache()
    account.ask(text("system", 5000, "5m"), text("first", 40, "5m"))
    bill = account.ask(text("system", 5000), text("first", 40), text("second", 25, "1h"), now=200)
    assert bill == TokenBill(read=5040, written_5m=0, written_1h=25, uncached=0)
    late = (text("system", 5000), text("first", 40), text("second", 25), text("third", 30, "5m"))
    assert account.ask(*late, now=3799) == TokenBill(read=5065, written_5m=30, written_1h=0, uncached=0)


def test_only_prefixes_that_a_breakpoint_wrote_are_found() -> None:
    account = PersistentCache()
    account.ask(*numbered_blocks(5, marked=(2, 5)))
    other = [*numbered_blocks(4, marked=()), text("another end", 100, "5m")]
    assert account.plan(*other, now=1).bill == TokenBill(read=200, written_5m=300, written_1h=0, uncached=0)


def test_entry_is_gone_at_the_very_second_its_lifetime_ends() -> None:
    account = PersistentCache()
    account.ask(text("system", 500, "1h"), now=0)
    assert account.plan(text("system", 500, "1h"), now=3599).bill.read == 500
    assert account.plan(text("system", 500, "1h"), now=3600).bill.read == 0


def test_mark_under_the_floor_is_no_billing_position() -> None:  # R184
    bill = PersistentCache().ask(text("tools", 60, "1h"), text("system", 30, "1h"), text("question", 20, "5m"))
    assert bill == TokenBill(read=0, written_5m=110, written_1h=0, uncached=0)


def test_rules_are_data() -> None:
    account = PersistentCache(CacheRules(date(2026, 8, 21), 100, look_back_positions=3, run_kinds=frozenset()))
    account.ask(text("system", 500, "5m"))
    near = (text("system", 500), *make_run("tool_use", 1), text("question", 5, "5m"))
    assert account.plan(*near, now=1).bill.read == 500
    far = (text("system", 500), *make_run("tool_use", 2), text("question", 5, "5m"))
    assert account.plan(*far, now=1).bill.read == 0


def test_runs_of_both_kinds_in_one_exchange_are_two_positions() -> None:
    blocks = (text("question", 5), *make_run("tool_use", 3), *make_run("tool_result", 3), text("answer", 5))
    assert [prefix.position for prefix in hash_prefixes(blocks, "scope", RULES)] == [0, 1, 1, 1, 2, 2, 2, 3]


def test_prefixes_hashed_beforehand_are_billed_alike() -> None:
    blocks = numbered_blocks(3, marked=(1, 3))
    along = tuple(hash_prefixes(blocks, "scope", RULES))
    settled = settle_prefixes(along, cached={}, rules=RULES, now=5)
    assert settled == settle(blocks, scope="scope", cached={}, rules=RULES, now=5)
    assert settled.bill == TokenBill(0, 300, 0, 0)


def test_calls_that_wait_hold_what_they_share_once() -> None:
    shared = numbered_blocks(3, marked=(2,))
    first, second = (
        tuple(hash_prefixes([*shared, CacheBlock(own, "text", 9)], "scope", RULES)) for own in (b"one", b"two")
    )
    assert all(one is other for one, other in zip(first[:3], second[:3], strict=True))
    assert first[3].digest != second[3].digest
    assert first[0].marked("1h") is second[0].marked("1h") == Prefix(first[0].digest, first[0].tokens, 0, "1h")
    assert first[1].marked("5m") is first[1]
    assert first[1].marked(None) is second[1].marked(None) is not first[1]
