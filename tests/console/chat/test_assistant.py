"""The assistant's page: a member talks without a script, sees what is slow and what failed, and nobody else's talk (R129)."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.kill_switches.actions import deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.personas.actions import write_member_overlay
from apps.personas.models import MemberOverlay
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.drivers.console_client import form_values, list_of, page_words, save_form
from tests.support.drivers.conversation import fault, reply
from tests.support.factories.member_talks import make_assistant, make_member_overlay, make_talk, message_assistant
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_event, make_persona

HOME = "/admin/assistant/"


@pytest.fixture
def assistant(world: World) -> World:
    return make_assistant(world)


def start_talk(client: Client, assistant: World, text: str = "What waits for me?", **typed: object) -> Any:
    return save_form(client, reverse("admin:assistant"), agent=assistant.agent.pk, text=text, **typed)


def test_a_member_begins_a_talk_waits_and_reads_the_answer(
    operator: Client, assistant: World, standin: StandIn
) -> None:
    make_persona(assistant)
    sent = start_talk(operator, assistant)
    assert sent.status_code == 303
    slow = page_words(operator.get(sent.url))
    assert "What waits for me?" in slow
    assert "Your assistant is thinking" in slow
    with acting_as(assistant.operator):
        talk = Conversation.objects.talks_of(assistant.operator_user.pk).get()
    standin.play(reply("Nothing waits."))
    answer_conversation(talk.tenant_id, talk.pk, backend=standin.backend)
    answered = page_words(operator.get(sent.url))
    assert "Nothing waits." in answered
    assert "is thinking" not in answered
    assert "Nothing waits." in page_words(operator.get(reverse("admin:assistant")))
    assert str(talk) not in page_words(operator.get(reverse("admin:runtime_session_changelist")))
    # The same page sent twice is one message.
    values = form_values(operator.get(sent.url).content.decode(), sent.url) | {"text": "And now?"}
    for _ in range(2):
        operator.post(sent.url, values)
    with acting_as(assistant.operator):
        assert talk.events.filter(text="And now?").count() == 1


def test_a_talk_that_failed_says_so(operator: Client, assistant: World, standin: StandIn) -> None:
    make_persona(assistant)
    sent = start_talk(operator, assistant)
    with acting_as(assistant.operator):
        talk = Conversation.objects.talks_of(assistant.operator_user.pk).get()
    standin.play(reply("I will not.", stop_reason="refusal"))
    answer_conversation(talk.tenant_id, talk.pk, backend=standin.backend)
    assert "There is no answer. Say it again" in page_words(operator.get(sent.url))


def test_a_talk_of_a_paused_assistant_says_who_is_paused_and_why(
    operator: Client, assistant: World, standin: StandIn
) -> None:
    # R131: the account's money is spent, and the member who is in the talk reads what to do.
    make_persona(assistant)
    sent = start_talk(operator, assistant)
    with acting_as(assistant.operator):
        talk = Conversation.objects.talks_of(assistant.operator_user.pk).get()
    standin.play(fault("spend_limit"), reply("Nothing waits."))
    answer_conversation(talk.tenant_id, talk.pk, backend=standin.backend)
    waits = page_words(operator.get(sent.url))
    assert f"No answer while this holds: Answering is paused for agent {assistant.agent.key}." in waits
    assert "Raise the limit, then lift this switch." in waits
    assert "it is tried again" not in waits
    with acting_as(assistant.operator):
        deactivate_kill_switch(KillSwitch.objects.visible_to(assistant.operator).on().get(), actor=assistant.operator)
    lifted = page_words(operator.get(sent.url))
    assert "No answer yet; it is tried again. You have reached your monthly spend limit." in lifted


def test_a_blank_message_is_refused_in_words_and_a_closed_talk_takes_none(operator: Client, assistant: World) -> None:
    blank = start_talk(operator, assistant, text=" ")
    assert blank.status_code == 422
    assert "required" in page_words(blank) or "empty" in page_words(blank)
    talk = make_talk(assistant)
    path = reverse("admin:talk", args=[talk.pk])
    values = form_values(operator.get(path).content.decode(), path)
    closed = operator.post(reverse("admin:close_talk", args=[talk.pk]), follow=True)
    assert "This talk takes no more messages" in page_words(closed)
    late = operator.post(path, values | {"text": "One more"})
    assert late.status_code >= 400
    assert "You closed this talk" in page_words(late)


def test_nobody_finds_a_colleagues_talk_or_one_among_customers_conversations(
    operator: Client, admin: Client, assistant: World
) -> None:
    talk = make_talk(assistant)
    message_assistant(talk, "Between us", assistant.operator)
    assert admin.get(reverse("admin:talk", args=[talk.pk])).status_code == 404
    assert admin.post(reverse("admin:close_talk", args=[talk.pk])).status_code == 404
    assert "No talk yet" in page_words(admin.get(reverse("admin:assistant")))
    assert "console:" not in page_words(operator.get(list_of(Conversation)))
    token = Client(headers={"authorization": f"Bearer {assistant.token}"})
    assert token.get(f"/api/v1/conversations/{talk.pk}").status_code == 404


def test_what_the_assistant_would_write_is_looked_at_by_its_member(operator: Client, assistant: World) -> None:
    # Z-6
    overlay = make_member_overlay(assistant, "Be brief.")
    bot = assistant.bot.for_member(assistant.operator_user.pk)
    write_member_overlay(overlay, actor=bot, text="Approve every refund.", has_heard=True)
    talk = make_talk(assistant)
    page = page_words(operator.get(reverse("admin:talk", args=[talk.pk])))
    assert "Your assistant would write this instead" in page
    assert "Until then holds: Be brief." in page
    path = reverse("admin:assistant_instructions", args=[talk.pk])
    values = form_values(operator.get(reverse("admin:talk", args=[talk.pk])).content.decode(), path)
    assert values["text"].strip() == "Approve every refund."
    operator.post(path, values | {"text": "Be brief."})
    with acting_as(assistant.operator):
        overlay = MemberOverlay.objects.get()
    assert (overlay.text, overlay.pending_text) == ("Be brief.", "")


def test_where_there_is_no_assistant_the_page_says_how_to_get_one(operator: Client, world: World) -> None:
    make_event(world)
    assert "There is no assistant yet" in page_words(operator.get(reverse("admin:assistant")))
