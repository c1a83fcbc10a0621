"""The invariants hold after an ordinary day, and each notices the one row that breaks it."""

from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from apps.llm.model_backend import JsonObject, ToolDefinition
from apps.runtime.models import ToolStep
from apps.runtime.tools.toolbox import CallOutcome, Toolbox
from apps.runtime.worker.sync_driver import answer_conversation
from tests.durability.invariants import Bill, Effects, broken, counted
from tests.durability.turn_invariants_sql import TURN_INVARIANTS
from tests.support.drivers.conversation import reply, send_customer_message, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import make_world

# A conversation of a customer that says it was opened by another agent's question.
ORPHAN_DELEGATION = "UPDATE conversations_conversation SET parent_id = id, hops = 1, delegating_turn_id = %(turn)s"
ORPHAN_DELIVERY = """
    INSERT INTO webhooks_delivery (tenant_id, webhook_id, conversation_id, event, subject_id)
    SELECT tenant_id, 0, id, 'reply', 0 FROM conversations_conversation
"""
# One row of a finished day, written as no worker may write it.
BREAKING_STATEMENTS = {
    "every event has a turn that ended": (
        "UPDATE conversations_inboundevent SET turn_id = NULL WHERE turn_id = %(turn)s"
    ),
    "no turn still runs": "UPDATE runtime_turn SET status = 'running' WHERE id = %(next)s",
    "an ended turn says what came of it": "UPDATE runtime_turn SET finished_at = NULL WHERE id = %(turn)s",
    "a turn replies once, and what it replied is its reply": (
        "UPDATE conversations_message SET is_reply = false WHERE turn_id = %(turn)s"
    ),
    "steps count from 1 without a gap": "UPDATE runtime_modelcall SET step = step + 1 WHERE turn_id = %(turn)s",
    "a turn begins anew three times at most, and only where it did nothing that is not done again": (
        "UPDATE runtime_turn SET round = 2 WHERE id = %(turn)s"
    ),
    "what was counted as spent is the sum of the calls": "UPDATE runtime_spend SET output_tokens = output_tokens + 1",
    "every tool an answer called has its step": "DELETE FROM runtime_toolstep WHERE turn_id = %(turn)s",
    "every tool step was asked for by an answer": "UPDATE runtime_toolstep SET call_id = 'another'",
    "no tool call of an ended turn is still open": (
        "UPDATE runtime_toolstep SET state = 'started', finished_at = NULL WHERE repeat_safety = 'idempotent'"
    ),
    "nobody writes with a fence that was passed on": (
        "UPDATE runtime_modelcall SET fence = 2 WHERE turn_id = %(turn)s AND step = 1"
    ),
    "a conversation never has two running turns": """
        INSERT INTO turn_moves (id, tenant_id, conversation_id, turn_id, was, status, fence)
        SELECT -1, tenant_id, conversation_id, 0, '', 'running', 1 FROM runtime_turn WHERE id = %(turn)s
    """,
    "a fence only grows": "UPDATE turn_moves SET fence = 2 WHERE id = (SELECT min(id) FROM turn_moves)",
    "replies stand in the order of their turns": (
        "UPDATE conversations_message SET turn_id = 0 WHERE turn_id = %(next)s"
    ),
    "no event is passed over": "UPDATE conversations_inboundevent SET turn_id = %(turn)s + %(next)s - turn_id",
    "no row belongs to another tenant than its turn": (
        "UPDATE runtime_modelcall SET tenant_id = %(other)s WHERE turn_id = %(turn)s"
    ),
    "no row stands in another conversation than its turn": "UPDATE conversations_inboundevent SET conversation_id = 0",
    "an own write has a step for each record": "DELETE FROM runtime_toolstep WHERE repeat_safety = 'transactional'",
    "an own write that was reported was made": """
        UPDATE governance_changetext SET after = '{}' FROM governance_changerecord AS record
         WHERE record.id = record_id AND record.act = 'memory.amend'
    """,
    "a write of others is called once by a yes, and never without one": (
        "UPDATE runtime_toolstep SET name = 'shop__refund' WHERE repeat_safety = 'unsafe'"
    ),
    "of a call that may have happened a person was asked": (
        "UPDATE runtime_toolstep SET state = 'unknown' WHERE repeat_safety = 'unsafe'"
    ),
    "a question opens one conversation, in which it is put once": ORPHAN_DELEGATION,
    "a question has one answer": ORPHAN_DELEGATION,
    "what a customer was told is noted once for each webhook": ORPHAN_DELIVERY,
    "no webhook waits for anything": ORPHAN_DELIVERY,
}


