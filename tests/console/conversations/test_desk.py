"""The desk in the console: drafts sent, edited and discarded, questions answered, conversations taken over."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.conversations.models import Conversation
from apps.desk.models import Draft, Escalation, SendRule
from apps.governance.database.actor_transaction import acting_as
from tests.support.drivers.console_client import (
    decide,
    decision_of,
    form_values,
    list_of,
    page_of,
    page_text,
    page_words,
)
from tests.support.drivers.conversation import lines
from tests.support.factories.desk import make_escalation, make_send_rule, make_waiting_draft
from tests.support.worlds.world import World, make_conversation, make_event, make_skill

pytestmark = pytest.mark.django_db


def reload_row(world: World, row: Any) -> Any:  # Any: a row of the desk
    with acting_as(world.operator):
        return type(row).objects.visible_to(world.operator).get(pk=row.pk)


def press_button(client: Client, row: Any, button: str, **typed: object) -> Any:  # Any: the test client's answer
    return client.post(decision_of(row, button), {"read_at": row.version, **typed})


def test_a_draft_stands_with_what_the_customer_wrote_and_what_it_rests_on(world: World, operator: Client) -> None:
    # R134, R136
    draft = make_waiting_draft(world)
    listed = page_words(operator.get(list_of(Draft)))
    for words in ("Thank you, that solved it.", draft.text, "A tool's answer"):
        assert words in listed
    page = page_words(operator.get(page_of(draft)))
    for words in (draft.text, "find_parcel", "My parcel arrived broken.", "Send", "Edit, then send", "Discard"):
        assert words in page


def test_a_draft_stands_beside_what_came_since(world: World, operator: Client) -> None:
    conversation = make_event(world, "Never mind, it has arrived.").conversation
    draft = make_waiting_draft(world, conversation)
    assert "Never mind, it has arrived." in page_words(operator.get(page_of(draft)))


@pytest.mark.slow
def test_a_draft_is_sent_and_the_next_one_opens(world: World, operator: Client) -> None:
    first, second = make_waiting_draft(world), make_waiting_draft(world)
    sent = decide(operator, first, "send")
    assert (sent.status_code, sent["Location"]) == (303, page_of(second))
    assert lines(world, first.conversation_id)[-1] == ("agent", first.text)
    opened = operator.get(page_of(second))
    assert "Sent as the agent wrote it. Look at it again . The next one follows." in page_words(opened)
    assert f'<a href="{page_of(first)}">Look at it again</a>' in page_text(opened)
    edited = decide(operator, second, "edit", sent_text="Tomorrow.\r\nAt noon.")
    assert (edited.status_code, edited["Location"]) == (303, list_of(Draft))
    assert "Look at it again . Nothing else waits." in page_words(operator.get(list_of(Draft)))
    assert reload_row(world, second).sent_text == "Tomorrow.\nAt noon."
    page = page_words(operator.get(page_of(second)))
    assert "What was sent instead" in page
    assert "Edit, then send" not in page


def test_an_overtaken_draft_is_not_sent_and_says_what_stands_there(world: World, operator: Client) -> None:
    conversation = make_conversation(world)
    first, second = make_waiting_draft(world, conversation), make_waiting_draft(world, conversation, "Tomorrow.")
    before = lines(world, conversation.pk)
    refused = press_button(operator, reload_row(world, first), "send", reviewed_sha256=first.text_sha256)
    assert refused.status_code == 409
    assert f"Draft {second.pk} replaces it" in page_words(refused)
    assert lines(world, conversation.pk) == before
    assert "a later draft stands in its place" in page_words(operator.get(page_of(first)))


def test_what_was_typed_is_kept_when_somebody_else_was_faster(world: World, operator: Client, admin: Client) -> None:
    draft, question = make_waiting_draft(world), make_escalation(world)
    decide(admin, draft, "send")
    typed = {"reviewed_sha256": draft.text_sha256, "sent_text": "My own careful words."}
    late = press_button(operator, draft, "edit", **typed)
    assert late.status_code == 409
    assert "My own careful words." in page_words(late)
    assert lines(world, draft.conversation_id)[-1] == ("agent", draft.text)
    decide(admin, question, "dismiss", reason="They called.")
    late = press_button(operator, question, "answer", answer="Within a month.")
    assert late.status_code == 409
    assert "Within a month." in page_words(late)
    assert reload_row(world, question).answer == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "words"),
    [(make_waiting_draft, "It is on its way."), (make_escalation, "May a broken parcel be sent back?")],
)
def test_a_row_says_who_waits_where_and_how_long_in_as_many_statements_for_many(
    world: World, operator: Client, make: Any, words: str
) -> None:
    conversation = make_conversation(world)
    listing = list_of(type(make(world, conversation)))
    operator.get(listing)
    with CaptureQueriesContext(connection) as few:
        page = page_words(operator.get(listing))
    for text in ("Thank you, that solved it.", words, f"on {conversation.channel}, agent {world.agent}, waits for 0"):
        assert text in page
    for _ in range(9):
        make(world)
    with CaptureQueriesContext(connection) as many:
        page = page_words(operator.get(listing))
    assert page.count("Thank you, that solved it.") == 10
    assert len(many) == len(few)


def press_in_list(client: Client, row: Any, button: str, listing: str, /, **typed: object) -> Any:
    """Fill in the form that stands in the list, and send it."""
    path = decision_of(row, button)
    values = form_values(client.get(listing).content.decode(), path)
    return client.post(path, values | {key: str(value) for key, value in typed.items()})


@pytest.mark.slow
def test_drafts_are_sent_from_the_list_one_after_the_other(world: World, operator: Client) -> None:
    # R134, R136
    first, second, third = (make_waiting_draft(world, text=f"Draft {at}.") for at in ("one", "two", "three"))
    listing = f"{list_of(Draft)}?agent__id__exact={world.agent.pk}"
    page = page_text(operator.get(listing))
    assert page.index("Draft one.") < page.index("Draft two.") < page.index("Draft three.")
    for fact in ("find_parcel", "Thank you, that solved it.", f'id="row-{second.pk}"', f"edit_{third.pk}_sent_text"):
        assert fact in page
    edited = press_in_list(operator, first, "edit", listing, sent_text="Mine.\r\nAt noon.")
    assert (edited.status_code, edited["Location"]) == (303, f"{listing}#row-{second.pk}")
    assert reload_row(world, first).sent_text == "Mine.\nAt noon."
    assert lines(world, first.conversation_id)[-1] == ("agent", "Mine.\nAt noon.")
    assert press_in_list(operator, second, "send", listing)["Location"] == f"{listing}#row-{third.pk}"
    discarded = press_in_list(operator, third, "discard", listing, reason_code="wrong")
    assert discarded["Location"] == listing
    shown = operator.get(listing)
    assert "Nothing else waits." in page_words(shown)
    assert "No reply waits here." in page_words(operator.get(list_of(Draft)))
    assert "Draft one." not in page_words(shown)
    assert "Draft one." in page_words(operator.get(f"{list_of(Draft)}?tab=all"))


@pytest.mark.slow
def test_what_is_refused_in_the_list_keeps_what_was_typed(world: World, operator: Client, admin: Client) -> None:
    first, second = make_waiting_draft(world, text="Draft one."), make_waiting_draft(world, text="Draft two.")
    empty = press_in_list(operator, first, "edit", list_of(Draft), sent_text="")
    assert empty.status_code == 422
    assert "Not done." in page_words(empty)
    path = decision_of(first, "edit")
    again = form_values(empty.content.decode(), path)
    assert again["sent_text"] == ""
    decide(admin, first, "send")
    late = operator.post(path, again | {"sent_text": "My own careful words."})
    assert late.status_code == 409
    page = page_words(late)
    assert page.count("My own careful words.") == 1
    assert page.index("My own careful words.") < page.index("Draft two.")
    assert "Edit, then send" in page
    assert form_values(late.content.decode(), path)["sent_text"] == "My own careful words."
    assert lines(world, first.conversation_id)[-1] == ("agent", "Draft one.")
    assert reload_row(world, second).status == Draft.Status.OPEN
    assert operator.post(path, {"listed": "tab=open&o=99&p=x", "following": "#x"}).status_code in {302, 422}


@pytest.mark.slow
def test_the_last_of_a_page_leads_to_the_first_page(world: World, operator: Client) -> None:
    drafts = [make_waiting_draft(world) for _ in range(26)]
    second_page = f"{list_of(Draft)}?p=2"
    assert form_values(operator.get(second_page).content.decode(), decision_of(drafts[-1], "send"))["listed"] == "p=2"
    assert press_in_list(operator, drafts[-1], "send", second_page)["Location"] == list_of(Draft)


@pytest.mark.slow
def test_questions_are_answered_in_the_list(world: World, operator: Client) -> None:
    # R135
    first, second = make_escalation(world), make_escalation(world)
    assert press_in_list(operator, first, "answer", list_of(Escalation)).status_code == 422
    answered = press_in_list(operator, first, "answer", list_of(Escalation), answer="Yes.", word_for_word="on")
    assert answered["Location"] == f"{list_of(Escalation)}#row-{second.pk}"
    assert lines(world, first.conversation_id)[-1] == ("operator", "Yes.")
    done = press_in_list(operator, second, "dismiss", list_of(Escalation), reason="They called.")
    assert done["Location"] == list_of(Escalation)
    assert reload_row(world, second).dismissal_reason == "They called."


def test_a_draft_is_discarded_with_a_reason(world: World, operator: Client) -> None:
    # R138
    draft = make_waiting_draft(world)
    assert press_button(operator, draft, "discard", reason="Odd.").status_code == 422
    done = decide(operator, draft, "discard", reason_code="wrong_tone", reason="Too cheerful.")
    assert done.status_code == 303
    page = page_words(operator.get(page_of(draft)))
    assert "Wrong tone: Too cheerful." in page


@pytest.mark.slow
def test_a_question_is_answered_or_dismissed_and_the_next_one_opens(world: World, operator: Client) -> None:
    # R135
    first, second, third = (make_escalation(world) for _ in range(3))
    page = page_words(operator.get(page_of(first)))
    assert "May a broken parcel be sent back?" in page
    assert "My parcel arrived broken." in page
    answered = decide(operator, first, "answer", answer="Yes.", word_for_word="on")
    assert (answered.status_code, answered["Location"]) == (303, page_of(second))
    assert lines(world, first.conversation_id)[-1] == ("operator", "Yes.")
    assert f'<a href="{page_of(first)}">Look at it again</a>' in page_text(operator.get(page_of(second)))
    assert decide(operator, second, "dismiss", reason="They called.")["Location"] == page_of(third)
    decide(operator, third, "answer", answer="Yes, within a month.")
    assert "Answered. Look at it again . Nothing else waits." in page_words(operator.get(list_of(Escalation)))
    with acting_as(world.operator):
        assert third.conversation.events.latest("id").text.endswith("Yes, within a month.")
    assert "They called." in page_words(operator.get(page_of(second)))
    assert "The answer" in page_words(operator.get(page_of(first)))
    assert page_words(operator.get(list_of(Escalation) + "?tab=answered")).count("May a broken parcel") == 2


@pytest.mark.slow
def test_a_send_rule_is_added_changed_and_lifted(world: World, operator: Client) -> None:
    # R134
    skill = make_skill(world, "approved")
    add = reverse("admin:desk_sendrule_add")
    typed = {"agent": world.agent.pk, "channel": "sms", "skill": skill.pk, "send_mode": "suggest"}
    assert operator.post(add, typed).status_code == 302
    with acting_as(world.operator):
        rule = SendRule.objects.visible_to(world.operator).get()
    assert "channel sms" in page_words(operator.get(list_of(SendRule)))
    assert operator.post(page_of(rule), {"read_at": rule.version, "send_mode": "observe"}).status_code == 302
    assert reload_row(world, rule).send_mode == "observe"
    refused = operator.post(add, {"agent": world.agent.pk, "send_mode": "suggest"})
    assert "Choose a channel, a skill, or both" in page_words(refused)
    make_send_rule(world)
    assert "every channel" not in page_words(operator.get(list_of(SendRule)))
    rule = reload_row(world, rule)
    assert decide(operator, rule, "lift")["Location"] == list_of(SendRule)
    with acting_as(world.operator):
        assert SendRule.objects.visible_to(world.operator).count() == 1


@pytest.mark.slow
def test_a_person_takes_a_conversation_over_writes_and_hands_it_back(world: World, operator: Client) -> None:
    conversation = make_event(world, "Is anybody there?").conversation
    before = page_words(operator.get(page_of(conversation)))
    assert "Take over" in before
    assert "Message to the customer" not in before
    assert decide(operator, conversation, "take_over").status_code == 303
    held = reload_row(world, conversation)
    page = operator.get(page_of(held))
    assert "The agent is locked out." in page_words(page)
    assert "Message to the customer" in page_words(page)
    assert 'name="seen_length" value="1"' in page_text(page)
    assert decide(operator, held, "write", text="Yes, I am.").status_code == 303
    twice = press_button(operator, held, "write", text="Yes, I am.", seen_length=1)
    assert twice.status_code == 409
    assert "went on since you read it" in page_words(twice)
    assert 'name="seen_length" value="2"' in page_text(twice)
    assert lines(world, conversation.pk) == [("customer", "Is anybody there?"), ("operator", "Yes, I am.")]
    assert "Operator to the customer" in page_words(operator.get(page_of(held)))
    assert decide(operator, held, "hand_back").status_code == 303
    assert not reload_row(world, conversation).is_held
    assert "the agent's" in page_words(operator.get(list_of(Conversation)))


@pytest.mark.slow
def test_a_colleague_may_take_over_what_somebody_holds(world: World, operator: Client, admin: Client) -> None:
    conversation = make_conversation(world)
    decide(operator, conversation, "take_over")
    held = reload_row(world, conversation)
    assert "Take over" not in page_words(operator.get(page_of(held)))
    assert "Message to the customer" in page_words(operator.get(page_of(held)))
    colleagues = page_words(admin.get(page_of(held)))
    assert "Take over" in colleagues
    assert "Message to the customer" not in colleagues
    assert decide(admin, held, "take_over").status_code == 303
    assert reload_row(world, held).taken_over_by == world.admin.label


def test_a_conversation_says_what_of_it_waits(world: World, operator: Client) -> None:
    conversation = make_conversation(world)
    draft, question = make_waiting_draft(world, conversation), make_escalation(world, conversation)
    page = page_text(operator.get(page_of(conversation)))
    assert page_of(draft) in page
    assert page_of(question) in page


def test_the_sidebar_counts_what_waits_on_the_desk(world: World, operator: Client) -> None:
    home = reverse("admin:index")
    assert "Reply drafts" in page_words(operator.get(home))
    for _ in range(2):
        make_waiting_draft(world)
    make_escalation(world)
    page = page_words(operator.get(home))
    assert "Reply drafts 2" in page
    assert "Escalations 1" in page
