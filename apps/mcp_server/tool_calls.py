"""MCP tool calls: the arguments become a request, the API's own view answers it, and the response becomes the tool result.

A refusal contains advice on what the model can do instead.
"""

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, urlsplit

from django.conf import settings

from apps.api.framework.in_process_requests import ApiCaller, ApiRequest, ApiResponse, call_api
from apps.governance.act_schemas import Schema

logger = logging.getLogger(__name__)

PROPOSAL_PATH: Final = re.compile(r"/proposals/(\d+)/?$")
# Advice by refusal code, which does not repeat the sentence of the refusal.
ADVICE: Final[Mapping[str, str]] = {
    "already_rejected": "Do not propose the same again. Read the reason, and propose something else or leave it.",
    "conflict": "Read what is there now, then decide anew.",
    "text_erased": "Nobody can tell you any more. Go on without it.",
    "stopped_by_kill_switch": "A person has stopped this for now. Do not try again in this conversation.",
    "illegal_transition": "Read it again: its state does not allow this.",
    "internal": "This is a fault of the server. Nothing was changed. Try once more later, and tell a person if it stays.",
    "invalid": "Correct the arguments named here and call again.",
    "malformed": "Send the arguments as plain JSON values.",
    "not_found": "Use an id that one of the list tools gave you.",
    "not_permitted": "Asking again in other words will not help. If it matters, hand it to a person by escalate.",
    "nothing_permitted": "Leave these arguments out. What you may not write you can propose, or hand to a person by escalate.",
    "queue_full": "Take back a proposal by withdraw_proposal, or wait until people have decided on some.",
    "stale": "Read it again, then send the change with the current version.",
    "throttled": "Wait before you call again.",
    "too_large": "Send less in one call.",
    "too_many_messages": "Wait before you call again.",
}
# Members of a problem document that are shown in addition to its sentences.
_PROBLEM_MEMBERS: Final = ("current_version", "allowed", "ignored_fields", "findings")


@dataclass(frozen=True, slots=True)
class McpToolResult:
    """A tool result: the text for the model, the same content as data, and whether it is a refusal."""

    text: str
    data: dict[str, Any]
    is_refusal: bool = False


def success_result(data: dict[str, Any]) -> McpToolResult:
    """Return a successful result as text and as data."""
    return McpToolResult(json.dumps(data, ensure_ascii=False, separators=(",", ":")), data)


def refusal_result(problem: Mapping[str, Any]) -> McpToolResult:
    """Return a problem document as a text on which a model can act."""
    code = str(problem.get("code", "refused"))
    lines = [
        f"Refused ({code}): {problem.get('title', 'The request was refused')}. {problem.get('detail', '')}".strip()
    ]
    lines += [
        f"{name.replace('_', ' ').capitalize()}: {_joined_text(problem[name])}."
        for name in _PROBLEM_MEMBERS
        if problem.get(name)
    ]
    if advice := ADVICE.get(code):
        lines.append(f"What to do: {advice}")
    return McpToolResult("\n".join(lines), dict(problem), is_refusal=True)


def misuse_result(errors: Mapping[str, str]) -> McpToolResult:
    """Return invalid arguments as a refusal in the usual form."""
    detail = "; ".join(f"{name}: {reason}" for name, reason in errors.items())
    problem = {
        "title": "Some values are invalid",
        "status": 400,
        "detail": detail,
        "code": "invalid",
        "errors": {name: [reason] for name, reason in errors.items()},
    }
    return refusal_result(problem)


def answer_data(answered: ApiResponse, *, is_single: bool = False) -> dict[str, Any]:
    """Return an API response for tool callers: rows without addresses, and a note if a proposal awaits review."""
    data = answered.data
    if data is None:
        return {"done": True}
    if "results" in data:
        data = tool_page(data)
        if is_single:
            return dict(data["results"][0]) if data["results"] else {"found": False}
    if "attachments" in data:
        data = {**data, "attachments": [_absolute_link(file) for file in data["attachments"]]}
    if answered.status == 202:
        data = {**data, "is_pending_review": True}
        if found := PROPOSAL_PATH.search(answered.location):
            data["proposal_id"] = int(found[1])
    return dict(data)


def _absolute_link(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file with its link, if any, made absolute, so that an outside client can fetch the file."""
    return {**file, **({"link": f"{settings.CONSOLE_URL}{file['link']}"} if "link" in file else {})}


def tool_page(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page without addresses, with the cursor in the form of the tool's argument."""
    following = parse_qs(urlsplit(data.get("next") or "").query).get("cursor", [None])[0]
    return {"results": data["results"], "next_cursor": following}


def _joined_text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


SERVER_FAULT: Final = {
    "title": "The server failed",
    "status": 500,
    "detail": "It is not your call that is wrong.",
    "code": "internal",
}


class CallableTool(Protocol):
    """A tool as its caller uses it."""

    @property
    def name(self) -> str:
        """Return the tool's name."""

    @property
    def says(self) -> str:
        """Return the tool's description for models."""

    @property
    def reads(self) -> bool:
        """Return whether the tool changes nothing."""

    @property
    def is_destructive(self) -> bool:
        """Return whether the tool removes or overwrites something."""

    @property
    def is_idempotent(self) -> bool:
        """Return whether a second identical call changes nothing more."""

    def schema(self) -> Schema:
        """Return the JSON Schema of the arguments."""

    def misuses(self, given: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the arguments that cannot be made into a request, each with the reason."""

    def asked(self, given: Mapping[str, Any]) -> ApiRequest:
        """Return the REST request for these arguments."""

    def shown(self, answered: ApiResponse, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of a successful response."""


def run_tool(tool: CallableTool, given: Mapping[str, Any], caller: ApiCaller) -> McpToolResult:
    """Run a tool as the caller. Every outcome, including a fault, becomes a result with a text for the model."""
    if errors := tool.misuses(given):
        return misuse_result(errors)
    try:
        answered = call_api(tool.asked(given), caller)
        return refusal_result(answered.data) if answered.is_refusal else success_result(tool.shown(answered, given))
    except Exception:
        # Log the fault as Django does for a page, without showing any of it to the caller.
        logger.exception("a tool failed", extra={"tool": tool.name})
        return refusal_result(SERVER_FAULT)
