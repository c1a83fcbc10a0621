"""A lower bound for a durable turn: the same design in four statements of plain SQL, the vendor's SDK, and nothing else.

A lease and a fence protect the claim, every step is stored before the next one begins, and one statement ends the turn.
`python -m benchmarks.turn.raw_sql_turn` takes turns on a server of its own and prints the cost of each.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, ClassVar, Final

import psycopg
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.model_backend import JsonObject, ModelBackend, ModelReply, ModelRequest, SystemBlock, ToolDefinition
from benchmarks.turn.benchmark_setup import TurnTestbed, ground, statements_in
from benchmarks.turn.measurement import SKILL_WORDS, find_unanswered, measure_turn

DATABASE = "raw_turns"
SKILL = "issue-a-refund"
SCHEMA: Final = """
CREATE TABLE skill (id text PRIMARY KEY, body text NOT NULL);
CREATE TABLE event (id bigserial PRIMARY KEY, conversation bigint NOT NULL, key text NOT NULL, text text NOT NULL, turn bigint,
  UNIQUE (conversation, key));
CREATE INDEX event_waiting ON event (conversation) WHERE turn IS NULL;
CREATE INDEX event_of_turn ON event (turn) WHERE turn IS NOT NULL;
CREATE TABLE turn (id bigserial PRIMARY KEY, conversation bigint NOT NULL, status text NOT NULL DEFAULT 'running',
  fence int NOT NULL DEFAULT 1, lease_until timestamptz NOT NULL, current_step int NOT NULL DEFAULT 1,
  output_tokens bigint NOT NULL DEFAULT 0, finished_at timestamptz) WITH (fillfactor = 70);
CREATE UNIQUE INDEX one_running_turn ON turn (conversation) WHERE status = 'running';
CREATE TABLE model_step (turn bigint, step int, fence int NOT NULL, asked jsonb, said jsonb, input_tokens int NOT NULL,
  output_tokens int NOT NULL, at timestamptz NOT NULL DEFAULT statement_timestamp(), PRIMARY KEY (turn, step));
CREATE TABLE tool_step (turn bigint, step int, place int, fence int NOT NULL, name text NOT NULL, arguments jsonb NOT NULL,
  result text NOT NULL, state text NOT NULL, PRIMARY KEY (turn, step, place));
CREATE TABLE message (conversation bigint, position int, sender text NOT NULL, text text NOT NULL, wire jsonb,
  turn bigint NOT NULL, PRIMARY KEY (conversation, position));
CREATE UNIQUE INDEX turn_replies_once ON message (turn) WHERE sender = 'reply';
"""
RECEIVE: Final = "INSERT INTO event (conversation, key, text) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
# The history is replayed as the product does it: from a step of fifty messages, at the beginning of a turn; a turn has four.
CLAIM: Final = """
WITH over AS (
  UPDATE turn SET fence = fence + 1, lease_until = statement_timestamp() + interval '30 s'
  WHERE conversation = %(conversation)s AND status = 'running' AND lease_until <= statement_timestamp() RETURNING id, fence
), waiting AS (
  SELECT id FROM event WHERE conversation = %(conversation)s AND turn IS NULL ORDER BY id FOR UPDATE SKIP LOCKED
), begun AS (
  INSERT INTO turn (conversation, lease_until) SELECT %(conversation)s, statement_timestamp() + interval '30 s'
  WHERE NOT EXISTS (SELECT FROM over) AND EXISTS (SELECT FROM waiting)
  ON CONFLICT (conversation) WHERE status = 'running' DO NOTHING RETURNING id, fence
), held AS (SELECT * FROM over UNION ALL SELECT * FROM begun
), taken AS (
  UPDATE event SET turn = held.id FROM held, waiting WHERE event.id = waiting.id RETURNING event.id, event.text
)
SELECT held.id, held.fence,
  (SELECT jsonb_agg(text ORDER BY id) FROM (SELECT id, text FROM taken
     UNION SELECT event.id, event.text FROM event WHERE event.turn = held.id) AS events),
  (SELECT jsonb_agg(wire ORDER BY position) FROM message WHERE conversation = %(conversation)s AND position >= (
     SELECT 4 * ceil(12.5 * ceil(greatest(0, coalesce(max(position), 0) - 99) / 50.0)) FROM message
     WHERE conversation = %(conversation)s))
