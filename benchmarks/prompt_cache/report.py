"""The tables and the goals of the prompt cache's simulated month."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from apps.llm.cache_rules import CacheRules
from apps.llm.prices import Price, price_of
from apps.prompt.prompt_input import SlotOrder
from benchmarks.prompt_cache.billing import Strategy, StrategyTotal, bill_all, bound_usd, readable_tokens
from benchmarks.prompt_cache.miss_causes import Cause, MissCauseRecorder
from benchmarks.prompt_cache.month_simulation import Setting, draw
from benchmarks.prompt_cache.request_trie import MODEL, Node, Renderer, TracedCall
from benchmarks.prompt_cache.strategies import (
    ProductPlanner,
    RunningTenantPlanner,
    automatic,
    fixed,
    no_marks,
    one_mark,
)

OTHER_MODELS: Final = ("claude-opus-5-5", "claude-fable-5-1", "claude-opus-4-7", "claude-haiku-4-5")
THINK_SECONDS: Final = (20.0, 75.0, 300.0, 1200.0)
SKILLS: Final = (0, 20, 60, 200)
FLOORS: Final = (512, 1024, 2048, 4096)
# Few enough that the minimum lengths matter.
GRID_TOOLS: Final = 4
PLAN: Final = "the product's plan"


@dataclass(frozen=True, slots=True)
class Trace:
    """A rendered month."""

    calls: Sequence[TracedCall]
    nodes: Sequence[Node]

    @property
    def tokens(self) -> int:
        return sum(call.path[-1].prefix.tokens for call in self.calls)


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """One strategy's month; `of_reads` is its share of the tokens that the rules let be read."""

    name: str
    total: StrategyTotal
    of_bound: float
    of_reads: float


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that has to reach a limit."""

    sentence: str
    reached: float
    wanted: float
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.reached >= self.wanted if self.at_least else self.reached <= self.wanted

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        return f"  {'met   ' if self.is_met else 'MISSED'} {self.sentence}: {self.reached:.4g} (goal {sign} {self.wanted:g})"


def main(arguments: Sequence[str]) -> int:
    """Print everything; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three days and a corner of the grid")
    quick = parser.parse_args(arguments).quick
    started = time.process_time()
    days = 3 if quick else 30
    price = _price(MODEL)
    goals: list[Goal] = []
    for order in (SlotOrder.CONTRACT_FIRST, SlotOrder.PERSONA_FIRST):
        trace = render_trace(Setting(days=days, order=order))
        witness = MissCauseRecorder(price.cache_rules)
        rows = tuple(compare_strategies(trace, price, price.cache_rules, witness))
        _print_rows(order, trace, rows)
        _print_causes(witness)
        goals += _check_unexplained(order, rows, witness)
        if order is SlotOrder.CONTRACT_FIRST:
            goals += _goals({row.name: row for row in rows})
            _print_models(trace)
    _print_grid(1 if quick else 2, THINK_SECONDS[1::2] if quick else THINK_SECONDS, SKILLS[1:2] if quick else SKILLS)
    print("\nGoals", *goals, sep="\n")
    print(f"\n{time.process_time() - started:.0f} s of processor time")
    return int(not all(goal.is_met for goal in goals))


def _price(model: str) -> Price:
    price = price_of(model)
    if price is None:
        raise SystemExit(f"The price of {model} is not known. Name a model of apps/llm/prices.py.")
    return price


def render_trace(setting: Setting) -> Trace:
    renderer = Renderer(draw(setting))
    return Trace(renderer.calls(), renderer.nodes)


def compare_strategies(
    trace: Trace, price: Price, rules: CacheRules, witness: MissCauseRecorder
) -> Iterator[StrategyRow]:
    """Bill every strategy over the same requests; the witness records the misses of the plan."""
    bound, readable = bound_usd(trace.calls, trace.nodes, price.rates), readable_tokens(trace.calls, rules)
    strategies: dict[str, Callable[[], Strategy]] = {
        "no caching": lambda: no_marks,
        "one mark behind the system prompt": lambda: one_mark,
        "automatic caching": lambda: automatic,
        "A, B, last user block 1h, tail 5m": lambda: fixed,
        PLAN: lambda: ProductPlanner(rules, price.rates),
        "the plan, knowing one tenant": lambda: RunningTenantPlanner(rules, price.rates),
    }
    for name, strategy in strategies.items():
        total = bill_all(trace.calls, strategy(), rules, price.rates, witness if name == PLAN else None)
        yield StrategyRow(name, total, total.cost_usd / bound, total.read / readable)


