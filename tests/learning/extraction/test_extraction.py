"""What becomes of a resolved conversation: one verdict, at most one draft, and nothing of the customer in it."""

import json
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from apps.conversations.actions import abandon_conversation, import_conversation, resolve_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine, ToolCall
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.learning.extraction.models import Extraction
from apps.learning.extraction.pipeline import extract_conversation
from apps.learning.private_data import single_day_of
from apps.llm.model_backend import BadRequest, ModelReply, ModelRequest
from apps.skills.models import Skill
from apps.tenants.actions import amend_agent
from apps.tenants.models import TenantSettings
from tests.support.drivers.conversation import reply
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_skill, make_world

Verdict = Extraction.Verdict
SOLVED = Conversation.Outcome.SOLVED
RUNBOOK_BODY = "## When to Use\nx\n## Procedure\nx\n## Pitfalls\nx\n## Verification\nx"


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def make_resolved_conversation(world: World, outcome: Conversation.Outcome = SOLVED) -> Conversation:
    return resolve_conversation(make_conversation(world), actor=world.bot, outcome=outcome)


def import_solved_conversation(
    world: World, lines: list[ConversationLine], outcome: Conversation.Outcome = SOLVED
) -> Conversation:
    conversation = import_conversation(
        world.agent.pk, actor=world.system, transcript_id="t-1", lines=lines, outcome=outcome
    )
    assert conversation is not None
    return conversation


def run_extraction(world: World, conversation: Conversation, standin: StandIn) -> Extraction:
    found = extract_conversation(conversation.pk, actor=world.system, backend=standin.backend)
    assert found is not None
    return found


def drafts(world: World) -> list[Skill]:
    with acting_as(world.operator):
        return list(Skill.objects.visible_to(world.operator).drafts())


def runbook(**changed: str) -> dict[str, object]:
    skill = {"name": "greet", "title": "Greet", "description": "How to greet.", "body": RUNBOOK_BODY} | changed
    return reply(json.dumps({"skill": skill}))


def test_a_good_conversation_gives_one_draft_that_waits_for_a_person(world: World, standin: StandIn) -> None:
    # R104, R107, R110, R115
    conversation = make_resolved_conversation(world)
    verdict = run_extraction(world, conversation, standin)
    [skill] = drafts(world)
    assert (verdict.verdict, verdict.skill_id, verdict.is_stand_in) == (Verdict.DRAFTED, skill.pk, True)
    assert (skill.drafted_by, skill.taint) == ("system", "customer")
    assert verdict.input_tokens > 0
    for section in ("When to Use", "Procedure", "Pitfalls", "Verification"):
        assert f"## {section}" in skill.body
    with acting_as(world.operator):
        assert ChangeRecord.objects.get(act="skill.draft").evidence == {"conversation_id": conversation.pk}


def test_the_extractor_has_no_tools_and_no_persona_and_strict_output(world: World, standin: StandIn) -> None:
    # R114
    run_extraction(world, make_resolved_conversation(world), standin)
    [body] = standin.requests()
    assert "tools" not in body
    assert body["max_tokens"] == 1024
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert body["output_config"]["effort"] == "low"
    assert len(body["messages"]) == 1


def test_what_the_agent_recalled_is_not_learned_a_second_time(world: World, standin: StandIn) -> None:
    # R110
    recalled = ToolCall("m", "get_skill", {"skill_id": 7}, result="Old runbook: send the parcel back.")
    looked = ToolCall("l", "look", {"order": 1}, result="It is paid.")
    kept = ToolCall("k", "update_memory", {"body": "Old line: be brief."}, result="Longest line: be brief.")
    calls = [ConversationLine("agent", "", (call,)) for call in (recalled, looked, kept)]
    talk = [ConversationLine("customer", "Hi"), *calls, ConversationLine("customer", "Ok")]
    run_extraction(world, import_solved_conversation(world, talk), standin)
    [body] = standin.requests()
    read = json.dumps(body["messages"])
    assert "It is paid." in read
    assert "get_skill" not in read
    assert "Old runbook" not in read
    assert "update_memory" in read
    assert "be brief" not in read