FROM held
"""
READ_SKILL: Final = "SELECT body FROM skill WHERE id = %s"
KEEP_STEP: Final = """
WITH held AS (
  UPDATE turn SET lease_until = statement_timestamp() + interval '30 s', current_step = 2,
    output_tokens = output_tokens + %(output)s
  WHERE id = %(turn)s AND fence = %(fence)s AND status = 'running' RETURNING id
), call AS (
  INSERT INTO model_step (turn, step, fence, asked, said, input_tokens, output_tokens)
  SELECT id, 1, %(fence)s, %(asked)s, %(said)s, %(input)s, %(output)s FROM held
), tool AS (
  INSERT INTO tool_step (turn, step, place, fence, name, arguments, result, state)
  SELECT id, 1, 0, %(fence)s, %(name)s, %(arguments)s, %(result)s, 'done' FROM held
)
SELECT id FROM held
"""
CLOSE_TURN: Final = """
WITH held AS (
  UPDATE turn SET status = 'done', finished_at = statement_timestamp(), output_tokens = output_tokens + %(output)s
  WHERE id = %(turn)s AND fence = %(fence)s AND status = 'running' RETURNING id, conversation
), call AS (
  INSERT INTO model_step (turn, step, fence, input_tokens, output_tokens)
  SELECT id, 2, %(fence)s, %(input)s, %(output)s FROM held
), said AS (
  INSERT INTO message (conversation, position, sender, text, wire, turn)
  SELECT held.conversation, line.place - 1 + (SELECT coalesce(max(position) + 1, 0) FROM message
      WHERE conversation = held.conversation), line.content->>'sender', line.content->>'text', line.content->'wire', held.id
  FROM held, jsonb_array_elements(%(messages)s) WITH ORDINALITY AS line (content, place)
)
SELECT id FROM held
"""
SAMPLE: Final = ModelRequest(
    model="claude-sonnet-4-5",
    max_tokens=2048,
    system=(SystemBlock("You are Ada, the support agent for Acme. Answer in whole sentences. " * 90, "5m"),),
    messages=({"role": "user", "content": [{"type": "text", "text": "Today is a day like any other."}]},),
    tools=(
        ToolDefinition(
            "get_skill",
            "Read a skill.",
            {"type": "object", "properties": {"skill_id": {"type": "string"}}, "required": ["skill_id"]},
        ),
    ),
)


class FenceLost(Exception):
    """Somebody else has claimed the turn; nothing was written."""


@dataclass(frozen=True, slots=True)
class ClaimedTurn:
    """A turn that this runner has claimed."""

    turn: int
    fence: int
    asked: JsonObject
    history: tuple[JsonObject, ...]


class RawTurnRunner:
    """Answers customers with four statements to a turn."""

    name = "raw psycopg"
    read_skill: ClassVar[Mapping[str, object]] = {"skill_id": SKILL}

    def __init__(self, place: TurnTestbed, like: ModelRequest, skill_body: str) -> None:
        """Make prompts as long as `like`, with the same system, tools and first words."""
        self._like = like
        self._connection = psycopg.connect(place.server.url_for("postgres", database=DATABASE), autocommit=True)
        self._connection.execute("INSERT INTO skill VALUES (%s, %s) ON CONFLICT DO NOTHING", [SKILL, skill_body])
        self.counted = 0

    @property
    def process_id(self) -> int:
        return self._connection.info.backend_pid

    def receive(self, thread: int, number: int) -> None:
        self._execute(RECEIVE, [thread, f"key-{number}", f"Message {number}: may I have my money back?"])

    def take(self, thread: int, backend: ModelBackend) -> None:
        held = self.claim(thread)
        if held is None:
            return
        messages = (*held.history, held.asked)
        reply = backend.complete(replace(self._like, messages=messages, message_marks=()))
        assistant_message: JsonObject = {"role": "assistant", "content": list(reply.blocks)}
        use = reply.tool_uses[0]
        result = str(self._execute(READ_SKILL, [use.arguments["skill_id"]])[0][0])
        self.keep(held, reply, assistant_message, result)
        block: JsonObject = {"type": "tool_result", "tool_use_id": use.tool_use_id, "content": result}
        results: JsonObject = {"role": "user", "content": [block]}
        last = backend.complete(replace(self._like, messages=(*messages, assistant_message, results), message_marks=()))
        self.close(held, last, assistant_message, results)

    def claim(self, thread: int) -> ClaimedTurn | None:
        rows = self._execute(CLAIM, {"conversation": thread})
        if not rows:
            return None
        turn, fence, texts, history = rows[0]
        words = self._like.messages[0]["content"]
        asked: JsonObject = {"role": "user", "content": [*words, {"type": "text", "text": "\n".join(texts)}]}  # type: ignore[misc]  # blocks
        return ClaimedTurn(turn, fence, asked, tuple(history or ()))

    def keep(self, held: ClaimedTurn, reply: ModelReply, assistant_message: JsonObject, result: str) -> None:
        """Store the model's answer and the result of its tool before the next call."""
        values = {
            "asked": Jsonb(held.asked),
            "said": Jsonb(assistant_message),
            "name": reply.tool_uses[0].name,
            "result": result,
        }
        self._write_rows(KEEP_STEP, held, reply, values | {"arguments": Jsonb(reply.tool_uses[0].arguments)})

    def close(self, held: ClaimedTurn, reply: ModelReply, assistant_message: JsonObject, results: JsonObject) -> None:
        """Store the transcript, the reply and the end of the turn."""
        spoken: JsonObject = {"role": "assistant", "content": list(reply.blocks)}
        lines = (
            ("customer", "", held.asked),
            ("agent", "", assistant_message),
            ("tool", "", results),
            ("reply", reply.text, spoken),
        )
        messages = [{"sender": sender, "text": text, "wire": wire} for sender, text, wire in lines]
        self._write_rows(CLOSE_TURN, held, reply, {"messages": Jsonb(messages)})

    def replies(self, thread: int) -> list[str]:
        rows = self._execute(
            "SELECT text FROM message WHERE conversation = %s AND sender = 'reply' ORDER BY position", [thread]
        )
        return [row[0] for row in rows]

    def _write_rows(self, statement: str, held: ClaimedTurn, reply: ModelReply, values: Mapping[str, object]) -> None:
        usage = {"input": reply.usage.prompt_tokens, "output": reply.usage.output_tokens}
        if not self._execute(statement, {"turn": held.turn, "fence": held.fence, **usage, **values}):
            raise FenceLost(f"Turn {held.turn} is held by somebody else.")

    # Any: psycopg's rows are tuples of whatever was selected.
    def _execute(self, statement: str, values: Sequence[object] | Mapping[str, object]) -> list[tuple[Any, ...]]:
        self.counted += len(statements_in(statement))
        cursor = self._connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []

    def shut(self) -> None:
        self._connection.close()


