"""Drafts, escalations and send rules: decided once, by people, on exactly what they saw."""

from typing import Any

import pytest

from apps.conversations.models import Conversation
from apps.desk.actions import (
    answer_escalation,
    discard_draft,
    dismiss_escalation,
    lift_send_rule,
    make_draft,
    open_escalation,
    send_draft,
    send_edited_draft,
    write_send_rule,
)
from apps.desk.models import Draft, Escalation, SendRule
from apps.desk.queues import waiting_drafts, waiting_escalations
from apps.desk.rules import Grounding, GroundingFact, SendRuleValue
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import (
    Conflict,
    GovernanceError,
    IllegalTransition,
    Invalid,
    NotPermitted,
    ReviewedContentChanged,
)
from apps.governance.models import ChangeRecord, Taint
from apps.prompt.prompt_input import SendMode
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.factories.desk import make_escalation, make_send_rule, make_waiting_draft
from tests.support.worlds.world import World, make_conversation, make_neighbour, make_skill, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]

POLICY, UNSUPPORTED = Escalation.Reason.POLICY, Escalation.Reason.UNSUPPORTED


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def thread(world: World) -> Conversation:
    return make_conversation(world)


def reload_row(world: World, row: Any) -> Any:  # Any: a row of the desk
    with acting_as(world.operator):
        return type(row).objects.visible_to(world.operator).get(pk=row.pk)


def last_message_id(world: World, conversation: Conversation) -> int:
    with acting_as(world.operator):
        return int(conversation.messages.latest("position").pk)


def list_acts(world: World, row: Any) -> list[str]:  # Any: a row of the desk
    with acting_as(world.operator):
        about = ChangeRecord.objects.filter(subject_type=row._meta.label_lower, subject_id=row.pk)
        return list(about.order_by("id").values_list("act", flat=True))


def open_escalations(conversation_id: int, actor: Actor) -> int:
    """How many questions of a conversation wait."""
    with acting_as(actor):
        return Escalation.objects.visible_to(actor).open().of_conversation(conversation_id).count()


def test_a_draft_waits_with_its_label_and_the_facts_under_it(world: World, thread: Conversation) -> None:
    # R134, R136
    facts = [GroundingFact(Grounding.SKILL, "issue-a-refund", 12), GroundingFact(Grounding.TOOL, "find_order")]
    draft = make_draft(
        thread.pk,
        actor=world.system,
        agent_id=world.agent.pk,
        turn_id=5,
        text="It is refunded.",
        grounding=Grounding.SKILL,
        facts=facts,
    )
    waiting = reload_row(world, draft)
    assert (waiting.status, waiting.grounding, waiting.taint) == (Draft.Status.OPEN, "skill", Taint.CUSTOMER)
    assert waiting.facts[0] == {"kind": "skill", "name": "issue-a-refund", "record_id": 12}
    assert list_acts(world, draft) == ["draft.create"]
    with acting_as(world.operator):
        waits = waiting_drafts(world.operator).count(), waiting_escalations(world.operator).count()
    assert waits == (1, 0)


def test_a_later_draft_overtakes_the_one_that_waits(world: World, thread: Conversation) -> None:
    first, second = make_waiting_draft(world, thread), make_waiting_draft(world, thread, "It arrives today.")
    assert (reload_row(world, first).status, reload_row(world, second).status) == (
        Draft.Status.SUPERSEDED,
        Draft.Status.OPEN,
    )
    assert list_acts(world, first) == ["draft.create", "draft.supersede"]
    with pytest.raises(ReviewedContentChanged) as refusal:
        send_draft(
            first, actor=world.operator, message_id=last_message_id(world, thread), reviewed_sha256=first.text_sha256
        )
    assert refusal.value.current_content == {"draft_id": second.pk, "text": "It arrives today."}
    assert f"Draft {second.pk} replaces it" in str(refusal.value)
    assert reload_row(world, second).status == Draft.Status.OPEN


def test_an_overtaken_draft_without_another_says_so(world: World, thread: Conversation) -> None:
    first, second = make_waiting_draft(world, thread), make_waiting_draft(world, thread)
    discard_draft(second, actor=world.operator, reason_code="wrong")
    with pytest.raises(ReviewedContentChanged, match="No draft waits there any more") as refusal:
        send_draft(
            first, actor=world.operator, message_id=last_message_id(world, thread), reviewed_sha256=first.text_sha256
        )
    assert refusal.value.current_content is None


