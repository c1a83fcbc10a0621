"""MCP tool calls: the arguments become a request, the API's own view answers it, and the response becomes the tool result.

A refusal carries advice on what the model can do instead.
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
# What helps, by the refusal's code; what the refusal says itself is not said again.
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
# What a problem says besides its sentences.
_PROBLEM_MEMBERS: Final = ("current_version", "allowed", "ignored_fields", "findings")


@dataclass(frozen=True, slots=True)
class McpToolResult:
    """What the model reads, the same as data, and whether it is a refusal."""

    text: str
    data: dict[str, Any]
    is_refusal: bool = False


def success_result(data: dict[str, Any]) -> McpToolResult:
    """What was shown or done, as text and as data."""
    return McpToolResult(json.dumps(data, ensure_ascii=False, separators=(",", ":")), data)


def refusal_result(problem: Mapping[str, Any]) -> McpToolResult:
    """A problem document in words that a model can act on."""
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
    """Arguments that no request can be made of, in the form of every other refusal."""
    detail = "; ".join(f"{name}: {reason}" for name, reason in errors.items())
    problem = {
        "title": "Some values cannot be taken",
        "status": 400,
        "detail": detail,
        "code": "invalid",
        "errors": {name: [reason] for name, reason in errors.items()},
    }
    return refusal_result(problem)


def answer_data(answered: ApiResponse, *, is_single: bool = False) -> dict[str, Any]:
    """An answer of the API for whoever calls tools: rows without addresses, and said where it waits for a person."""
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
        found = PROPOSAL_PATH.search(answered.location)
        # Where the answer is the proposal itself, its id is nobody else's.
        data["proposal_id"] = int(found[1]) if found else data["id"]
    return dict(data)


def _absolute_link(file: Mapping[str, Any]) -> dict[str, Any]:
    """A file whose link, where it has one, is an address that a client elsewhere can fetch."""
    return {**file, **({"link": f"{settings.CONSOLE_URL}{file['link']}"} if "link" in file else {})}


def tool_page(data: Mapping[str, Any]) -> dict[str, Any]:
    """A page whose cursor goes into the tool's own argument; addresses are no use to whoever calls tools."""
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
    """A tool as a caller knows it, by whatever name."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def says(self) -> str:
        """What it is for, in words for a model."""

    @property
    def reads(self) -> bool:
        """It changes nothing."""

    @property
    def is_destructive(self) -> bool:
        """It takes something away that was there."""

    @property
    def is_idempotent(self) -> bool:
        """Twice the same is once."""

    def schema(self) -> Schema:
        """What it takes."""

    def misuses(self, given: Mapping[str, Any]) -> Mapping[str, str]:
        """Arguments that no request can be made of, each with the reason."""

    def asked(self, given: Mapping[str, Any]) -> ApiRequest:
        """The request it stands for."""

    def shown(self, answered: ApiResponse, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is told of an answer that is no refusal."""


def run_tool(tool: CallableTool, given: Mapping[str, Any], caller: ApiCaller) -> McpToolResult:
    """Do what a tool stands for, as whoever asks. Whatever happens, the model is told in words."""
    if errors := tool.misuses(given):
        return misuse_result(errors)
    try:
        answered = call_api(tool.asked(given), caller)
        return refusal_result(answered.data) if answered.is_refusal else success_result(tool.shown(answered, given))
    except Exception:
        # As Django does for a page: written down for us, and nothing of it told.
        logger.exception("a tool failed", extra={"tool": tool.name})
        return refusal_result(SERVER_FAULT)
