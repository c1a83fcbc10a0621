"""What people let out: taken over, written, sent, answered; once, in order, and the agent knows of it."""

import pytest

from apps.conversations.actions import (
    hand_back_conversation,
    open_conversation,
    receive_message,
    resolve_conversation,
    send_message,
    take_over_conversation,
)
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.models import Draft, Escalation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import (
    Conflict,
    GovernanceError,
    IllegalTransition,
    Invalid,
    NotPermitted,
    NotVisible,
    ReviewedContentChanged,
    Stale,
)
from apps.llm.model_backend import ModelReply, ModelRequest, StopReason, Usage
from apps.runtime.models import Turn
from apps.runtime.turn_store.turn_journal import read_history
from apps.runtime.turns.operator_replies import (
    answer_question,
    hand_back,
    send_reviewed_draft,
    write_to_customer,
)
from apps.runtime.turns.waiting_messages import conversation_length
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.due_work import due_work
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.drivers.conversation import lines, reply, run_customer_turn, run_turn, send_customer_message, turn_of
from tests.support.factories.delayed_turns import delay_turn, set_day_budget, spend_day_budget
from tests.support.factories.desk import make_escalation, make_taken_over_conversation, make_waiting_draft
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def thread_of(world: World, event: InboundEvent) -> Conversation:
    with acting_as(world.operator):
        return Conversation.objects.visible_to(world.operator).get(pk=event.conversation_id)


def write_message(world: World, conversation: Conversation, text: str, actor: Actor | None = None) -> Message:
    actor = actor or world.operator
    with acting_as(actor):
        seen = conversation_length(conversation)
    return write_to_customer(conversation, actor=actor, text=text, seen_length=seen)


def agent_history(world: World, conversation: Conversation) -> list[tuple[str, str]]:
    """What the agent is told of the conversation so far."""
    history = read_history(conversation, actor=world.system)
    return [(wire["role"], "".join(block.get("text", "") for block in wire["content"])) for wire in history]  # type: ignore[union-attr, misc]  # messages as the API takes them


def test_a_person_answers_what_waits_and_the_customer_finds_it_as_the_reply(world: World) -> None:
    # R134
    event = send_customer_message(world, "Is anybody there?")
    thread = take_over_conversation(thread_of(world, event), actor=world.operator)
    message = write_message(world, thread, "Yes, I am.")
    turn = turn_of(world, event)
    assert (turn.status, turn.reply_id, message.turn_id) == (Turn.Status.DONE, message.pk, turn.pk)
    assert (turn.outcome, message.is_reply) == (Turn.Outcome.REPLIED, True)
    assert lines(world, thread.pk) == [("customer", "Is anybody there?"), ("operator", "Yes, I am.")]
    [(role, text)] = agent_history(world, thread)
    assert role == "user"
    assert (
        text.index("Is anybody there?")
        < text.index("A colleague took this conversation in hand")
        < text.index("Yes, I")
    )


def test_the_agent_goes_on_with_what_a_person_said(world: World, standin: StandIn) -> None:
    event = send_customer_message(world, "Is anybody there?")
    thread = take_over_conversation(thread_of(world, event), actor=world.operator)
    write_message(world, thread, "Yes, I am.")
    write_message(world, thread, "Your parcel is found.")
    hand_back(thread, actor=world.operator)
    standin.play(reply("Anything else?"))
    turn = run_turn(world, send_customer_message(world, "Thank you!"), standin.backend)
    assert turn.status == Turn.Status.DONE, turn.failure
    assert [sender for sender, _ in lines(world, thread.pk)] == [
        *("customer", "operator", "operator", "customer", "agent")
    ]
    assert sum("A colleague took this conversation" in text for _, text in agent_history(world, thread)) == 2


def test_a_message_on_a_line_and_by_text_keeps_its_header(world: World) -> None:
    event = send_customer_message(world, "Hi", channel="sms", customer="sms:+15550100", thread="t", line_key="sales")
    instruct(world, event)
    thread = take_over_conversation(thread_of(world, event), actor=world.operator)
    write_message(world, thread, "Hello.")
    [(_, text)] = agent_history(world, thread)
    assert "[New SMS" in text
    assert "line sales" in text
    assert "Be brief." in text