@pytest.mark.parametrize(
    ("lines", "outcome", "verdict"),
    [
        ([ConversationLine("customer", "Hi"), ConversationLine("agent", "Hi")], SOLVED, Verdict.TOO_SHORT),
        ([ConversationLine("customer", "Hi"), ConversationLine("agent", "Hi")] * 2, SOLVED, Verdict.TRIVIAL),
        (
            [
                ConversationLine("customer", "Hi"),
                ConversationLine("agent", "", (ToolCall("c", "look", {}),)),
                ConversationLine("agent", "No"),
                ConversationLine("customer", "!"),
            ],
            Conversation.Outcome.UNSOLVED,
            Verdict.UNSOLVED,
        ),
    ],
)
def test_what_can_teach_nothing_costs_no_call_and_is_still_counted(
    world: World, standin: StandIn, lines: list[ConversationLine], outcome: Conversation.Outcome, verdict: Verdict
) -> None:
    # R110, R113
    found = run_extraction(world, import_solved_conversation(world, lines, outcome), standin)
    assert (found.verdict, found.model, found.skill_id) == (verdict, "", None)
    assert found.reason
    assert standin.requests() == []
    assert drafts(world) == []


def test_an_agent_with_learning_off_learns_nothing(world: World, standin: StandIn) -> None:
    # R001
    amend_agent(world.agent, actor=world.admin, has_learning=False)
    assert run_extraction(world, make_resolved_conversation(world), standin).verdict == Verdict.LEARNING_OFF
    assert standin.requests() == []


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ('{"skill": null}', Verdict.NOTHING),
        ("I would rather not.", Verdict.MALFORMED),
        ('{"skill": {"name": "x"}}', Verdict.MALFORMED),
        (json.dumps({"skill": {"name": "greet", "description": "d", "body": "No sections."}}), Verdict.REFUSED),
        (json.dumps({"skill": {"name": "Not A Slug", "description": "d", "body": RUNBOOK_BODY}}), Verdict.REFUSED),
    ],
)
def test_whatever_the_model_answers_ends_in_a_verdict(
    world: World, standin: StandIn, answer: str, verdict: Verdict
) -> None:
    # R114
    standin.play(reply(answer))
    found = run_extraction(world, make_resolved_conversation(world), standin)
    assert found.verdict == verdict
    assert found.model
    assert found.reason
    assert drafts(world) == []


def test_prose_and_fences_around_the_answer_are_tolerated(world: World, standin: StandIn) -> None:
    # R114
    skill = json.dumps({"skill": {"name": "greet", "description": "d", "body": RUNBOOK_BODY}})
    standin.play(reply(f"Here you are:\n```json\n{skill}\n```"))
    assert run_extraction(world, make_resolved_conversation(world), standin).verdict == Verdict.DRAFTED


def test_what_identifies_the_customer_is_taken_out_of_the_draft(world: World, standin: StandIn) -> None:
    # R115
    call = ToolCall("c", "get_order", {"order_id": "W4711-X"}, "Sent to sam@example.org.")
    lines = [
        ConversationLine("customer", "My order W4711-X"),
        ConversationLine("agent", "", (call,)),
        ConversationLine("agent", "Sent."),
        ConversationLine("customer", "Ok"),
    ]
    standin.play(
        runbook(description="For W4711-X", body=f"{RUNBOOK_BODY}\nWrite to sam@example.org or +49 170 1234567.")
    )
    run_extraction(world, import_solved_conversation(world, lines), standin)
    [skill] = drafts(world)
    assert skill.description == "For [id]"
    assert "[e-mail] or [phone]" in skill.body
    assert skill.taint == "import"


def test_a_day_that_is_certain_is_written_by_its_date_and_the_reviewer_is_told(world: World, standin: StandIn) -> None:
    # R115
    standin.play(runbook(body=f"{RUNBOOK_BODY}\nThe offer ends tomorrow. Ask whether it came yesterday."))
    found = run_extraction(world, make_resolved_conversation(world), standin)
    [skill] = drafts(world)
    with acting_as(world.operator):
        [first] = TenantSettings.objects.visible_to(world.operator)
        day = single_day_of(found.conversation, world.operator)
    assert day == timezone.now().astimezone(ZoneInfo(first.timezone)).date()
    tomorrow = (day + timedelta(days=1)).isoformat()
    assert f"The offer ends {tomorrow}. Ask whether it came yesterday." in skill.body
    assert f"“ends tomorrow” is written as {tomorrow}" in found.reason
    assert "look whether one is meant: “yesterday”" in found.reason


