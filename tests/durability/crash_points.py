"""Every crossing between a process and the world in its order, and the one at which the process ends.

A crossing is a statement, an end of a transaction, a call of the model, of an outside tool, or of a webhook.
"""

import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from aiohttp import ClientSession
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from apps.llm.model_backend import JsonObject, ModelBackend, ModelReply, ModelRequest, ToolDefinition
from apps.runtime.models import ToolStep
from apps.runtime.tools.tool_server_tools import ToolServerTool
from apps.runtime.tools.toolbox import CallOutcome, ExternalTool

Given = ParamSpec("Given")
Result = TypeVar("Result")

ENDINGS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
SIDES = ("before", "after")
SQL_CHARACTERS = 60
# Its name tells the thread and how many there were before.
SAVEPOINT = re.compile(r' "s\d+_x\d+"')


@dataclass(slots=True)
class Crossings:
    """Those seen so far; at the numbered one the process ends, at 0 nowhere."""

    point: int = 0
    side: str = "before"
    ending: str = "kill"
    seen: list[str] = field(default_factory=list)

    def around(self, name: str, call: Callable[Given, Result], *args: Given.args, **named: Given.kwargs) -> Result:
        """Cross, and end before or after where that is the order."""
        self.seen.append(name)
        here = len(self.seen) == self.point
        if here and self.side == "before":
            self._end_process()
        result = call(*args, **named)
        if here and self.side == "after":
            self._end_process()
        return result

    def at(self, name: str) -> None:
        """A crossing whose two sides are one."""
        self.around(name, _do_nothing)

    def _end_process(self) -> None:
        os.kill(os.getpid(), ENDINGS[self.ending])

    def watch_database(self) -> None:
        """Wrap what the library sends everything through."""
        crossings, execute = self, CursorWrapper.execute

        def executed(cursor: CursorWrapper, sql: Any, params: Any = None) -> Any:  # Any: the library's own
            return crossings.around(_sql_words(sql), execute, cursor, sql, params)

        CursorWrapper.execute = executed  # type: ignore[assignment, method-assign]  # a seam of the library
        for name in ("_commit", "_rollback"):
            setattr(BaseDatabaseWrapper, name, self._wrap_transaction_end(name, getattr(BaseDatabaseWrapper, name)))

    def watch_tools_of_others(self) -> None:
        """The same for the tools that a claim brings."""
        crossings, call = self, ToolServerTool.call

        async def called(
            tool: ToolServerTool, arguments: JsonObject, *, key: str, timeout_seconds: float
        ) -> CallOutcome:
            crossings.at("call a tool of others")
            outcome = await call(tool, arguments, key=key, timeout_seconds=timeout_seconds)
            crossings.at("a tool of others called")
            return outcome

        ToolServerTool.call = called  # type: ignore[assignment, method-assign]  # the process is this one's own

    def watch_posts(self) -> None:
        """The same for what is sent to webhooks."""
        crossings, request = self, ClientSession._request

        async def requested(session: ClientSession, *args: Any, **named: Any) -> Any:  # Any: the library's own
            crossings.at("post")
            answered = await request(session, *args, **named)
            crossings.at("posted")
            return answered

        ClientSession._request = requested  # type: ignore[assignment, method-assign]  # a seam of the library

    def _wrap_transaction_end(
        self, name: str, ends: Callable[[BaseDatabaseWrapper], None]
    ) -> Callable[[BaseDatabaseWrapper], None]:
        return lambda database: self.around(name.strip("_"), ends, database)


@dataclass(frozen=True)
class WatchedModel:
    """A model, and who counts its calls."""

    backend: ModelBackend
    crossings: Crossings

    def complete(self, request: ModelRequest) -> ModelReply:
        return self.crossings.around("ask the model", self.backend.complete, request)


@dataclass(frozen=True)
class WatchedTool:
    """An outside tool, and who counts its calls."""

    tool: ExternalTool
    crossings: Crossings

    @property
    def definition(self) -> ToolDefinition:
        return self.tool.definition

    @property
    def repeat_safety(self) -> ToolStep.RepeatSafety:
        return self.tool.repeat_safety

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        self.crossings.at(f"call {self.definition.name}")
        outcome = await self.tool.call(arguments, key=key, timeout_seconds=timeout_seconds)
        self.crossings.at(f"{self.definition.name} called")
        return outcome


def _do_nothing() -> None:
    """What lies between the two sides of a crossing that has one."""


def _sql_words(sql: object) -> str:
    return " ".join(SAVEPOINT.sub("", str(sql)).split())[:SQL_CHARACTERS]
