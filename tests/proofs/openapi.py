"""`python -m tests.proofs.openapi` asks each operation of the OpenAPI document thousands of times, and its acts over MCP too.

Two tenants stand in a PostgreSQL of its own, in each of which everything has happened once; the words of one are marked. An agent,
an operator and an admin of the other ask over the whole of Django: by every limit once, and by what chance draws, with ids of
their own rows, of the other tenant's, and of none. It prints what it found and ends with an error where an answer was a fault of
ours, was not in the document, or held a word of the other tenant. The same seed draws the same requests.
"""

import argparse
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import cycle
from time import monotonic
from typing import Final

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from tests.support.openapi.generated_requests import (  # noqa: E402  # after Django's set-up
    Operation,
    answer_to,
    covering_cases,
    document,
    drawn,
    exemplary_cases,
    lead,
    operations,
    said_by,
)
from tests.support.openapi.mcp_replay import replay  # noqa: E402
from tests.support.openapi.response_checks import Case, Found, flaws_of  # noqa: E402
from tests.support.openapi.two_tenants import Ground, Somebody, standing_ground  # noqa: E402

# One lawful and one unlawful by chance, and the document's own of rows of theirs by everybody; how addresses answer for rows of
# another tenant, `tests/governance/isolation/test_isolation_over_rest.py` asks in every run.
QUICK_EXAMPLES: Final = 1
# Each is a connection of its own, and an act that REST was asked for as often as there are examples.
MOST_CALLS: Final = 10
# What the filled tenant shows of itself, or the marks would be nowhere and nothing could be found.
LEAST_MARKED: Final = 100
# So many operations and tools did something, or refusals were all that was looked at.
LEAST_REACHED: Final = 200
LEAST_TOOLS: Final = 20


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.openapi")
    parser.add_argument("--seed", type=int, default=1, help="which requests chance draws")
    parser.add_argument("--examples", type=int, default=25, help="how many of each operation, lawful and unlawful each")
    parser.add_argument("--only", default="", help="operations whose method and path have this in them")
    parser.add_argument("--quick", action="store_true", help=f"a short seed: {QUICK_EXAMPLES} example, no limits")
    options = parser.parse_args(arguments)
    # A refusal is what most requests are after; Django would print each.
    logging.disable(logging.CRITICAL)
    begun, found, told = monotonic(), Found(), Found()
    examples = QUICK_EXAMPLES if options.quick else options.examples
    with standing_ground() as ground:
        asked = [each for each in operations(document()) if options.only in each.label]
        for operation in asked:
            prove(operation, ground, found, options.seed, examples, covers=not options.quick)
        replay(asked, ground, told, options.seed, min(examples, MOST_CALLS))
    status = report(found, told, len(asked), ground.marked, monotonic() - begun)
    return status or int(not options.only and not reached_enough(found, told))


def prove(operation: Operation, ground: Ground, found: Found, seed: int, examples: int, *, covers: bool) -> None:
    """Ask one operation by every limit, and by chance."""

    def ask(case: Case, who: Somebody, where: str, odd: Mapping[str, str]) -> None:
        lead(case, ground, where)
        response = answer_to(case, who, odd)
        found.note(
            operation.label,
            f"{who.name}: {dict(odd) or ''} {said_by(case)}",
            response.status_code,
            flaws_of(case, response),
        )

    for case, who, where in exemplary_cases(operation, ground):
        if covers or where == "mine":
            ask(case, who, where, {})
    if covers:
        for case, who, where in zip(
            covering_cases(operation), cycle(ground.people), cycle(("mine", "drawn", "mine", "others")), strict=False
        ):
            ask(case, who, where, {})
    drawn(operation, ground, seed, examples, ask)


def reached_enough(found: Found, told: Found) -> bool:
    """Whether enough operations and tools did what they are for; says so where not."""
    enough = len(found.reached) >= LEAST_REACHED and len(told.reached) >= LEAST_TOOLS
    if not enough:
        print(f"Fewer than {LEAST_REACHED} operations or {LEAST_TOOLS} tools did something.")
    return enough


def report(found: Found, told: Found, operations: int, marked: int, seconds: float) -> int:
    """Print it all; 0 where nothing is wrong."""
    statuses = ", ".join(f"{count} x {status}" for status, count in sorted(found.statuses.items()))
    print(
        f"{found.asked} requests to {operations} operations, {len(found.reached)} of which did something: {statuses}."
    )
    print(
        f"{told.asked} calls of tools over MCP, {len(told.reached)} tools did something. {marked} columns are marked."
    )
    flaws = len(found.flaws) + len(told.flaws)
    print(f"{flaws} things did not hold, in {seconds:.0f} seconds.")
    return int(flaws > 0 or not found.asked or marked < LEAST_MARKED)


if __name__ == "__main__":
    sys.exit(main())
