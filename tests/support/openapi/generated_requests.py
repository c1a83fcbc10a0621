"""Requests drawn by schemathesis, valid and invalid by the OpenAPI document, with ids of existing rows."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final

import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.config import GenerationConfig
from schemathesis.core.transport import Response

from tests.support.openapi.response_checks import Case
from tests.support.openapi.two_tenants import RequestSender, TwoTenantFixture, id_by_origin, rollback_afterwards

ROOT: Final = "/api/v1/"
# The place where schemathesis puts cookies.
HOST: Final = "http://localhost"
MODES: Final = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
# The rows that the ids of a request name; `drawn` ids stay as they are.
ID_ORIGINS: Final = ("mine", "mine", "others", "nowhere", "drawn")
# Parameters in bodies and query strings that name rows of other models.
ID_COLLECTIONS: Final[Mapping[str, str]] = {
    "conversation_id": "conversations",
    "skill_id": "skills",
    "turn_id": "turns",
    "lesson_id": "lessons",
    "proposal_id": "proposals",
    "target_id": "personas",
    "webhook_id": "webhooks",
    "server_id": "tool-servers",
    "endpoint_id": "endpoints",
    "message_id": "messages",
    "draft_id": "drafts",
    "with": "sessions",
}
KEYS: Final[Mapping[str, str]] = {"agent_key": "support", "callee_key": "billing", "end_user_key": "http:abc123"}
# Malformed headers that careless clients send.
ODD_HEADERS: Final[tuple[Mapping[str, str], ...]] = (
    *({},) * 8,
    {"Accept": "text/html"},
    {"Accept": "*/*;q=nothing, ;"},
    {"Content-Type": "application/json; charset=utf-99"},
    {"Content-Type": "multipart/form-data"},
    {"Content-Type": "text/plain"},
    {"Content-Encoding": "gzip"},
    {"If-Match": '"3'},
    {"If-Match": '"99-5f2c"'},
    {"If-None-Match": "W/*"},
    {"If-Modified-Since": "yesterday"},
    {"Range": "bytes=0-1"},
    {"Idempotency-Key": "\xe9" * 3},
    {"Idempotency-Key": "k" * 201},
    {"X-Preceptor-Tenant": "no such tenant"},
    {"X-HTTP-Method-Override": "DELETE"},
    {"X-Forwarded-For": "'; --"},
)
# These operations would call an outside server, so they only name rows that the sender does not see.
REACHING_PATHS: Final = ("/test/", "/refresh/")
STREAMING: Final = "/stream/"

Operation = Any  # of schemathesis, whose own type has four parameters


def document() -> Any:  # Any: schemathesis's own
    """Return the document as it is served, through the whole of Django."""
    config = schemathesis.Config()
    config.projects.default.generation.with_security_parameters = False
    return schemathesis.openapi.from_wsgi(f"{ROOT}schema/?format=json", WSGIHandler(), config=config, base_url=HOST)


def operations(served: Any) -> list[Operation]:
    """Return every operation."""
    return [found.ok() for found in served.get_all_operations()]


def covering_cases(operation: Operation) -> Iterator[Case]:
    """Return cases for every limit, kind and method once, the same in every run."""
    yield from operation.schema.iter_coverage_cases(
        operation, generation_modes=MODES, generation_config=GenerationConfig(with_security_parameters=False)
    )


def example_cases(operation: Operation, ground: TwoTenantFixture) -> Iterator[tuple[Case, RequestSender, str]]:
    """Yield the document's own example for every sender, with a row of theirs and with one that is not."""
    for body in operation.body or [None]:
        for who in ground.people:
            for where in ("mine", "others"):
                given = (
                    {}
                    if body is None
                    else {"body": deepcopy(body.definition["example"]), "media_type": body.media_type}
                )
                yield operation.Case(path_parameters=dict.fromkeys(_path_ids(operation), "1"), **given), who, where


def _path_ids(operation: Operation) -> list[str]:
    return [str(each.name) for each in operation.path_parameters]


def run_random_requests(operation: Operation, ground: TwoTenantFixture, number: int, most: int, ask: Any) -> None:
    """Send so many random requests, each from some sender, with ids of some tenant and sometimes an odd header."""
    for mode in MODES:
        strategy = operation.as_strategy(generation_mode=mode)

        @seed(number)
        @settings(
            max_examples=most,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy, st.sampled_from(ground.people), st.sampled_from(ID_ORIGINS), st.sampled_from(ODD_HEADERS))
        def try_it(case: Case, who: RequestSender, where: str, odd: Mapping[str, str]) -> None:
            ask(case, who, where, odd)

        try:
            try_it()
        except Unsatisfiable:
            # Nothing about these can be wrong, or right.
            continue


def fill_ids(case: Case, ground: TwoTenantFixture, where: str) -> None:
    """Put ids of existing rows into the case, mine or the other tenant's, or ids of no row."""
    noun, where = case.path.removeprefix(ROOT).split("/")[0], _harmless_origin(case, where)
    if "wait" in case.query:
        case.query["wait"] = 0
    if case.path.endswith(STREAMING):
        # The stream would run for minutes.
        case.headers["Last-Event-ID"] = "nothing like an id"
    if where == "drawn":
        return
    for name in case.path_parameters:
        if name.endswith("id"):
            case.path_parameters[name] = id_by_origin(ground, ID_COLLECTIONS.get(name, noun), where)
        elif name == "number":
            case.path_parameters[name] = 1
    _fill_given_ids(case.query, ground, where)
    if isinstance(case.body, dict):
        _fill_given_ids(case.body, ground, where)
        _name_version(case.body, ground, noun, where)


def _harmless_origin(case: Case, where: str) -> str:
    is_harmless = not case.path.endswith((*REACHING_PATHS, STREAMING)) or where in {"others", "nowhere"}
    return where if is_harmless else "others"


def _name_version(body: dict[str, Any], ground: TwoTenantFixture, noun: str, where: str) -> None:
    if where == "mine" and isinstance(body.get("version"), int):
        body["version"] = getattr(ground.rows[noun][0], "version", 1)


def _fill_given_ids(given: Any, ground: TwoTenantFixture, where: str) -> None:  # Any: a query or a body
    for name in list(given):
        if name in ID_COLLECTIONS:
            given[name] = id_by_origin(ground, ID_COLLECTIONS[name], where)
        elif name in KEYS:
            given[name] = KEYS[name]


def send_and_undo(case: Case, who: RequestSender, odd: Mapping[str, str] = MappingProxyType({})) -> Response:
    """Return the response; the request's writes are rolled back."""
    with rollback_afterwards():
        return case.call(base_url=HOST, headers={**who.headers, **odd}, cookies=dict(who.cookies))


def request_line(case: Case) -> str:
    """Return the request in one line, to send it again."""
    body = case.body if isinstance(case.body, dict | list | str | int) else None
    asked = f"{case.method} {case.formatted_path} {dict(case.query) or ''} {dict(case.headers) or ''}"
    return f"{asked} {json.dumps(body, default=repr) if body is not None else ''}"[:900]
