"""Drafts, escalations, send rules and taking over by REST: people decide on what they read, agents read and ask."""

from typing import Any

import pytest

from apps.conversations.models import Conversation
from apps.desk.models import Draft, Escalation, SendRule
from apps.governance.database.actor_transaction import acting_as
from tests.support.drivers.conversation import lines
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.desk import make_escalation, make_taken_over_conversation, make_waiting_draft
from tests.support.worlds.world import World, make_conversation, make_event, make_neighbour, make_skill


def reload_row(world: World, row: Any) -> Any:  # Any: a row of the desk
    with acting_as(world.operator):
        return type(row).objects.visible_to(world.operator).get(pk=row.pk)


def test_a_draft_shows_what_it_stands_on_and_is_sent_as_it_was_read(world: World, operator: RestClient) -> None:
    # R134, R136
    draft = make_waiting_draft(world)
    shown = operator.get(f"drafts/{draft.pk}/").body
    assert (shown["grounding"], shown["facts"][0]["name"], shown["agent_key"]) == ("tool", "find_parcel", "support")
    sent = operator.post(f"drafts/{draft.pk}/send/", {"reviewed_sha256": shown["text_sha256"]})
    assert (sent.status, sent.body["status"], sent.body["sent_text"]) == (200, "sent", draft.text)
    assert lines(world, draft.conversation_id)[-1] == ("agent", draft.text)
    again = operator.post(f"drafts/{draft.pk}/send/", {"reviewed_sha256": shown["text_sha256"]})
    assert (again.status, again.code) == (400, "illegal_transition")


def test_an_overtaken_draft_answers_with_the_one_that_stands_there(world: World, operator: RestClient) -> None:
    conversation = make_conversation(world)
    first, second = make_waiting_draft(world, conversation), make_waiting_draft(world, conversation, "Tomorrow.")
    refused = operator.post(f"drafts/{first.pk}/send/", {"reviewed_sha256": first.text_sha256})
    assert (refused.status, refused.code) == (409, "stale")
    assert refused.body["current_content"] == {"draft_id": second.pk, "text": "Tomorrow."}
    assert refused.body["current_sha256"] == second.text_sha256
    other = operator.post(f"drafts/{second.pk}/send/", {"reviewed_sha256": first.text_sha256})
    assert (other.status, other.body["current_content"]["text"]) == (409, "Tomorrow.")
    stale = operator.post(f"drafts/{second.pk}/send/", {"reviewed_sha256": second.text_sha256, "version": 9})
    assert (stale.status, stale.code) == (409, "stale")


def test_a_draft_is_edited_or_discarded_with_a_reason(world: World, operator: RestClient) -> None:
    # R138
    edited, gone = make_waiting_draft(world), make_waiting_draft(world)
    body = {"reviewed_sha256": edited.text_sha256, "sent_text": "It arrives tomorrow."}
    assert operator.post(f"drafts/{edited.pk}/send-edited/", body).body["status"] == "sent_edited"
    assert lines(world, edited.conversation_id)[-1] == ("agent", "It arrives tomorrow.")
    assert operator.post(f"drafts/{gone.pk}/discard/", {"reason": "Odd."}).status == 400
    discard_body = {"reason_code": "wrong_tone", "reason": "Too cheerful."}
    assert operator.post(f"drafts/{gone.pk}/discard/", discard_body).body["reason_code"] == "wrong_tone"
    assert [row["id"] for row in operator.get("drafts/?status=discarded").body["results"]] == [gone.pk]
    assert operator.get(f"drafts/?conversation_id={edited.conversation_id}&grounding=tool").body["results"]
    assert operator.get("drafts/?grounding=skill&agent_key=support").body["results"] == []


def test_an_agent_reads_its_drafts_and_sends_none(world: World, bot: RestClient) -> None:
    draft = make_waiting_draft(world)
    assert bot.get(f"drafts/{draft.pk}/").body["text"] == draft.text
    for verb, body in (
        ("send", {"reviewed_sha256": draft.text_sha256}),
        ("send-edited", {"reviewed_sha256": draft.text_sha256, "sent_text": "Mine."}),
        ("discard", {"reason_code": "wrong"}),
    ):
        refused = bot.post(f"drafts/{draft.pk}/{verb}/", body)
        assert (refused.status, refused.code) == (403, "not_permitted")
    assert reload_row(world, draft).status == Draft.Status.OPEN