def _goals(rows: dict[str, StrategyRow]) -> Iterator[Goal]:
    plan = rows[PLAN]
    cost = plan.total.cost_usd
    yield Goal("contract_first: cost as a multiple of the bound (stretch 1.05)", plan.of_bound, 1.10)
    yield Goal("contract_first: share of the reads that the rules allow", plan.of_reads, 0.99, at_least=True)
    one, tail = rows["one mark behind the system prompt"], rows["automatic caching"]
    yield Goal("contract_first: cost beside one mark", cost / one.total.cost_usd, 0.25)
    yield Goal("contract_first: cost beside automatic caching", cost / tail.total.cost_usd, 0.80)


def _check_unexplained(order: SlotOrder, rows: Sequence[StrategyRow], witness: MissCauseRecorder) -> Iterator[Goal]:
    surprises = sum(row.total.surprises for row in rows)
    yield Goal(f"{order}: misses without a declared cause", witness.causes[Cause.UNEXPLAINED], 0)
    yield Goal(f"{order}: calls billed otherwise than planned", surprises, 0)


def _print_rows(order: SlotOrder, trace: Trace, rows: Sequence[StrategyRow]) -> None:
    calls, tokens = len(trace.calls), trace.tokens
    print(f"\n{order}, {MODEL}: {calls:,} requests, {tokens / 1e6:.0f} M tokens, {tokens / calls:,.0f} a request")
    print(f"  {'':36}{'USD':>10}{'/ uncached':>12}{'/ bound':>9}{'read':>8}{'of max':>8}{'1h':>7}{'5m':>7}")
    for row in rows:
        total = row.total
        shares = (total.read / tokens, row.of_reads, total.written_1h / tokens, total.written_5m / tokens)
        read, of_max, long, short = (f"{share:.1%}" for share in shares)
        uncached = total.cost_usd / rows[0].total.cost_usd
        print(
            f"  {row.name:36}{total.cost_usd:10,.2f}{uncached:12.3f}{row.of_bound:9.3f}{read:>8}{of_max:>8}{long:>7}{short:>7}"
        )
    print(f"  {'bound, knowing the future':36}{rows[0].total.cost_usd / rows[0].of_bound:10,.2f}")


def _print_causes(witness: MissCauseRecorder) -> None:
    print("  what the plan did not read, by cause (calls, thousands of tokens)")
    for cause, calls in sorted(witness.causes.items(), key=lambda item: -item[1]):
        print(f"    {cause:32}{calls:8,}{witness.tokens[cause] / 1000:12,.0f}")


def _print_models(trace: Trace) -> None:
    print("\nThe plan under other models' rules and prices")
    for model in OTHER_MODELS:
        price = _price(model)
        rules = price.cache_rules
        total = bill_all(trace.calls, ProductPlanner(rules, price.rates), rules, price.rates)
        ratio = total.cost_usd / bound_usd(trace.calls, trace.nodes, price.rates)
        print(f"  {model:20} floor {rules.minimum_prefix_tokens:5}  {ratio:.3f} of the bound")


def _print_grid(days: int, thinks: Sequence[float], skills: Sequence[int]) -> None:
    """Print cost as a multiple of the bound: pauses down, minimum lengths across, one block for each number of skills."""
    price = _price(MODEL)
    cells: dict[str, float] = {}
    print(f"\nSensitivity, contract_first, {GRID_TOOLS} tools, {days} days: cost / bound (cost / automatic)")
    print(f"  {'skills':>6} {'pause':>7}" + "".join(f"{f'floor {floor}':>17}" for floor in FLOORS))
    for count in skills:
        for think in thinks:
            trace = render_trace(
                Setting(days=days, think_median_seconds=think, skills=(count, count), tools=GRID_TOOLS)
            )
            line = []
            for floor in FLOORS:
                rules = replace(price.cache_rules, minimum_prefix_tokens=floor)
                ratio, beside = _cell(trace, price, rules)
                cells[f"{count} skills, pauses of {think:.0f} s, floor {floor}"] = ratio
                line.append(f"{ratio:9.3f} ({beside:.2f})")
            print(f"  {count:6} {think:5.0f} s" + "".join(f"{cell:>17}" for cell in line))
    worst = max(cells, key=cells.__getitem__)
    print(f"  worst: {worst}: {cells[worst]:.3f} of the bound")


def _cell(trace: Trace, price: Price, rules: CacheRules) -> tuple[float, float]:
    plan = bill_all(trace.calls, ProductPlanner(rules, price.rates), rules, price.rates).cost_usd
    tail = bill_all(trace.calls, automatic, rules, price.rates).cost_usd
    return plan / bound_usd(trace.calls, trace.nodes, price.rates), plan / tail


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
