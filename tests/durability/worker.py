"""`python -m tests.durability.worker --tenant T --conversation C --point N --side before`: a worker that dies at a line.

It drives one conversation's turn as any worker does, and numbers every crossing between the process and the world: each
statement, each end of a transaction, each call of the model and of an outside tool. At the given one it is killed, or stops as
if the machine slept. With `--serve` it reads such orders from its input, one JSON object a line, and forks for each: loading
everything takes seconds. The parent has neither a connection nor a thread.
"""

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.conf import settings  # noqa: E402  # after Django's set-up
from django.db.backends.base.base import BaseDatabaseWrapper  # noqa: E402
from django.db.backends.utils import CursorWrapper  # noqa: E402

from apps.llm.anthropic.client import AnthropicBackend  # noqa: E402
from apps.llm.backend import Backend, JsonObject, Reply, Request, Tool  # noqa: E402
from apps.runtime.driving import answer  # noqa: E402
from apps.runtime.models import ToolStep  # noqa: E402
from apps.runtime.outside import Outcome, OutsideTool, Toolbox  # noqa: E402
from tests.durability.outside_tools import toolbox_at  # noqa: E402

Given = ParamSpec("Given")
Result = TypeVar("Result")

ENDINGS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
SIDES = ("before", "after")
WORDS = 60
# Its name tells the thread and how many there were before.
SAVEPOINT = re.compile(r' "s\d+_x\d+"')


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is to take, and where it ends; at point 0 nowhere."""

    tenant: int
    conversation: int
    standin: str
    counter: str
    point: int = 0
    side: str = "before"
    ending: str = "kill"


@dataclass(slots=True)
class Crossings:
    """Every crossing in its order, and the one at which the process ends."""

    order: Order
    seen: list[str] = field(default_factory=list)

    def around(self, name: str, call: Callable[Given, Result], *args: Given.args, **named: Given.kwargs) -> Result:
        """Cross, and end before or after where that is the order."""
        self.seen.append(name)
        here = len(self.seen) == self.order.point
        if here and self.order.side == "before":
            self._end()
        result = call(*args, **named)
        if here and self.order.side == "after":
            self._end()
        return result

    def _end(self) -> None:
        os.kill(os.getpid(), ENDINGS[self.order.ending])

    def watch_database(self) -> None:
        """Wrap what the library sends everything through."""
        crossings, execute = self, CursorWrapper.execute

        def executed(cursor: CursorWrapper, sql: Any, params: Any = None) -> Any:  # Any: the library's own
            return crossings.around(_words(sql), execute, cursor, sql, params)

        CursorWrapper.execute = executed  # type: ignore[assignment, method-assign]  # a seam of the library
        for name in ("_commit", "_rollback"):
            setattr(BaseDatabaseWrapper, name, self._ending(name, getattr(BaseDatabaseWrapper, name)))

    def _ending(self, name: str, ends: Callable[[BaseDatabaseWrapper], None]) -> Callable[[BaseDatabaseWrapper], None]:
        return lambda database: self.around(name.strip("_"), ends, database)


@dataclass(frozen=True)
class WatchedModel:
    """The real client, and who counts its calls."""

    backend: Backend
    crossings: Crossings

    def complete(self, request: Request) -> Reply:
        return self.crossings.around("ask the model", self.backend.complete, request)


@dataclass(frozen=True)
class WatchedTool:
    """An outside tool, and who counts its calls."""

    tool: OutsideTool
    crossings: Crossings

    @property
    def definition(self) -> Tool:
        return self.tool.definition

    @property
    def repeats(self) -> ToolStep.Repeats:
        return self.tool.repeats

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> Outcome:
        crossings, name = self.crossings, self.definition.name
        crossings.around(f"call {name}", _nothing)
        outcome = await self.tool.call(arguments, key=key, timeout_seconds=timeout_seconds)
        crossings.around(f"{name} called", _nothing)
        return outcome


def _nothing() -> None:
    """A crossing whose two sides are one."""


def _words(sql: object) -> str:
    return " ".join(SAVEPOINT.sub("", str(sql)).split())[:WORDS]


def take(order: Order) -> list[str]:
    """Take the conversation's turn; the crossings, if the process is still there to tell."""
    crossings = Crossings(order)
    crossings.watch_database()
    backend = AnthropicBackend(settings.ANTHROPIC_API_KEY, base_url=order.standin)
    tools = toolbox_at(order.counter).tools
    toolbox = Toolbox({name: WatchedTool(tool, crossings) for name, tool in tools.items()})
    answer(order.tenant, order.conversation, backend=WatchedModel(backend, crossings), toolbox=toolbox)
    return crossings.seen


def serve() -> None:
    """Fork for each order; tell the child's number at once, and how it ended, so that others may stop and go on with it."""
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _tell(writer, take(Order(**json.loads(line))))
            os._exit(0)
        os.close(writer)
        _say({"pid": child})
        with os.fdopen(reader) as told:
            _say(_ended(child, told.read()))


def _ended(child: int, told: str) -> Mapping[str, object]:
    _, status = os.waitpid(child, 0)
    return {"code": os.waitstatus_to_exitcode(status), "crossings": json.loads(told or "[]")}


def _tell(writer: int, crossings: list[str]) -> None:
    with os.fdopen(writer, "w") as told:
        json.dump(crossings, told)


def _say(fact: Mapping[str, object]) -> None:
    print(json.dumps(fact), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.durability.worker")
    parser.add_argument("--serve", action="store_true", help="read orders, one JSON object a line")
    parser.add_argument("--tenant", type=int, default=0)
    parser.add_argument("--conversation", type=int, default=0)
    parser.add_argument("--standin", default="", help="the model's address")
    parser.add_argument("--counter", default="", help="the counter's address")
    parser.add_argument("--point", type=int, default=0, help="the crossing at which it ends; 0: none")
    parser.add_argument("--side", choices=SIDES, default="before")
    parser.add_argument("--ending", choices=sorted(ENDINGS), default="kill")
    given = vars(parser.parse_args())
    if given.pop("serve"):
        serve()
    else:
        print("\n".join(take(Order(**given))))


if __name__ == "__main__":
    main()