def make_tables(place: TurnTestbed) -> None:
    place.watcher.execute(f"CREATE DATABASE {DATABASE}")
    with psycopg.connect(place.server.url_for("postgres", database=DATABASE), autocommit=True) as connection:
        connection.execute(SCHEMA)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--turns", type=int, default=200, help="turns of one conversation (default 200)")
    options = asked.parse_args()
    with ground() as place:
        make_tables(place)
        runner = RawTurnRunner(place, SAMPLE, f"1. {SKILL_WORDS}\n" * 20)
        backend = AnthropicBackend("none", base_url=place.standin_url)
        turns = [measure_turn(place, runner, backend, 1, number) for number in range(1, options.turns + 1)]
        flaws = find_unanswered(runner, 1, options.turns)
        runner.shut()
    table = Table("of a turn, median", "", title=f"{options.turns} turns of one conversation, plain SQL")
    table.add_row("statements", f"{median(turn.statements for turn in turns):.0f}")
    table.add_row("WAL, bytes", f"{median(turn.wal_bytes for turn in turns):,.0f}")
    table.add_row("milliseconds without the model", f"{1000 * median(turn.overhead for turn in turns):.2f}")
    table.add_row("milliseconds with SDK and stand-in", f"{1000 * median(turn.seconds for turn in turns):.2f}")
    Console(width=100).print(table)
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main())
