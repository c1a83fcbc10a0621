"""What an extraction does with a conversation that says what a draft or a skill of the agent says already (R117)."""

import pytest
from django.urls import reverse

from apps.conversations.actions import import_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine, ToolCall
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from tests.learning.extraction.test_extraction import RUNBOOK_BODY, SOLVED, Verdict, drafts, run_extraction, runbook
from tests.support.drivers.console_client import page_words, signed_in
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_skill, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def import_conversation_with_tools(world: World, name: str, *tools: str) -> Conversation:
    calls = tuple(ToolCall(f"c{place}", tool, {"order_id": "B77"}, "Done.") for place, tool in enumerate(tools))
    lines = [
        ConversationLine("customer", "Please help."),
        ConversationLine("agent", "", calls),
        ConversationLine("agent", "Done."),
        ConversationLine("customer", "Thanks."),
    ]
    conversation = import_conversation(
        world.agent.pk, actor=world.system, transcript_id=name, lines=lines, outcome=SOLVED
    )
    assert conversation is not None
    return conversation


def runbook_for_tools(name: str, title: str, *tools: str) -> dict[str, object]:
    steps = "\n".join(f"{place}. Call `{tool}` with `order_id`." for place, tool in enumerate(tools, 1))
    return runbook(
        name=name,
        title=title,
        description=title,
        body=RUNBOOK_BODY.replace("## Procedure\nx", f"## Procedure\n{steps}"),
    )


def test_a_third_like_conversation_is_one_more_reason_for_the_draft_of_the_first(
    world: World, standin: StandIn
) -> None:
    # R117: by what it does, whatever it is called.
    ways = [
        ("cancel-order", "Cancel an order"),
        ("stop-a-purchase", "Stop a purchase"),
        ("undo", "Undo what was bought"),
    ]
    found = []
    for name, title in ways:
        standin.play(runbook_for_tools(name, title, "get_order", "cancel_order"))
        found.append(
            run_extraction(world, import_conversation_with_tools(world, name, "get_order", "cancel_order"), standin)
        )
    [skill] = drafts(world)
    assert [each.verdict for each in found] == [Verdict.DRAFTED, Verdict.SUPPORTS, Verdict.SUPPORTS]
    assert {each.skill_id for each in found} == {skill.pk}
    assert found[-1].reason.startswith("Adds to the draft cancel-order. Both call `cancel_order`")
    assert found[-1].tool_names == ["cancel_order", "get_order"]
    standin.play(runbook_for_tools("change-order", "Change an order", "get_order", "change_order"))
    assert (
        run_extraction(
            world, import_conversation_with_tools(world, "other", "get_order", "change_order"), standin
        ).verdict
        == Verdict.DRAFTED
    )


def test_what_is_alike_in_words_alone_is_drafted_and_says_what_to_compare_it_with(
    world: World, standin: StandIn
) -> None:
    # R117: a wrong likeness would hide a procedure.
    for name in ("replace-cracked-screens", "send-new-screens"):
        title = f"{name.replace('-', ' ').capitalize()} for phones under warranty"
        standin.play(runbook(name=name, title=title, description="A customer's phone has a cracked screen."))
        found = run_extraction(world, import_conversation_with_tools(world, name, "get_order"), standin)
        assert found.verdict == Verdict.DRAFTED
    assert "Perhaps replace-cracked-screens says the same. Their words agree by " in found.reason
    assert len(drafts(world)) == 2


def test_what_an_approved_skill_says_already_is_known_and_names_it(world: World, standin: StandIn) -> None:
    # R117
    body = RUNBOOK_BODY.replace("## Procedure\nx", "## Procedure\n1. `get_order`\n2. `cancel_order`")
    skill = make_skill(world, "approved", name="cancel-order", body=body)
    standin.play(runbook_for_tools("stop-a-purchase", "Stop a purchase", "get_order", "cancel_order"))
    found = run_extraction(world, import_conversation_with_tools(world, "one", "get_order", "cancel_order"), standin)
    assert (found.verdict, found.skill_id) == (Verdict.KNOWN, skill.pk)
    assert found.reason.startswith("The agent has the skill cancel-order.")
    assert drafts(world) == []


def test_what_was_laid_to_a_draft_counts_in_the_inbox_and_changes_nothing_under_a_reviewer(
    world: World, standin: StandIn
) -> None:
    # R117
    operator = signed_in(world.operator_user)
    inbox = reverse("admin:governance_proposal_changelist")
    other = make_skill(world, name="other-way", actor=world.bot)
    for number, (name, title) in enumerate([("cancel-order", "Cancel an order"), ("undo", "Undo what was bought")]):
        standin.play(runbook_for_tools(name, title, "get_order", "cancel_order"))
        run_extraction(world, import_conversation_with_tools(world, name, "get_order", "cancel_order"), standin)
        page = page_words(operator.get(inbox))
        count_text = f"{number + 1} conversation{'s' if number else ''}"
        assert count_text in page
    with acting_as(world.operator):
        proposals = {each.target_label: each.version for each in Proposal.objects.open()}
    assert set(proposals.values()) == {1}
    most_first = page_words(operator.get(inbox, {"o": "-6"}))
    least_first = page_words(operator.get(inbox, {"o": "6"}))
    assert most_first.index("2 conversations") < most_first.index(other.name)
    assert least_first.index("2 conversations") > least_first.index(other.name)