def test_an_agent_hands_a_question_over_and_a_person_answers_it(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    # R135, R136
    conversation = make_event(world).conversation
    body = {"conversation_id": conversation.pk, "reason": "missing_knowledge", "question": "May it be sent back?"}
    opened = bot.post("escalations/", body)
    assert (opened.status, opened.body["status"], opened.body["opened_by"]) == (201, "open", "agent:support")
    more = bot.post("escalations/", body | {"question": "And who pays?"}).body
    assert (more["id"], more["question"]) == (opened.body["id"], "May it be sent back?\n\nAnd who pays?")
    address = f"escalations/{more['id']}"
    assert bot.post(f"{address}/answer/", {"answer": "Yes."}).status == 403
    assert operator.post(f"{address}/answer/", {"answer": " "}).status == 400
    answered = operator.post(f"{address}/answer/", {"answer": "Yes.", "version": more["version"]})
    assert (answered.status, answered.body["answer"], answered.body["decided_by"]) == (
        200,
        "Yes.",
        world.operator.label,
    )
    with acting_as(world.operator):
        assert conversation.events.latest("id").text.endswith("Yes.")


def test_an_answer_goes_out_word_for_word_or_the_question_is_dismissed(world: World, operator: RestClient) -> None:
    answered, dismissed = make_escalation(world), make_escalation(world)
    body = {"answer": "Yes, within a month.", "word_for_word": True}
    assert operator.post(f"escalations/{answered.pk}/answer/", body).status == 200
    assert lines(world, answered.conversation_id)[-1] == ("operator", "Yes, within a month.")
    assert operator.post(f"escalations/{dismissed.pk}/dismiss/", {}).body["status"] == "dismissed"
    assert reload_row(world, dismissed).status == Escalation.Status.DISMISSED
    assert len(operator.get("escalations/?status=answered&reason=missing_knowledge").body["results"]) == 1


@pytest.mark.parametrize("reason", ["bored", ""])
def test_a_question_has_a_known_reason_and_a_conversation_one_sees(world: World, bot: RestClient, reason: str) -> None:
    conversation = make_conversation(world)
    body = {"conversation_id": conversation.pk, "reason": reason, "question": "May I?"}
    assert bot.post("escalations/", body).status == 400
    nowhere = bot.post("escalations/", body | {"reason": "policy", "conversation_id": 999_999_999})
    assert "There is no such conversation" in nowhere.body["detail"]
    neighbour = make_neighbour(world)
    assert bot.get(f"escalations/?agent_key={neighbour.key}").body["results"] == []


def test_people_say_what_becomes_of_replies(world: World, operator: RestClient, bot: RestClient) -> None:
    # R134
    skill = make_skill(world, "approved")
    body = {"agent_key": "support", "channel": "sms", "skill_id": skill.pk, "send_mode": "suggest", "reason": "New."}
    made = operator.post("send-rules/", body)
    assert (made.status, made.body["channel"], made.body["skill_id"]) == (201, "sms", skill.pk)
    address = f"send-rules/{made.body['id']}/"
    changed = operator.ask("PATCH", address, {"send_mode": "observe", "version": 1})
    assert (changed.status, changed.body["send_mode"]) == (200, "observe")
    assert operator.ask("PUT", address, {}).status == 400
    assert operator.ask("PUT", address, {"send_mode": "suggest"}).body["send_mode"] == "suggest"
    assert operator.post("send-rules/", body).code == "conflict"
    nowhere = operator.post("send-rules/", {"agent_key": "support", "send_mode": "suggest"})
    assert (nowhere.status, nowhere.code) == (400, "invalid")
    assert nowhere.body["errors"]["body"] == [nowhere.body["detail"].partition(". ")[2]]
    assert "Choose a channel, a skill, or both" in nowhere.body["detail"]
    assert "There is no such skill" in operator.post("send-rules/", body | {"skill_id": 999_999_999}).body["detail"]
    assert operator.get("send-rules/?send_mode=observe").body["results"] == []
    assert bot.get("send-rules/").status == 403
    assert operator.ask("DELETE", address).status == 204
    with acting_as(world.operator):
        assert not SendRule.objects.visible_to(world.operator).exists()


def test_a_person_takes_over_writes_and_hands_back(world: World, operator: RestClient, bot: RestClient) -> None:
    event = make_event(world)
    address = f"conversations/{event.conversation_id}"
    assert operator.post(f"{address}/messages/", {"text": "Hello.", "seen_length": 1}).code == "conflict"
    taken = operator.post(f"{address}/take-over/", {}).body
    assert (taken["taken_over_by"], taken["length"]) == (world.operator.label, 1)
    for verb, body in (("hand-back", {}), ("take-over", {}), ("messages", {"text": "Me.", "seen_length": 1})):
        assert bot.post(f"{address}/{verb}/", body).status == 403
    assert bot.ask("PATCH", f"{address}/", {"status": "resolved"}).status == 403
    written = operator.post(f"{address}/messages/", {"text": "Hello.", "seen_length": taken["length"]})
    assert (written.status, written.body["sender"], written.body["text"]) == (201, "operator", "Hello.")
    twice = operator.post(f"{address}/messages/", {"text": "Hello.", "seen_length": taken["length"]})
    assert (twice.status, twice.code) == (409, "stale")
    outcome = bot.get(f"events/{event.pk}/").body
    assert (outcome["status"], outcome["reply"]["text"]) == ("done", "Hello.")
    given = operator.post(f"{address}/hand-back/", {"version": taken["version"]}).body
    assert (given["taken_over_by"], given["taken_over_at"]) == ("", None)


def test_a_list_of_conversations_says_who_has_one_in_hand(world: World, operator: RestClient) -> None:
    held = make_taken_over_conversation(world)
    [line] = [row for row in operator.get("conversations/").body["results"] if row["id"] == held.pk]
    assert line["taken_over_by"] == world.operator.label
    assert "length" not in line
    assert reload_row(world, held).status == Conversation.Status.OPEN


def test_colleague_who_did_not_take_over_is_refused_until_they_do(
    world: World, operator: RestClient, admin: RestClient
) -> None:
    conversation = make_taken_over_conversation(world)
    path = f"conversations/{conversation.pk}"
    length = admin.get(f"{path}/").body["length"]
    refused = admin.post(f"{path}/messages/", {"text": "Hello.", "seen_length": length})
    assert (refused.status, refused.code) == (409, "conflict")
    assert admin.post(f"{path}/take-over/", {}).status == 200
    assert admin.post(f"{path}/messages/", {"text": "Hello.", "seen_length": length}).status == 201
    assert operator.post(f"{path}/messages/", {"text": "Me too.", "seen_length": length + 1}).status == 409
