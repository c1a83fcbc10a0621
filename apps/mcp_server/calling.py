"""A call of a tool: its arguments become a request, the API's own view answers it, and the answer is told."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps.api.inside import Caller, ask
from apps.mcp_server.answers import Told, misused, refused, told
from apps.mcp_server.requests import Tool

logger = logging.getLogger(__name__)

# What the database calls an id.
LARGEST: Final = 2**63 - 1
FAULT: Final = {
    "title": "The server failed",
    "status": 500,
    "detail": "It is not your call that is wrong.",
    "code": "internal",
}


def call(tool: Tool, given: Mapping[str, Any], caller: Caller) -> Told:
    """Do what a tool stands for, as whoever asks. Whatever happens, the model is told in words."""
    if errors := dict(_misuses(tool, given)):
        return misused(errors)
    try:
        return told(tool, ask(tool.asked(given), caller))
    except Exception:
        # As Django does for a page: written down for us, and nothing of it told.
        logger.exception("a tool failed", extra={"tool": tool.name})
        return refused(FAULT)


def _misuses(tool: Tool, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    known = tool.known() - set(tool.sets)
    for name in sorted(set(given) - known):
        yield name, f"There is no such argument. There are: {', '.join(tool.schema()['properties'])}."
    for name in tool.places:
        value = given.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST:
            yield name, "This is a whole number from 1, and has to be there."
    # Where more was sent than is offered, the API judges first: an attempt at what is not permitted goes into the books.
    if not set(given) - set(tool.schema()["properties"]):
        yield from ((name, "This has to be there.") for name in tool.needs if name not in given)
    if tool.body is None:
        yield from (
            (name, "This is a text or a number.")
            for name, value in given.items()
            if name in known and not isinstance(value, str | int | bool)
        )
