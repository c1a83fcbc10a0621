"""`python -m tests.durability.worker_process --tenant T --conversation C --point N --side before`: a worker that dies at a line.

It drives one conversation's turn as any worker does, and numbers every crossing between the process and the world. At the given
one it is killed, or stops as if the machine slept. With `--serve` it reads such orders from its input, one JSON object a line,
and forks for each: loading everything takes seconds. The parent has neither a connection nor a thread.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.conf import settings  # noqa: E402  # after Django's set-up

from apps.llm.anthropic.sync_client import AnthropicBackend  # noqa: E402
from apps.runtime.off_the_record_erasure import erase_if_due  # noqa: E402
from apps.runtime.tools.toolbox import Toolbox  # noqa: E402
from apps.runtime.worker.model_backends import call_server_tool  # noqa: E402
from apps.runtime.worker.sync_driver import answer_conversation  # noqa: E402
from tests.durability.counter_tools import toolbox_at  # noqa: E402
from tests.durability.crash_points import ENDINGS, SIDES, Crossings, WatchedModel, WatchedTool  # noqa: E402
from tests.durability.scripted_model import ScriptedModel  # noqa: E402
from tests.durability.webhook_delivery import deliver_due  # noqa: E402
from tests.support.servers.standin_model import StandIn  # noqa: E402

# What a fork shall not have to load again.
PRELOADED_MODULES = (call_server_tool,)


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is to do, and where it ends; at point 0 nowhere."""

    tenant: int
    conversation: int
    standin: str
    counter: str = ""
    job: str = "answer"
    point: int = 0
    side: str = "before"
    ending: str = "kill"


def run_order(order: Order) -> list[str]:
    """Do it; the crossings, if the process is still there to tell."""
    crossings = Crossings(order.point, order.side, order.ending)
    crossings.watch_database()
    JOBS[order.job](order, crossings, AnthropicBackend(settings.ANTHROPIC_API_KEY, base_url=order.standin))
    return crossings.seen


def _answer_conversation(order: Order, crossings: Crossings, backend: AnthropicBackend) -> None:
    """Take the conversation's turn, with the counter's tools and a model that follows its script."""
    tools = toolbox_at(order.counter).tools
    toolbox = Toolbox({name: WatchedTool(tool, crossings) for name, tool in tools.items()})
    answer_conversation(order.tenant, order.conversation, backend=WatchedModel(backend, crossings), toolbox=toolbox)


def _answer_and_deliver(order: Order, crossings: Crossings, backend: AnthropicBackend) -> None:
    """The same with tools of others and a model that knows its part; then tell the tenant's webhooks."""
    crossings.watch_tools_of_others()
    crossings.watch_posts()
    cast = ScriptedModel(StandIn(order.standin, backend))
    answer_conversation(order.tenant, order.conversation, backend=WatchedModel(cast, crossings))
    deliver_due(order.tenant)


def _erase_words(order: Order, crossings: Crossings, backend: AnthropicBackend) -> None:
    """Forget what was said off the record."""
    del crossings, backend
    erase_if_due(order.tenant, order.conversation)


JOBS: Mapping[str, Callable[[Order, Crossings, AnthropicBackend], None]] = {
    "answer": _answer_conversation,
    "answer and tell": _answer_and_deliver,
    "forget": _erase_words,
}


def serve_orders() -> None:
    """Fork for each order; tell the child's number at once, and how it ended, so that others may stop and go on with it."""
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _write_crossings(writer, run_order(Order(**json.loads(line))))
            os._exit(0)
        os.close(writer)
        _print_json({"pid": child})
        with os.fdopen(reader) as pipe:
            _print_json(_read_exit(child, pipe.read()))


def _read_exit(child: int, output: str) -> Mapping[str, object]:
    _, status = os.waitpid(child, 0)
    return {"code": os.waitstatus_to_exitcode(status), "crossings": json.loads(output or "[]")}


def _write_crossings(writer: int, crossings: list[str]) -> None:
    with os.fdopen(writer, "w") as pipe:
        json.dump(crossings, pipe)


def _print_json(fact: Mapping[str, object]) -> None:
    print(json.dumps(fact), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.durability.worker_process")
    parser.add_argument("--serve", action="store_true", help="read orders, one JSON object a line")
    parser.add_argument("--tenant", type=int, default=0)
    parser.add_argument("--conversation", type=int, default=0)
    parser.add_argument("--standin", default="", help="the model's address")
    parser.add_argument("--counter", default="", help="the counter's address")
    parser.add_argument("--job", choices=sorted(JOBS), default="answer")
    parser.add_argument("--point", type=int, default=0, help="the crossing at which it ends; 0: none")
    parser.add_argument("--side", choices=SIDES, default="before")
    parser.add_argument("--ending", choices=sorted(ENDINGS), default="kill")
    given = vars(parser.parse_args())
    if given.pop("serve"):
        serve_orders()
    else:
        print("\n".join(run_order(Order(**given))))


if __name__ == "__main__":
    main()
