"""A second lower bound: the product's own statements of a turn, sent by plain psycopg with as little around them as possible.

The statements were recorded from a turn of the product, which also provides tables, keys, indexes and row security. What this
costs more than `raw_turn` is the server's share of the design; what the product costs more than this is Python.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connection

from apps.llm.model_backend import JsonObject, ModelBackend, ModelReply, ModelRequest
from benchmarks.turn.benchmark_setup import statements_in
from benchmarks.turn.measurement import TurnContractBroken
from benchmarks.turn.product_turn import ProductTurnRunner

MESSAGES_OF_A_TURN = 4
# The two parts of a message that has a statement planned and calls it.
PREPARED_STATEMENT = re.compile(r"PREPARE (\w+) AS .*?(?=; EXECUTE \1)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RecordedStatements:
    """A turn's messages to the server in their order: claim, skill, step, end; and the statements they have planned."""

    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # Any: values of a statement
    planned: list[str] = field(default_factory=list)

    @property
    def asked(self) -> JsonObject:
        """The user turn, as the step stores it."""
        [call] = json.loads(self.sent[2][1]["calls"])
        asked: JsonObject = call["user_turn"]["api_message"]
        return asked


@contextmanager
def record_statements() -> Iterator[RecordedStatements]:
    """Record a turn whose statements the connection has planned before."""
    taken = RecordedStatements()

    # Any: Django's own cursor, whatever it was given and whatever it brings.
    def note(execute: Callable[..., Any], text: str, values: Any, many: bool, context: dict[str, Any]) -> Any:
        if "EXECUTE" in text:
            taken.sent.append((text, dict(values)))
        return execute(text, values, many, context)

    with connection.execute_wrapper(note):
        yield taken
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements WHERE from_sql")
        taken.planned.extend(found[0] for (text,) in cursor.fetchall() if (found := PREPARED_STATEMENT.search(text)))
    if len(taken.sent) != MESSAGES_OF_A_TURN:
        raise TurnContractBroken(f"The product sent {len(taken.sent)} messages in a turn.")


class ReplayTurnRunner:
    """Answers a tenant's customers with the product's statements, after a first turn of the product that opens their session.

    The tenant is its own: its prompt cache records are not true, and the product would read them.
    """

    name = "the product's statements"

    def __init__(self, product: ProductTurnRunner, like: ModelRequest, taken: RecordedStatements) -> None:
        self._product, self._like, self._taken = product, like, taken
        self._lines: list[dict[str, Any]] = json.loads(taken.sent[3][1]["messages"])  # Any: rows of the transcript
        self._connection = connection.copy()
        self._connection.ensure_connection()
        self._opened: set[int] = set()
        self.counted = 0
        for statement in taken.planned:
            self._connection.connection.execute(statement)

    @property
    def read_skill(self) -> Mapping[str, object]:
        return self._product.read_skill

    @property
    def process_id(self) -> int:
        process_id: int = self._connection.connection.info.backend_pid
        return process_id

    def receive(self, thread: int, number: int) -> None:
        self._product.receive(thread, number)

    def replies(self, thread: int) -> list[str]:
        return self._product.replies(thread)

    def take(self, thread: int, backend: ModelBackend) -> None:
        if thread not in self._opened:
            self._opened.add(thread)
            self._product.take(thread, backend)
            return
        conversation = self._product.conversation(thread)
        [(claim_json,)] = self._send_statement(0, conversation=conversation)
        claimed = json.loads(claim_json)
        held = {"turn": claimed["turn"]["id"], "fence": claimed["turn"]["fence"]}
        held["session"] = claimed["session"]["id"]
        messages = (*map(_wire_message, claimed["history"]), self._taken.asked)
        reply = backend.complete(replace(self._like, messages=messages, message_marks=()))
        assistant_message: JsonObject = {"role": "assistant", "content": list(reply.blocks)}
        [skill] = self._send_statement(1)
        results = _results([(reply.tool_uses[0].tool_use_id, str(skill))])
        self._send_statement(2, **held)
        last = backend.complete(replace(self._like, messages=(*messages, assistant_message, results), message_marks=()))
        self._send_statement(3, **held, conversation=conversation, messages=self._read_transcript(held["turn"], last))

    def _read_transcript(self, turn: int, reply: ModelReply) -> str:
        spoken: JsonObject = {"role": "assistant", "content": list(reply.blocks)}
        lines = [{**line, "turn_id": line["turn_id"] and turn} for line in self._lines]
        return json.dumps([*lines[:-1], {**lines[-1], "text": reply.text, "api_message": spoken}])

    # Any: psycopg's rows are tuples of whatever was selected.
    def _send_statement(self, place: int, **changed: object) -> list[tuple[Any, ...]]:
        text, values = self._taken.sent[place]
        self.counted += len(statements_in(text))
        cursor = self._connection.connection.cursor()
        cursor.execute(text, values | changed)
        cursor.nextset()
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def shut(self) -> None:
        self._connection.close()


def _wire_message(
    line: Sequence[Any],
) -> JsonObject:  # Any: a message and the calls before it, as the claim brings them
    wire, calls = line
    return wire if calls is None else _results([(call["call_id"], call["result"]) for call in calls])


def _results(tool_results: Sequence[tuple[str, str]]) -> JsonObject:
    blocks = [{"type": "tool_result", "tool_use_id": called, "content": result} for called, result in tool_results]
    return {"role": "user", "content": blocks}  # type: ignore[dict-item]  # blocks of the API