def test_a_transcript_from_elsewhere_was_said_on_no_day_that_is_known(world: World) -> None:
    lines = [
        ConversationLine("customer", "Until tomorrow?"),
        ConversationLine("agent", "Yes."),
        ConversationLine("customer", "Good."),
        ConversationLine("agent", "Bye."),
    ]
    with acting_as(world.operator):
        assert single_day_of(import_solved_conversation(world, lines), world.operator) is None


def test_a_name_that_identifies_somebody_is_refused(world: World, standin: StandIn) -> None:
    # R115
    lines = [
        ConversationLine("customer", "w4711-x"),
        ConversationLine("agent", "", (ToolCall("c", "look", {}),)),
        ConversationLine("agent", "a"),
        ConversationLine("agent", "b"),
    ]
    standin.play(runbook(name="refund-w4711-x"))
    found = run_extraction(world, import_solved_conversation(world, lines), standin)
    assert (found.verdict, drafts(world)) == (Verdict.REFUSED, [])
    assert "contains an identifier" in found.reason


def test_a_known_name_is_never_written_over_nor_drafted_twice(world: World, standin: StandIn) -> None:
    # R117
    for status in ("draft", "approved", "deprecated"):
        known = make_skill(world, status, name=f"greet-{status}")
        standin.play(runbook(name=f"greet-{status}"))
        found = run_extraction(world, make_resolved_conversation(world), standin)
        verdict = Verdict.SUPPORTS if status == "draft" else Verdict.KNOWN
        assert (found.verdict, found.skill_id) == (verdict, None if status == "deprecated" else known.pk)
        with acting_as(world.operator):
            assert Skill.objects.visible_to(world.operator).get(pk=known.pk).body == known.body


def test_a_conversation_is_looked_at_once(world: World, standin: StandIn) -> None:
    # R117
    conversation = make_resolved_conversation(world)
    assert run_extraction(world, conversation, standin) == run_extraction(world, conversation, standin)
    assert len(standin.requests()) == 1
    assert len(drafts(world)) == 1


def test_what_is_not_resolved_or_not_there_is_skipped(world: World, standin: StandIn) -> None:
    # R108, R112
    abandoned = abandon_conversation(make_conversation(world), actor=world.bot)
    for conversation_id in (make_conversation(world).pk, abandoned.pk, 10**9):
        assert extract_conversation(conversation_id, actor=world.system, backend=standin.backend) is None
    assert standin.requests() == []


def test_another_tenants_conversation_is_not_there(world: World, standin: StandIn) -> None:
    # R006, R116
    foreign = make_resolved_conversation(make_world())
    assert extract_conversation(foreign.pk, actor=world.system, backend=standin.backend) is None
    assert (
        extract_conversation(make_resolved_conversation(world).pk, actor=world.system, backend=standin.backend)
        is not None
    )


class RefusingModel:
    """A model to whom the request is wrong, today and tomorrow."""

    def complete(self, request: ModelRequest) -> ModelReply:
        del request
        raise BadRequest("The prompt is too long.")


def test_a_request_that_is_wrong_is_not_sent_again(world: World) -> None:
    # R114
    found = extract_conversation(make_resolved_conversation(world).pk, actor=world.system, backend=RefusingModel())
    assert found is not None
    assert found.verdict == Verdict.FAILED
    assert "bad_request" in found.reason


def test_a_conversation_off_the_record_is_never_mined(world: World, standin: StandIn) -> None:
    # R178
    conversation = make_conversation(world, off_the_record=True)
    resolve_conversation(conversation, actor=world.bot, outcome=SOLVED)
    verdict = run_extraction(world, conversation, standin)
    assert (verdict.verdict, verdict.get_verdict_display()) == (Verdict.OFF_THE_RECORD, "Off the record")
    assert (drafts(world), standin.requests()) == ([], [])
    assert run_extraction(world, make_resolved_conversation(world), standin).verdict == Verdict.DRAFTED