def instruct(world: World, event: InboundEvent) -> None:
    thread = thread_of(world, event)
    receive_message(
        world.agent.pk,
        actor=world.operator,
        channel=thread.channel,
        conversation_key=thread.conversation_key,
        text="Be brief.",
        idempotency_key="be-brief",
    )


def test_nobody_writes_twice_or_past_a_colleague(world: World) -> None:
    thread = make_taken_over_conversation(world)
    with acting_as(world.operator):
        seen = conversation_length(thread)
    write_to_customer(thread, actor=world.operator, text="Hello.", seen_length=seen)
    with pytest.raises(Stale, match="went on since you read it"):
        write_to_customer(thread, actor=world.operator, text="Hello.", seen_length=seen)
    assert [text for _, text in lines(world, thread.pk)].count("Hello.") == 1


class TakeOverDuringCall:
    """A model during whose call a person opens the page of the conversation, takes over, and may write at once."""

    def __init__(self, world: World, event: InboundEvent, *, writes_at_once: bool) -> None:
        self.world, self.event, self.writes_at_once = world, event, writes_at_once
        self.seen = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        thread = take_over_conversation(thread_of(self.world, self.event), actor=self.world.operator)
        with acting_as(self.world.operator):
            self.seen = conversation_length(thread)
        if self.writes_at_once:
            write_to_customer(thread, actor=self.world.operator, text="I will look.", seen_length=self.seen)
        usage = Usage(1_000, 200)
        return ModelReply(
            "msg",
            request.model,
            StopReason.END_TURN,
            ({"type": "text", "text": "No."},),
            "No.",
            (),
            usage,
            is_stand_in=False,
        )


@pytest.mark.parametrize("writes_at_once", [True, False])
def test_first_message_after_a_takeover_in_mid_turn_is_sent_and_follows_the_customers(
    world: World, writes_at_once: bool
) -> None:
    event = send_customer_message(world, "Is anybody there?")
    model = TakeOverDuringCall(world, event, writes_at_once=writes_at_once)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    if not writes_at_once:
        # The worker has ended its turn since the person read the page.
        write_to_customer(thread_of(world, event), actor=world.operator, text="I will look.", seen_length=model.seen)
    assert lines(world, event.conversation_id) == [("customer", "Is anybody there?"), ("operator", "I will look.")]
    assert "Is anybody there?" in str(agent_history(world, thread_of(world, event)))
    hand_back(thread_of(world, event), actor=world.operator)
    assert (world.tenant.pk, event.conversation_id) not in due_work("turns")


def test_person_takes_over_the_agents_running_turn_with_its_messages(world: World) -> None:
    event = send_customer_message(world, "Is anybody there?")
    with acting_as(world.system):
        running = Turn.objects.create(
            tenant_id=world.tenant.pk, conversation_id=event.conversation_id, lease_until="2999-01-01T00:00:00Z"
        )
        InboundEvent.objects.filter(pk=event.pk).update(turn_id=running.pk)
    thread = take_over_conversation(thread_of(world, event), actor=world.operator)
    later = send_customer_message(world, "And now?")
    message = write_message(world, thread, "One moment.")
    turn = turn_of(world, later)
    assert (turn.pk, turn.status, turn.reply_id) == (running.pk, Turn.Status.DONE, message.pk)
    assert turn.fence == running.fence + 1
    assert [text for _, text in lines(world, thread.pk)] == ["Is anybody there?", "And now?", "One moment."]


def test_person_answers_a_delayed_turn_once_and_after_the_customer(world: World) -> None:
    spend_day_budget(world)
    event, _ = delay_turn(world, "Where is my parcel?")
    thread = take_over_conversation(thread_of(world, event), actor=world.operator)
    write_message(world, thread, "It is in Lyon.")
    shown = lines(world, thread.pk)
    assert [sender for sender, _ in shown] == ["customer", "agent", "operator"]
    assert turn_of(world, event).status == Turn.Status.DONE
    hand_back(thread, actor=world.operator)
    set_day_budget(world, None)
    assert (world.tenant.pk, thread.pk) not in due_work("turns")