def test_a_yes_is_bound_to_the_words_the_person_saw(world: World, thread: Conversation) -> None:
    draft = make_waiting_draft(world, thread)
    sending: dict[str, Any] = {"actor": world.operator, "message_id": last_message_id(world, thread)}
    with pytest.raises(ReviewedContentChanged, match="This draft has another text than the one you read"):
        send_draft(draft, **sending, reviewed_sha256="0" * 64)
    send_draft(draft, **sending, reviewed_sha256=draft.text_sha256)
    sent = reload_row(world, draft)
    assert (sent.status, sent.sent_text, sent.message_id) == (Draft.Status.SENT, draft.text, sending["message_id"])
    assert sent.decided_by == world.operator.label
    with pytest.raises(IllegalTransition):
        send_draft(draft, **sending, reviewed_sha256=draft.text_sha256)


def test_an_edited_draft_keeps_both_texts(world: World, thread: Conversation) -> None:
    # R138
    draft = make_waiting_draft(world, thread)
    send_edited_draft(
        draft,
        actor=world.operator,
        message_id=last_message_id(world, thread),
        sent_text="It arrives tomorrow.",
        reviewed_sha256=draft.text_sha256,
    )
    sent = reload_row(world, draft)
    assert (sent.status, sent.text, sent.sent_text) == (
        Draft.Status.SENT_EDITED,
        "It is on its way.",
        "It arrives tomorrow.",
    )


def test_a_discarded_draft_says_what_was_wrong(world: World) -> None:
    # R138
    draft = make_waiting_draft(world)
    with pytest.raises(Invalid, match="what is wrong"):
        discard_draft(draft, actor=world.operator, reason_code="")
    discard_draft(draft, actor=world.operator, reason_code="wrong_tone", reason="Too cheerful.")
    gone = reload_row(world, draft)
    assert (gone.status, gone.reason_code, gone.reason) == (Draft.Status.DISCARDED, "wrong_tone", "Too cheerful.")


def test_an_agent_reads_its_drafts_and_decides_on_none(world: World) -> None:
    draft = make_waiting_draft(world)
    with pytest.raises(NotPermitted):
        send_draft(draft, actor=world.bot, message_id=1, reviewed_sha256=draft.text_sha256)
    with pytest.raises(NotPermitted):
        discard_draft(draft, actor=world.bot, reason_code="wrong")
    for statement in (
        "UPDATE desk_draft SET status = 'discarded', reason_code = 'x', decided_by = 'x'",
        "UPDATE desk_draft SET text = 'x'",
        "DELETE FROM desk_draft",
    ):
        assert run_and_undo(world.bot, statement).sqlstate == NO_RIGHT
    assert run_and_undo(world.bot, "SELECT text FROM desk_draft").rows == 1
    assert run_and_undo(world.bot.serving("http:somebody-else"), "SELECT text FROM desk_draft").rows == 0


def test_nobody_rewrites_what_an_agent_drafted(world: World) -> None:
    make_waiting_draft(world)
    for actor in (world.operator, world.admin, world.system):
        assert run_and_undo(actor, "UPDATE desk_draft SET text = 'x'").sqlstate == NO_RIGHT


def test_a_question_asked_twice_for_one_reason_waits_once(world: World, thread: Conversation) -> None:
    # R135
    asked: dict[str, Any] = {"actor": world.system, "agent_id": world.agent.pk, "turn_id": 5}
    first = open_escalation(thread.pk, **asked, reason=POLICY, question="May it be refunded?")
    again = open_escalation(thread.pk, **asked, reason=POLICY, question="Even after a year?")
    other = open_escalation(thread.pk, **asked, reason=UNSUPPORTED, question="Can we call them?")
    assert (first.pk, other.pk != first.pk) == (again.pk, True)
    assert reload_row(world, first).question == "May it be refunded?\n\nEven after a year?"
    assert open_escalations(thread.pk, world.system) == 2
    assert list_acts(world, first) == ["escalation.open", "escalation.open"]
    open_escalation(thread.pk, **asked, reason=POLICY, question="Even after a year?")
    assert list_acts(world, first) == ["escalation.open", "escalation.open"], "nothing came to it"


def test_an_answer_and_a_dismissal_settle_a_question_for_good(world: World, thread: Conversation) -> None:
    answered, dismissed = make_escalation(world, thread), make_escalation(world, thread, POLICY)
    with pytest.raises(Invalid, match="Write the answer"):
        answer_escalation(answered, actor=world.operator, answer=" ")
    answer_escalation(answered, actor=world.operator, answer="Yes, within a month.")
    dismiss_escalation(dismissed, actor=world.operator, reason="They called.")
    assert (reload_row(world, answered).answer, reload_row(world, answered).decided_by) == (
        "Yes, within a month.",
        world.operator.label,
    )
    assert reload_row(world, dismissed).dismissal_reason == "They called."
    assert open_escalations(thread.pk, world.operator) == 0
    for row in (answered, dismissed):
        with pytest.raises(IllegalTransition, match=r"Cannot dismiss an escalation that is (answered|dismissed)"):
            dismiss_escalation(row, actor=world.operator)
    assert make_escalation(world, thread).pk not in {answered.pk, dismissed.pk}, "the next question is another"


