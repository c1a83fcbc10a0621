"""Requests drawn for an operation, sent again as calls of its MCP tool, by the official client.

A tool is a request of the API: it answers with a result or a refusal in words, and refuses what the request refuses.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django.core.handlers.wsgi import WSGIHandler
from mcp.shared.exceptions import MCPError
from werkzeug import Client

from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.catalog import TOOLS
from tests.support.drivers.mcp_client import McpTestServer, McpToolAnswer, run_mcp_server
from tests.support.openapi.generated_requests import HOST, ROOT, Operation, fill_ids, run_random_requests
from tests.support.openapi.response_checks import Case, Flaw, FuzzFindings
from tests.support.openapi.two_tenants import MARK, RequestSender, TwoTenantFixture, rollback_afterwards

INTERNAL: Final = "internal"


def replay(
    asked: Iterable[Operation], ground: TwoTenantFixture, findings: FuzzFindings, seed: int, examples: int
) -> None:
    """Call every tool with the requests drawn for its operation, if that is among those tested."""
    known = {(each.method.upper(), each.path): each for each in asked}
    with run_mcp_server() as mcp_server:
        for tool in TOOLS.values():
            if operation := known.get((tool.method, f"{ROOT}{tool.address}")):
                run_random_requests(operation, ground, seed, examples, _tool_caller(tool, ground, mcp_server, findings))


def _tool_caller(tool: RestTool, ground: TwoTenantFixture, mcp_server: McpTestServer, findings: FuzzFindings) -> Any:
    def ask(case: Case, who: RequestSender, where: str, odd: Mapping[str, str]) -> None:
        del who, odd
        fill_ids(case, ground, where)
        given = _arguments(tool, case)
        if not _can_be_sent(given):
            return
        findings.note(tool.name, json.dumps(given)[:900], *_call_tool(tool, given, ground, mcp_server))

    return ask


def _call_tool(
    tool: RestTool, given: dict[str, Any], ground: TwoTenantFixture, mcp_server: McpTestServer
) -> tuple[int, list[Flaw]]:
    token = ground.mine.world.token
    try:
        with rollback_afterwards():
            answer = mcp_server.call(token, tool.name, given)
    except (MCPError, BaseExceptionGroup) as broken:
        return 500, [Flaw("the protocol broke", repr(broken)[:900])]
    status, code = (400, "invalid") if tool.misuses(given) else _send_over_rest(tool, given, ground)
    return 400 if answer.is_refusal else 200, _find_flaws(answer, status, code)


def _find_flaws(answer: McpToolAnswer, status: int, code: str) -> list[Flaw]:
    flaws = []
    if answer.is_refusal and answer.code == INTERNAL:
        flaws.append(Flaw("a fault of ours", answer.text))
    if MARK in answer.text or MARK in json.dumps(answer.data):
        flaws.append(Flaw("words of another tenant", answer.text[:900]))
    if (answer.code or "") != code:
        flaws.append(Flaw("judged otherwise than by REST", f"{answer.text[:600]}\n      REST: {status} {code}"))
    return flaws


def _send_over_rest(tool: RestTool, given: dict[str, Any], ground: TwoTenantFixture) -> tuple[int, str]:
    asked = tool.asked(given)
    with rollback_afterwards():
        answer = Client(WSGIHandler()).open(
            f"{ROOT}{asked.address}",
            method=asked.method,
            base_url=HOST,
            query_string=urlencode(asked.query, doseq=True),
            json=None if asked.body is None else dict(asked.body),
            headers=dict(ground.agent.headers),
        )
    return answer.status_code, str(answer.json["code"]) if answer.status_code >= 400 and answer.json else ""


def _arguments(tool: RestTool, case: Case) -> dict[str, Any]:
    """Return the parts of the request that the tool takes."""
    placed = {name: case.path_parameters[name] for name in tool.places if name in case.path_parameters}
    rest = case.body if tool.body is not None and isinstance(case.body, dict) else case.query
    known = tool.known() - set(tool.sets) - set(placed)
    return {**{name: value for name, value in rest.items() if name in known}, **placed}


def _can_be_sent(given: dict[str, Any]) -> bool:
    """Return whether the client can send the arguments: half a surrogate pair is not JSON."""
    try:
        json.dumps(given, ensure_ascii=False).encode()
    except (UnicodeEncodeError, TypeError, ValueError):
        return False
    return True