def test_colleague_sends_no_draft_and_no_answer_where_another_person_took_over(world: World) -> None:
    thread = make_conversation(world)
    draft, question = make_waiting_draft(world, thread), make_escalation(world, thread)
    take_over_conversation(thread, actor=world.operator)
    with pytest.raises(Conflict, match="Take it over from them first"):
        send_reviewed_draft(draft, actor=world.admin, reviewed_sha256=draft.text_sha256)
    with pytest.raises(Conflict, match="Take it over from them first"):
        answer_question(question, actor=world.admin, answer="Yes.", word_for_word=True)
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256)


def test_a_person_writes_only_where_the_agent_is_locked_out(world: World) -> None:
    thread = make_conversation(world)
    with pytest.raises(Conflict, match="Take the conversation over first"):
        write_message(world, thread, "Hello.")
    take_over_conversation(thread, actor=world.operator)
    for text, flaw in ((" ", "empty"), ("x" * 20_001, "at most"), ("\x00", "NUL")):
        with pytest.raises(Invalid, match=flaw):
            write_message(world, thread, text)
    with pytest.raises(NotPermitted):
        write_message(world, thread, "Me too.", world.bot)
    with pytest.raises(Conflict, match="Take it over from them first"):
        write_message(world, thread, "Hello.", world.admin)
    take_over_conversation(thread, actor=world.admin)
    write_message(world, thread, "Hello.", world.admin)


def test_a_conversation_is_taken_over_and_handed_back_once(world: World) -> None:
    thread = make_conversation(world)
    with pytest.raises(Conflict, match="Nobody has taken over"):
        hand_back_conversation(thread, actor=world.operator)
    take_over_conversation(thread, actor=world.operator)
    with pytest.raises(Conflict, match="You have taken over this conversation already"):
        take_over_conversation(thread, actor=world.operator)
    assert (thread.taken_over_by, thread.is_held) == (world.operator.label, True)
    take_over_conversation(thread, actor=world.admin)
    assert thread.taken_over_by == world.admin.label
    hand_back_conversation(thread, actor=world.operator)
    assert (thread.taken_over_by, thread.is_held) == ("", False)
    resolve_conversation(thread, actor=world.operator)
    with pytest.raises(IllegalTransition, match="This conversation is resolved"):
        take_over_conversation(thread, actor=world.operator)
    with pytest.raises(IllegalTransition, match="takes no more messages"):
        send_message(thread, actor=world.operator, sender=Message.Sender.OPERATOR, text="Hello.", wire={})


def test_an_agent_neither_ends_nor_frees_what_a_person_holds(world: World) -> None:
    thread = make_taken_over_conversation(world)
    with pytest.raises(NotPermitted, match="A colleague has taken over this conversation"):
        resolve_conversation(thread, actor=world.bot)
    with pytest.raises(NotPermitted):
        hand_back_conversation(thread, actor=world.bot)
    for statement in (
        "UPDATE conversations_conversation SET status = 'resolved', resolved_at = now() WHERE id = %s",
        "UPDATE conversations_conversation SET taken_over_by = '', taken_over_by_id = NULL, taken_over_at = NULL WHERE id = %s",
    ):
        assert run_and_undo(world.bot, statement, [thread.pk]).sqlstate == NO_RIGHT
    resolve_conversation(thread, actor=world.operator)


def test_a_message_goes_to_a_conversation_of_the_tenant_alone(world: World) -> None:
    gone = make_conversation(world)
    gone.pk = 0
    with pytest.raises(NotVisible):
        send_message(gone, actor=world.operator, sender=Message.Sender.OPERATOR, text="Hello.", wire={})


