"""A call of a tool: its arguments become a request, the API's own view answers it, and the answer is told."""

import logging
from collections.abc import Mapping
from typing import Any, Final, Protocol

from apps.api.framework.in_process_requests import Answered, Asked, Caller, ask
from apps.governance.act_schemas import Schema
from apps.mcp_server.answers import Told, misused, refused, told

logger = logging.getLogger(__name__)

FAULT: Final = {
    "title": "The server failed",
    "status": 500,
    "detail": "It is not your call that is wrong.",
    "code": "internal",
}


class Offered(Protocol):
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

    def asked(self, given: Mapping[str, Any]) -> Asked:
        """The request it stands for."""

    def shown(self, answered: Answered, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is told of an answer that is no refusal."""


def call(tool: Offered, given: Mapping[str, Any], caller: Caller) -> Told:
    """Do what a tool stands for, as whoever asks. Whatever happens, the model is told in words."""
    if errors := tool.misuses(given):
        return misused(errors)
    try:
        answered = ask(tool.asked(given), caller)
        return refused(answered.data) if answered.is_refusal else told(tool.shown(answered, given))
    except Exception:
        # As Django does for a page: written down for us, and nothing of it told.
        logger.exception("a tool failed", extra={"tool": tool.name})
        return refused(FAULT)