def test_an_escalation_asks_something(world: World, thread: Conversation) -> None:
    with pytest.raises(Invalid, match="what a person should answer"):
        open_escalation(thread.pk, actor=world.bot, agent_id=world.agent.pk, turn_id=None, reason=POLICY, question=" ")


def test_an_agent_asks_in_its_own_name_in_conversations_it_sees(world: World, thread: Conversation) -> None:
    question = make_escalation(world, thread)
    assert (reload_row(world, question).opened_by, reload_row(world, question).taint) == (
        world.bot.label,
        Taint.CUSTOMER,
    )
    with pytest.raises(GovernanceError):
        make_escalation_as(world, thread, "http:somebody-else")
    born = (
        "INSERT INTO desk_escalation (tenant_id, conversation_id, agent_id, reason, question, opened_by, status, answer,"
        " dismissal_reason, decided_by, version, taint, created_at, updated_at)"
        " VALUES (%s, %s, %s, 'policy', 'x', %s, 'open', '', '', '', 1, 'customer', now(), now())"
    )
    values = [world.tenant.pk, thread.pk, world.agent.pk]
    assert run_and_undo(world.bot, born, [*values, world.bot.label]).passed
    assert run_and_undo(world.bot, born, [*values, "operator:1"]).sqlstate == NO_RIGHT
    neighbour = make_neighbour(world)
    assert not run_and_undo(world.bot, born, [*values[:2], neighbour.pk, world.bot.label]).passed


def make_escalation_as(world: World, thread: Conversation, customer: str) -> Escalation:
    return open_escalation(
        thread.pk,
        actor=world.bot.serving(customer),
        agent_id=world.agent.pk,
        turn_id=None,
        reason=POLICY,
        question="May I?",
    )


def test_an_agent_adds_nothing_to_a_settled_question(world: World) -> None:
    question = make_escalation(world)
    change = "UPDATE desk_escalation SET question = 'x' WHERE id = %s"
    assert run_and_undo(world.bot, change, [question.pk]).rows == 1
    answer_escalation(question, actor=world.operator, answer="Yes.")
    assert run_and_undo(world.bot, change, [question.pk]).rows == 0


def test_send_rules_are_read_as_the_modes_take_them(world: World) -> None:
    # R134
    skill = make_skill(world, "approved")
    make_send_rule(world)
    rule = make_send_rule(world, "", "observe", skill)
    with acting_as(world.system):
        found = SendRule.objects.visible_to(world.system).sendings(world.agent.pk)
    assert found == (SendRuleValue(SendMode.SUGGEST, "sms"), SendRuleValue(SendMode.OBSERVE, skill_id=skill.pk))
    lift_send_rule(rule, actor=world.operator)
    with acting_as(world.system):
        assert len(SendRule.objects.visible_to(world.system).sendings(world.agent.pk)) == 1
    assert not run_and_undo(world.bot, "SELECT 1 FROM desk_sendrule").passed


def test_a_send_rule_names_a_channel_or_a_skill_and_is_there_once(world: World) -> None:
    with pytest.raises(Invalid, match="Choose a channel, a skill, or both"):
        make_send_rule(world, "")
    rule = make_send_rule(world)
    with pytest.raises(Conflict, match="There is a rule for this agent"):
        make_send_rule(world)
    with pytest.raises(Invalid, match="A channel is lower-case letters"):
        make_send_rule(world, "Not a channel")
    write_send_rule(rule, actor=world.operator, values={"send_mode": "observe"})
    assert reload_row(world, rule).send_mode == "observe"
    with pytest.raises(NotPermitted):
        write_send_rule(rule, actor=world.operator, values={"channel": "http"})


def test_rows_of_the_desk_name_themselves(world: World) -> None:
    draft, question, rule = make_waiting_draft(world), make_escalation(world), make_send_rule(world)
    assert str(draft) == f"Draft of turn {draft.turn_id}"
    assert str(question) == "The agent does not know (Open)"
    assert str(rule) == "Suggest on channel sms"
    assert str(make_send_rule(world, "", "observe", make_skill(world, "approved"))) == "Observe on every channel"
