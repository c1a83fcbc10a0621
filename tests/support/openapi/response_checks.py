"""Checks of API responses: no server error, no undocumented response, no text of another tenant."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import schemathesis
from schemathesis.core.failures import FailureGroup
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from apps.api.protocol.problem_details import CONTENT_TYPE, TITLES
from tests.support.openapi.two_tenants import MARK

DOCUMENTED: Final = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SHOWN_CHARACTERS: Final = 1_500

Case = schemathesis.Case[Any]


@dataclass(frozen=True, slots=True)
class Flaw:
    """One flaw of a response."""

    kind: str
    detail: str


@dataclass
class FuzzFindings:
    """Counts of requests and responses, and each flaw once for each operation, with a request that shows it."""

    asked: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    flaws: dict[tuple[str, str], str] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)

    def note(self, label: str, request: str, status: int, flaws: list[Flaw]) -> None:
        """Record one response; a new flaw is printed at once, because a run of thousands takes long."""
        self.asked += 1
        self.statuses[status] += 1
        if status < 400:
            self.reached.add(label)
        for flaw in flaws:
            if (label, flaw.kind) not in self.flaws:
                self.flaws[label, flaw.kind] = message = f"{label}: {flaw.kind}\n      {request}\n      {flaw.detail}"
                print(f"  {message}", flush=True)


def flaws_of(case: Case, response: Response) -> list[Flaw]:
    """Return all flaws of a response."""
    return [*_status_flaws(case, response), *_leak_flaws(response), *_undocumented(case, response)]


def _status_flaws(case: Case, response: Response) -> Iterator[Flaw]:
    if response.status_code >= 500 and str(response.status_code) not in case.operation.responses.status_codes:
        yield Flaw(f"a fault of ours, {response.status_code}", _start_of(response))
    if response.status_code >= 400:
        problem = _problem(response)
        if problem is None:
            yield Flaw(f"a refusal that is no problem document, {response.status_code}", _start_of(response))
        elif problem.get("code") not in TITLES or problem.get("status") != response.status_code:
            yield Flaw(f"a refusal without a known code, {response.status_code}", _start_of(response))


def _leak_flaws(response: Response) -> Iterator[Flaw]:
    if MARK.encode() in response.content or MARK in repr(response.headers):
        yield Flaw("words of another tenant", _start_of(response))


def _undocumented(case: Case, response: Response) -> Iterator[Flaw]:
    try:
        case.validate_response(response, checks=list(DOCUMENTED))
    except FailureGroup as group:
        for failure in group.exceptions:
            title = getattr(failure, "title", type(failure).__name__)
            yield Flaw(f"undocumented, {response.status_code}: {title}", str(failure)[:SHOWN_CHARACTERS])


def _problem(response: Response) -> dict[str, Any] | None:
    if response.headers.get("content-type", [""])[0] != CONTENT_TYPE:
        return None
    try:
        found = json.loads(response.content)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _start_of(response: Response) -> str:
    return response.content[:SHOWN_CHARACTERS].decode(errors="replace")