def test_a_draft_goes_out_as_the_agents_words(world: World) -> None:
    # R134, R138
    thread = make_conversation(world)
    draft = make_waiting_draft(world, thread)
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256)
    assert lines(world, thread.pk)[-1] == ("agent", "It is on its way.")
    assert agent_history(world, thread) == [("assistant", "It is on its way.")]
    assert (draft.status, draft.sent_text) == (Draft.Status.SENT, draft.text)


def test_an_edited_draft_goes_out_in_the_persons_words(world: World) -> None:
    thread = make_conversation(world)
    draft = make_waiting_draft(world, thread)
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256, text="It arrives tomorrow.")
    assert lines(world, thread.pk)[-1] == ("agent", "It arrives tomorrow.")
    assert agent_history(world, thread) == [("assistant", "It arrives tomorrow.")]
    assert (draft.status, draft.text) == (Draft.Status.SENT_EDITED, "It is on its way.")
    unchanged = make_waiting_draft(world, thread)
    send_reviewed_draft(unchanged, actor=world.operator, reviewed_sha256=unchanged.text_sha256, text=unchanged.text)
    assert unchanged.status == Draft.Status.SENT


def test_what_is_refused_leaves_no_message(world: World) -> None:
    thread = make_conversation(world)
    draft = make_waiting_draft(world, thread)
    before = lines(world, thread.pk)
    refused: list[type[GovernanceError]] = []
    for actor, seen in ((world.operator, "0" * 64), (world.bot, draft.text_sha256)):
        with pytest.raises(GovernanceError) as refusal:
            send_reviewed_draft(draft, actor=actor, reviewed_sha256=seen)
        refused.append(refusal.type)
    assert refused == [ReviewedContentChanged, NotPermitted]
    assert lines(world, thread.pk) == before
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256)
    with pytest.raises(IllegalTransition):
        send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256)
    assert len(lines(world, thread.pk)) == len(before) + 1


def test_an_answer_goes_back_to_the_agent_who_relays_it(world: World, standin: StandIn) -> None:
    # R135, R138
    thread = thread_of(world, send_customer_message(world, "May I send it back?"))
    run_customer_turn(world, "Hello?", standin)
    question = make_escalation(world, thread)
    answer_question(question, actor=world.operator, answer="Yes, within a month.")
    standin.play(reply("You may, within a month."))
    with acting_as(world.system):
        event = InboundEvent.objects.get(conversation=thread, turn_id=None)
    assert (event.kind, event.sent_by) == (InboundEvent.Kind.OPERATOR, world.operator.label)
    turn = run_turn(world, event, standin.backend)
    assert turn.status == Turn.Status.DONE, turn.failure
    assert "a question that you handed over (missing knowledge)" in agent_history(world, thread)[-2][1]
    assert lines(world, thread.pk)[-1] == ("agent", "You may, within a month.")
    assert question.status == Escalation.Status.ANSWERED


def test_an_answer_may_go_to_the_customer_word_for_word(world: World) -> None:
    question = make_escalation(world)
    answer_question(question, actor=world.operator, answer="Yes, within a month.", word_for_word=True)
    assert lines(world, question.conversation_id)[-1] == ("operator", "Yes, within a month.")
    with acting_as(world.operator):
        assert not question.conversation.events.exists()
    [(role, text)] = agent_history(world, question.conversation)
    assert (role, "A colleague took this conversation in hand" in text) == ("user", True)


def test_an_answer_after_the_end_opens_what_follows(world: World) -> None:
    thread = open_conversation(
        world.agent.pk, actor=world.bot, channel="http", conversation_key="ended", end_user_key="http:abc123"
    )
    question = make_escalation(world, thread)
    resolve_conversation(thread, actor=world.operator)
    answered = make_escalation(world, make_conversation(world))
    with pytest.raises(IllegalTransition, match="takes no more messages"):
        answer_question(question, actor=world.operator, answer="Yes.", word_for_word=True)
    answer_question(question, actor=world.operator, answer="Yes.")
    with acting_as(world.operator):
        following = Conversation.objects.visible_to(world.operator).open().get(conversation_key="ended")
    assert following.follows_id == thread.pk
    assert answered.status == Escalation.Status.OPEN