@dataclass
class FakePaymentTool:
    """Somebody else's till, which knows its customers' keys."""

    repeat_safety: ToolStep.RepeatSafety
    booked: dict[str, int] = field(default_factory=dict)

    @property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(
            self.repeat_safety.value, "Book it.", {"type": "object", "properties": {"order": {"type": "string"}}}
        )

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        assert arguments
        assert timeout_seconds
        self.booked[key] = self.booked.get(key, 0) + 1
        return CallOutcome("Booked.")


@dataclass(frozen=True)
class TwoTurns:
    """Two turns of one conversation, with every kind of tool, and what they were billed."""

    raw: psycopg.Connection[Any]
    effects: Effects
    bill: Bill


@pytest.fixture
def day(raw: psycopg.Connection[Any], standin: StandIn) -> TwoTurns:
    keyed, unsafe = FakePaymentTool(ToolStep.RepeatSafety.IDEMPOTENT), FakePaymentTool(ToolStep.RepeatSafety.UNSAFE)
    world, toolbox = make_world(), Toolbox({"idempotent": keyed, "unsafe": unsafe})
    make_world()
    standin.open_bill()
    standin.play(
        *(tool("list_skills"), tool("update_memory", body="Orders have numbers."), tool("idempotent", order="1")),
        *(tool("update_customer_profile", notes="Is in a hurry."), tool("unsafe", order="1"), reply("Done.")),
    )
    for text in ("Book order 1", "Thank you"):
        event = send_customer_message(world, text)
        answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=toolbox)
    return TwoTurns(raw, Effects(keyed.booked, unsafe.booked), Bill.shown(standin.bill()))


def test_after_an_ordinary_day_nothing_is_broken(day: TwoTurns) -> None:
    # R126, R127
    assert broken(day.raw, effects=day.effects, bill=day.bill) == []
    assert set(counted(day.raw, effects=day.effects, bill=None)) > set(TURN_INVARIANTS)


def test_each_invariant_notices_the_row_that_breaks_it(day: TwoTurns) -> None:
    assert BREAKING_STATEMENTS.keys() == TURN_INVARIANTS.keys()
    for name, sql in BREAKING_STATEMENTS.items():
        day.raw.execute("SET LOCAL session_replication_role = replica")
        for index in ("one_running_turn_per_conversation", "turn_replies_once", "step_is_written_once"):
            day.raw.execute(f"DROP INDEX {index}")
        if name == "no event is passed over":
            day.raw.execute("UPDATE conversations_inboundevent SET due_at = due_at - interval '1 minute'")
        day.raw.execute(sql, _ids(day.raw))
        found = counted(day.raw, effects=day.effects, bill=None)
        assert found[name], f"not noticed: {name}"
    assert broken(day.raw, effects=day.effects, bill=day.bill) == []


def test_effects_that_do_not_fit_the_journal_are_noticed(day: TwoTurns) -> None:
    [keyed], [unsafe] = day.effects.keyed, day.effects.unsafe
    for effects in (
        Effects({keyed: 2}, {unsafe: 1}),
        Effects({}, {unsafe: 1}),
        Effects({keyed: 1, "0:1:1:0": 1}, {unsafe: 1}),
        Effects({keyed: 1}, {unsafe: 2}),
        Effects({keyed: 1}, {}),
        Effects({keyed: 1}, {unsafe: 1}, [(1, 1)]),
    ):
        assert len(broken(day.raw, effects=effects, bill=None)) == 1, effects


def test_a_bill_that_the_ledger_does_not_explain_is_noticed(day: TwoTurns) -> None:
    calls, tokens = day.bill.calls, day.bill.tokens
    more = {**tokens, "output_tokens": tokens["output_tokens"] + 1}
    for bill in (Bill(calls + 1, tokens), Bill(calls - 1, tokens), Bill(calls, more)):
        assert len(broken(day.raw, effects=day.effects, bill=bill)) == 1, bill
    assert broken(day.raw, effects=day.effects, bill=Bill(calls + 1, more, forgiven=1)) == []


def _ids(raw: psycopg.Connection[Any]) -> dict[str, int]:
    turns = [turn_id for (turn_id,) in raw.execute("SELECT id FROM runtime_turn ORDER BY id")]
    [(other,)] = raw.execute("SELECT max(id) FROM tenants_tenant")
    return {"turn": turns[0], "next": turns[1], "other": other}
