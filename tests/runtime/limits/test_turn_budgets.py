"""What a turn and a day may cost: the last reply that money buys, the day that is paid for, and the count of it."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from django.db.models import Sum
from django.test import override_settings

from apps.desk.models import Escalation
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import JsonObject, ModelReply, ModelRequest, StopReason, ToolUse, Usage
from apps.llm.prices import cost_micro_usd
from apps.prompt.rendering.user_turn import last_step_notice
from apps.runtime.models import ModelCall, Spend, Turn
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.conversation import expire_lease, lines, send_customer_message, turn_of
from tests.support.drivers.dying_worker import PowerCutError
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db

MODEL = "claude-sonnet-5-5"
USAGE = Usage(1_000, 200)
PRICE = cost_micro_usd(MODEL, USAGE) or 0
LARGE_BUDGET = 1_000_000


@pytest.fixture
def world() -> World:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, model=MODEL)
    return world


@dataclass
class PricedModel:
    """A model that costs money: it looks at the skills so many times, then answers."""

    looks: int = 0
    words: str = ""
    model: str = MODEL
    asked: list[ModelRequest] = field(default_factory=list)

    def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if len(self.asked) > self.looks:
            return self._make_reply("Here you are.", StopReason.END_TURN)
        arguments: JsonObject = {"skill_id": len(self.asked)}
        return self._make_reply(self.words, StopReason.TOOL_USE, ToolUse(f"t{len(self.asked)}", "get_skill", arguments))

    def _make_reply(self, text: str, stop: StopReason, *uses: ToolUse) -> ModelReply:
        blocks: list[JsonObject] = [{"type": "text", "text": text}] if text else []
        blocks += [
            {"type": "tool_use", "id": use.tool_use_id, "name": use.name, "input": use.arguments} for use in uses
        ]
        return ModelReply("msg", self.model, stop, tuple(blocks), text, uses, USAGE, is_stand_in=False)

    @property
    def told_last(self) -> list[bool]:
        """Which calls were told that no other follows."""
        return [
            last_step_notice() in str(request.messages[-1]["content"]).replace("\\n", "\n") for request in self.asked
        ]


def run_turn(world: World, model: PricedModel, text: str = "Hello", thread: str = "thread") -> Turn:
    event = send_customer_message(world, text, thread=thread)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    return turn_of(world, event)


def budget_of_a_day(world: World, micro_usd: int | None) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, day_budget_micro_usd=micro_usd)


def escalations(world: World) -> list[tuple[str, str]]:
    with acting_as(world.operator):
        return list(Escalation.objects.visible_to(world.operator).values_list("reason", "question"))


def test_without_budgets_nobody_is_told_to_hurry(world: World) -> None:
    model = PricedModel(looks=3)
    assert run_turn(world, model).status == Turn.Status.DONE
    assert model.told_last == [False] * 4


def test_the_last_step_is_told_so_and_its_words_leave(world: World) -> None:
    # R125
    amend_agent(world.agent, actor=world.admin, max_steps=2)
    model = PricedModel(looks=5, words="I looked, and found nothing.")
    turn = run_turn(world, model)
    assert (turn.status, turn.outcome) == (Turn.Status.DONE, Turn.Outcome.REPLIED)
    assert model.told_last == [False, True]
    assert lines(world, turn.conversation_id)[-1] == ("agent", "I looked, and found nothing.")
    assert escalations(world) == []
    # The tools stand as they stood, and every mark stands before the note: what is cached goes on being read.
    first, last = model.asked
    assert [tool.wire for tool in last.tools] == [tool.wire for tool in first.tools]
    at = len(last.messages) - 1
    noted = [mark.block_index for mark in last.message_marks if mark.message_index == at]
    assert all(block < len(last.messages[at]["content"]) - 1 for block in noted)  # type: ignore[arg-type]  # a list
    # The note was for that call alone.
    again = PricedModel()
    run_turn(world, again, "And now?")
    assert last_step_notice() not in str(again.asked[0].messages).replace("\\n", "\n")


def test_a_last_step_without_words_asks_a_person(world: World) -> None:
    # R125
    amend_agent(world.agent, actor=world.admin, max_steps=2)
    turn = run_turn(world, PricedModel(looks=5))
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, "steps_spent")
    assert [reason for reason, _ in escalations(world)] == ["budget"]
    with acting_as(world.system):
        # The call that was not made is paid for.
        assert ModelCall.objects.filter(turn=turn).count() == 2


def test_a_turn_that_spends_its_budget_answers_with_what_it_knows(world: World) -> None:
    # R125, R166
    amend_agent(world.agent, actor=world.admin, turn_budget_micro_usd=PRICE * 3)
    model = PricedModel(looks=7, words="As far as I know, yes.")
    turn = run_turn(world, model)
    assert turn.status == Turn.Status.DONE
    assert model.told_last == [*[False] * (len(model.asked) - 1), True]
    assert 2 <= len(model.asked) <= 4
    with acting_as(world.system):
        spent = ModelCall.objects.filter(turn=turn).aggregate(sum=Sum("cost_micro_usd"))["sum"]
    assert spent <= PRICE * 4


def test_a_budget_that_pays_for_no_call_still_buys_a_reply(world: World) -> None:
    amend_agent(world.agent, actor=world.admin, turn_budget_micro_usd=1)
    model = PricedModel()
    assert run_turn(world, model).status == Turn.Status.DONE
    assert model.told_last == [True]


def test_a_turn_without_money_or_words_asks_a_person(world: World) -> None:
    amend_agent(world.agent, actor=world.admin, turn_budget_micro_usd=1)
    turn = run_turn(world, PricedModel(looks=1))
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, "turn_budget_spent")
    assert [reason for reason, _ in escalations(world)] == ["budget"]


def test_a_turn_resumed_by_another_worker_knows_what_it_has_spent(world: World) -> None:
    # R127, R166
    @dataclass
    class Dying(PricedModel):
        def complete(self, request: ModelRequest) -> ModelReply:
            if len(self.asked) == 2:
                raise PowerCutError
            return super().complete(request)

    amend_agent(world.agent, actor=world.admin, turn_budget_micro_usd=PRICE * 3)
    event = send_customer_message(world, "Hello")
    with pytest.raises(PowerCutError):
        answer_conversation(world.tenant.pk, event.conversation_id, backend=Dying(looks=7))
    expire_lease(world, turn_of(world, event))
    model = PricedModel(looks=7, words="As far as I know, yes.")
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    assert turn_of(world, event).status == Turn.Status.DONE
    assert model.told_last[-1]
    assert len(model.asked) <= 2


def test_what_customers_write_waits_when_the_day_is_paid_for_and_a_person_is_asked_once(world: World) -> None:
    # R166
    budget_of_a_day(world, PRICE)
    run_turn(world, PricedModel())
    for number in range(2):
        model = PricedModel()
        turn = run_turn(world, model, f"Hello {number}", thread=f"thread-{number}")
        assert (turn.status, turn.failure_code, turn.is_released) == (Turn.Status.RUNNING, "day_budget_spent", True)
        assert turn.run_at - turn.started_at >= timedelta(minutes=14)
        assert model.asked == []
    [(reason, question)] = escalations(world)
    assert reason == "budget"
    assert "budget of the day is spent" in question
    # More money, or a new day, and it is answered without anybody's doing; waiting for it makes nobody older.
    budget_of_a_day(world, LARGE_BUDGET)
    with acting_as(world.system):
        Turn.objects.filter(pk=turn.pk).update(lease_until=turn.started_at - timedelta(days=2), run_at=turn.started_at)
    answer_conversation(world.tenant.pk, turn.conversation_id, backend=PricedModel())
    with acting_as(world.system):
        turn.refresh_from_db()
    assert (turn.status, turn.crashes) == (Turn.Status.DONE, 0)


def test_the_day_may_end_in_the_middle_of_a_turn_which_goes_on_behind_its_steps(world: World) -> None:
    budget_of_a_day(world, LARGE_BUDGET)
    event = send_customer_message(world, "Hello")

    @dataclass
    class Spending(PricedModel):
        def complete(self, request: ModelRequest) -> ModelReply:
            reply = super().complete(request)
            return replace(reply, usage=Usage(1_000_000, 200)) if len(self.asked) == 1 else reply

    model = Spending(looks=1)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    turn = turn_of(world, event)
    assert (turn.status, turn.failure_code, len(model.asked)) == (Turn.Status.RUNNING, "day_budget_spent", 1)
    budget_of_a_day(world, None)
    expire_lease(world, turn)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    assert turn_of(world, event).status == Turn.Status.DONE
    assert len(model.asked) == 2


@pytest.mark.slow
def test_turns_that_are_answered_at_once_do_not_spend_the_same_money(world: World) -> None:
    # R166
    run_turn(world, PricedModel())
    budget_of_a_day(world, PRICE * 2)
    younger = send_customer_message(world, "And me?", thread="younger")

    @dataclass
    class Slow(PricedModel):
        def complete(self, request: ModelRequest) -> ModelReply:
            answer_conversation(world.tenant.pk, younger.conversation_id, backend=(model := PricedModel()))
            assert model.asked == []
            return super().complete(request)

    assert run_turn(world, Slow(), thread="older").status == Turn.Status.DONE
    waiting = turn_of(world, younger)
    assert (waiting.status, waiting.failure_code) == (Turn.Status.RUNNING, "day_budget_spent")
    with acting_as(world.system):
        assert Spend.objects.get().cost_micro_usd == PRICE * 2
    # What waits holds nothing back.
    budget_of_a_day(world, PRICE * 3)
    assert run_turn(world, PricedModel(), thread="another").status == Turn.Status.DONE


def test_yesterdays_money_is_not_todays(world: World) -> None:
    budget_of_a_day(world, PRICE * 20)
    with acting_as(world.system):
        Spend.objects.create(
            tenant_id=world.tenant.pk, agent=world.agent, day="2001-01-01", calls=1, cost_micro_usd=PRICE * 30
        )
    assert run_turn(world, PricedModel()).status == Turn.Status.DONE


def test_what_was_spent_is_counted_by_agent_and_day(world: World) -> None:
    # R166, R185
    run_turn(world, PricedModel(looks=2))
    run_turn(world, PricedModel(model="a-model-nobody-knows"), "Again")
    with acting_as(world.system):
        [spend] = Spend.objects.all()
        calls = ModelCall.objects.aggregate(
            cost=Sum("cost_micro_usd"), fresh=Sum("input_tokens"), output=Sum("output_tokens")
        )
        [day] = ModelCall.objects.dates("created_at", "day")
    assert (spend.agent_id, spend.calls, spend.unpriced_calls) == (world.agent.pk, 4, 1)
    assert (spend.cost_micro_usd, spend.input_tokens, spend.output_tokens) == tuple(calls.values())
    assert abs((spend.day - day).days) <= 1


@override_settings(LOOP_TURNS=2)
def test_a_conversation_too_busy_for_people_is_given_to_one(world: World) -> None:
    # R125
    for number in range(2):
        assert run_turn(world, PricedModel(), f"Hello {number}").status == Turn.Status.DONE
    model = PricedModel()
    turn = run_turn(world, model, "Hello again")
    assert (turn.status, turn.outcome, turn.failure_code) == ("failed", "escalated", "agent_loop")
    assert model.asked == []
    [(reason, question)] = escalations(world)
    assert reason == "budget"
    assert "as if two machines talked to each other" in question
    assert run_turn(world, PricedModel(), "Hello", thread="another").status == Turn.Status.DONE
