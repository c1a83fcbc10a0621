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
    covering_cases,
    document,
    example_cases,
    fill_ids,
    operations,
    request_line,
    run_random_requests,
    send_and_undo,
)
from tests.support.openapi.mcp_replay import replay  # noqa: E402
from tests.support.openapi.response_checks import Case, FuzzFindings, flaws_of  # noqa: E402
from tests.support.openapi.two_tenants import RequestSender, TwoTenantFixture, run_two_tenants  # noqa: E402

# One lawful and one unlawful by chance, and the document's own of rows of theirs by everybody; how addresses answer for rows of
# another tenant, `tests/governance/isolation/test_isolation_over_rest.py` asks in every run.
QUICK_EXAMPLES: Final = 1
# Each is a connection of its own, and an act that REST was asked for as often as there are examples.
MOST_CALLS: Final = 10
# What the filled tenant shows of itself, or the marks would be nowhere and nothing could be found.
MIN_MARKED_COLUMNS: Final = 100
# So many operations and tools did something, or refusals were all that was looked at.
MIN_REACHED_OPERATIONS: Final = 200
MIN_REACHED_TOOLS: Final = 20


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.openapi")
    parser.add_argument("--seed", type=int, default=1, help="which requests chance draws")
    parser.add_argument("--examples", type=int, default=25, help="how many of each operation, lawful and unlawful each")
    parser.add_argument("--only", default="", help="operations whose method and path have this in them")
    parser.add_argument("--quick", action="store_true", help=f"a short seed: {QUICK_EXAMPLES} example, no limits")
    options = parser.parse_args(arguments)
    # A refusal is what most requests are after; Django would print each.
    logging.disable(logging.CRITICAL)
    begun, found, tool_findings = monotonic(), FuzzFindings(), FuzzFindings()
    examples = QUICK_EXAMPLES if options.quick else options.examples
    with run_two_tenants() as ground:
        asked = [each for each in operations(document()) if options.only in each.label]
        for operation in asked:
            prove(operation, ground, found, options.seed, examples, covers=not options.quick)
        replay(asked, ground, tool_findings, options.seed, min(examples, MOST_CALLS))
    status = report(found, tool_findings, len(asked), ground.marked, monotonic() - begun)
    return status or int(not options.only and not has_reached_enough(found, tool_findings))


def prove(
    operation: Operation, ground: TwoTenantFixture, found: FuzzFindings, seed: int, examples: int, *, covers: bool
) -> None:
    """Ask one operation by every limit, and by chance."""

    def ask(case: Case, who: RequestSender, where: str, odd: Mapping[str, str]) -> None:
        fill_ids(case, ground, where)
        response = send_and_undo(case, who, odd)
        found.note(
            operation.label,
            f"{who.name}: {dict(odd) or ''} {request_line(case)}",
            response.status_code,
            flaws_of(case, response),
        )

    for case, who, where in example_cases(operation, ground):
        if covers or where == "mine":
            ask(case, who, where, {})
    if covers:
        for case, who, where in zip(
            covering_cases(operation), cycle(ground.people), cycle(("mine", "drawn", "mine", "others")), strict=False
        ):
            ask(case, who, where, {})
    run_random_requests(operation, ground, seed, examples, ask)


def has_reached_enough(found: FuzzFindings, tool_findings: FuzzFindings) -> bool:
    """Whether enough operations and tools did what they are for; says so where not."""
    enough = len(found.reached) >= MIN_REACHED_OPERATIONS and len(tool_findings.reached) >= MIN_REACHED_TOOLS
    if not enough:
        print(f"Fewer than {MIN_REACHED_OPERATIONS} operations or {MIN_REACHED_TOOLS} tools did something.")
    return enough


def report(found: FuzzFindings, tool_findings: FuzzFindings, operations: int, marked: int, seconds: float) -> int:
    """Print it all; 0 where nothing is wrong."""
    statuses = ", ".join(f"{count} x {status}" for status, count in sorted(found.statuses.items()))
    print(
        f"{found.asked} requests to {operations} operations, {len(found.reached)} of which did something: {statuses}."
    )
    print(
        f"{tool_findings.asked} calls of tools over MCP, {len(tool_findings.reached)} tools did something."
        f" {marked} columns are marked."
    )
    flaws = len(found.flaws) + len(tool_findings.flaws)
    print(f"{flaws} things did not hold, in {seconds:.0f} seconds.")
    return int(flaws > 0 or not found.asked or marked < MIN_MARKED_COLUMNS)


if __name__ == "__main__":
    sys.exit(main())
