"""How the stand-in picks a runbook, follows it and tells what came of it."""

import json

import pytest

from apps.llm.model_backend import JsonObject
from apps.standin.decisions import TextDecision, ToolDecision
from tests.support.drivers.standin_conversation import ADA, SKILLS, StandInTalk, fenced_message, reply_text, tool

pytestmark = pytest.mark.pure

RUNBOOK = (
    "## When to Use\nUse `get_skill` first.\n\n## Procedure\n1. Look it up with `get_order`.\n"
    "2. Record it with `update_customer_profile`.\n3. Call `fly_to_the_moon`.\n\n"
    "## Pitfalls\n- Do not use `list_skills`."
)


def test_skill_whose_words_match_is_fetched_and_followed() -> None:  # R099
    talk = StandInTalk(ADA, SKILLS)
    wish = "Please change the delivery of order A4417. I prefer email, thanks."
    assert talk.say(fenced_message(wish)) == ToolDecision("get_skill", {"skill_id": 12})
    assert talk.give(json.dumps({"name": "change-delivery", "body": RUNBOOK})) == ToolDecision(
        "get_order", {"order_number": "A4417"}
    )
    assert talk.give("{}") == ToolDecision("update_customer_profile", {"preferences": "Prefers email."})
    reply = reply_text(talk.give("{}"))
    assert "Following our runbook “change-delivery”: look it up with get order; record it with" in reply
    assert "Done: get order. I have noted that you prefer email." in reply


def test_skill_is_fetched_once_in_a_conversation() -> None:
    talk = StandInTalk(ADA, SKILLS)
    talk.say(fenced_message("Please change the delivery of order A4417."))
    talk.give(json.dumps({"name": "change-delivery", "body": "## Procedure\n1. Be kind."}))
    assert isinstance(talk.say(fenced_message("Did you change the delivery of my order?")), TextDecision)


def test_long_runbook_is_told_in_short_and_its_text_may_come_in_blocks() -> None:
    talk = StandInTalk(ADA, SKILLS)
    talk.say(fenced_message("Please change the delivery of order A4417."))
    steps = "\n".join(f"{number}. Step {number}." for number in range(1, 9))
    skill = json.dumps({"title": "Deliveries", "body": f"## Procedure\n{steps}"})
    reply = reply_text(talk.give([{"type": "text", "text": skill}]))
    assert "Following our runbook “Deliveries”: step 1; step 2; step 3; step 4; step 5; and 3 more." in reply


def test_one_shared_word_is_not_a_match() -> None:
    assert isinstance(StandInTalk(ADA, SKILLS).say(fenced_message("What about my order?")), TextDecision)


def test_argument_that_was_not_stated_is_asked_for_and_never_invented() -> None:
    talk = StandInTalk(ADA, SKILLS)
    talk.say(fenced_message("Please change the delivery of my order."))
    reply = reply_text(talk.give(json.dumps({"name": "change-delivery", "body": RUNBOOK})))
    assert "To go on I still need this from you: order number." in reply
    assert "Done" not in reply


def test_failed_tool_is_told_as_failed() -> None:
    talk = StandInTalk(ADA, SKILLS)
    talk.say(fenced_message("Please change the delivery of order A4417."))
    talk.give(json.dumps({"name": "change-delivery", "body": RUNBOOK}))
    reply = reply_text(talk.give("no such order", is_error=True))
    assert "This did not work: get order." in reply
    assert "Done" not in reply


@pytest.mark.parametrize("result", ["not JSON", '{"name": "x"}', "[]"])
def test_unreadable_runbook_is_said_and_not_followed(result: str) -> None:
    talk = StandInTalk(ADA, SKILLS)
    talk.say(fenced_message("Please change the delivery of order A4417."))
    assert "I could not read our runbook for this." in reply_text(talk.give(result))


def test_runbook_fills_arguments_from_the_customers_words() -> None:
    offered: tuple[JsonObject, ...] = (
        tool("get_skill", "id"),
        tool("open_ticket", "email", "quantity", "summary", "delivery_date", quantity="integer"),
        {
            "name": "set_plan",
            "input_schema": {"required": ["plan"], "properties": {"plan": {"enum": ["basic", "gold"]}}},
        },
        tool("set_flags", "flags", flags="array"),
        tool("set_weight", "weight", weight="number"),
        tool("rename", "new_name"),
    )
    talk = StandInTalk(ADA, SKILLS, tools=offered)
    text = "Change the delivery of my order to 2026-12-24: 3 lamps, gold, new name is Kim Weber. Mail kim@example.org"
    assert talk.say(fenced_message(text)) == ToolDecision("get_skill", {"id": 12})
    procedure = "1. `open_ticket`\n2. `set_plan`\n3. `set_flags`\n4. `rename`\n5. `set_weight`"
    ticket = talk.give(json.dumps({"name": "x", "body": procedure}))
    assert isinstance(ticket, ToolDecision)
    assert ticket.arguments["email"] == "kim@example.org"
    assert ticket.arguments["summary"] == text
    assert ticket.arguments["delivery_date"] == "2026-12-24"
    assert talk.give("{}") == ToolDecision("set_plan", {"plan": "gold"})
    assert talk.give("{}") == ToolDecision("rename", {"new_name": "Kim Weber"})
    assert talk.give("{}") == ToolDecision("set_weight", {"weight": 3.0})
    assert "I still need this from you: flags." in reply_text(talk.give("{}"))


def test_runbook_may_write_down_what_the_customer_says() -> None:
    talk = StandInTalk(ADA, SKILLS)
    body = "## Procedure\n1. `update_memory`\n2. `update_customer_profile`"
    talk.say(
        fenced_message("Your delivery desk is closed on Mondays. Please change my delivery address to 1 Elm Road.")
    )
    assert talk.give(json.dumps({"body": body})) == ToolDecision(
        "update_memory", {"body": "- Your delivery desk is closed on Mondays."}
    )
    record = "Asked to change their delivery address to 1 Elm Road."
    assert talk.give("{}") == ToolDecision("update_customer_profile", {"preferences": record})
    assert "I have noted that you asked to change your delivery address to 1 Elm Road." in reply_text(talk.give("{}"))
