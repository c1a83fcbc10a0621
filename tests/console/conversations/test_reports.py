"""Reporting a reply from its transcript, beside a draft and from its reasons; the mark, the lists, home, and the report's page."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.conversations.models import Conversation, Message
from apps.desk.reports.actions import settle_report, withdraw_report
from apps.desk.reports.models import Report
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.learning.lessons.lesson_capture import capture_agent_lessons
from tests.support.drivers.console_client import (
    decision_of,
    form_values,
    list_of,
    page_of,
    page_text,
    page_words,
    signed_in,
)
from tests.support.drivers.conversation import run_customer_turn
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.factories.lessons import lessons_of
from tests.support.factories.member_talks import make_assistant, make_talk
from tests.support.factories.reports import CORRECTION, EXPLANATION, REPLY_TEXT, make_reply, make_report, make_report_of
from tests.support.servers.standin_model import StandIn, standin, standing_in
from tests.support.worlds.world import World, make_event, make_limit, make_persona, make_world

__all__ = ["standin", "standing_in"]
pytestmark = pytest.mark.django_db
MOST_READS = 12


def count_reads(client: Client, path: str) -> int:
    """What is read for a page, without what the walls ask."""
    with CaptureQueriesContext(connection) as caught:
        assert client.get(path).status_code == 200
    return len([each for each in caught if each["sql"].startswith("SELECT") and "set_config" not in each["sql"]])


def reply_link(reply: Message) -> str:
    """Where a link on the reply leads."""
    return f"{page_of(reply.conversation)}?reply={reply.pk}"


def latest_report(world: World) -> Report:
    with acting_as(world.operator):
        return Report.objects.visible_to(world.operator).latest("pk")


def send(client: Client, reply: Message, page: str, **typed: object) -> object:
    """Fill in the form that stands on a page, and send it."""
    path = decision_of(reply.conversation, "report")
    values = form_values(client.get(page).content.decode(), path)
    return client.post(path, values | {key: str(value) for key, value in typed.items()})


@pytest.mark.slow
def test_a_reply_is_reported_where_it_stands_in_the_transcript(world: World, operator: Client) -> None:
    first = make_reply(world)
    second = make_reply(world, "Yes, both.", first.conversation)
    page = page_text(operator.get(page_of(first.conversation)))
    for reply in (first, second):
        assert f'href="{reply_link(reply)}#message-{reply.position}"' in page
    opened = page_text(operator.get(reply_link(first)))
    assert f'name="message_id" value="{first.pk}"' in opened
    # The form stands under the reply it is about, before the next one.
    assert opened.index(REPLY_TEXT) < opened.index('id="report_reason_code') < opened.index("Yes, both.</p>")
    sent = send(
        operator, first, reply_link(first), reason_code="wrong_fact", explanation=EXPLANATION, correction=CORRECTION
    )
    assert (sent.status_code, sent["Location"]) == (303, f"{page_of(first.conversation)}#message-{first.position}")  # type: ignore[attr-defined, index]  # the test client's answer
    report = latest_report(world)
    assert (report.message_id, report.explanation, report.correction) == (first.pk, EXPLANATION, CORRECTION)
    after = operator.get(page_of(first.conversation))
    assert "reported: a fact is wrong" in page_words(after)
    assert f'href="{page_of(report)}"' in page_text(after)


@pytest.mark.slow
def test_without_naming_one_the_form_begins_with_the_latest_reply(world: World, operator: Client) -> None:
    first = make_reply(world)
    second = make_reply(world, "Yes, both.", first.conversation)
    page = page_text(operator.get(page_of(first.conversation)))
    assert f'<option value="{second.pk}" selected>' in page
    assert 'data-key="f"' in page
    for nonsense in ("0", "x", str(make_reply(world).pk), "9" * 40):
        assert f'<option value="{second.pk}" selected>' in page_text(
            operator.get(f"{page_of(first.conversation)}?reply={nonsense}")
        )


@pytest.mark.slow
def test_a_refused_report_stands_under_its_reply_with_all_that_was_typed(world: World, operator: Client) -> None:
    first = make_reply(world)
    make_reply(world, "Yes, both.", first.conversation)
    refused = send(operator, first, reply_link(first), reason_code="other", correction=CORRECTION)
    page = page_text(refused)
    assert refused.status_code == 422  # type: ignore[attr-defined]  # the test client's answer
    assert "Explain what is wrong with the reply." in page
    assert page.index(REPLY_TEXT) < page.index(f">{CORRECTION}</textarea>") < page.index("Yes, both.</p>")
    make_report_of(world, first)
    twice = send(operator, first, reply_link(first), reason_code="wrong_tone")
    assert twice.status_code == 409  # type: ignore[attr-defined]  # the test client's answer
    assert "You have reported this reply already." in page_words(twice)


def test_off_the_record_and_in_talks_nothing_is_offered(world: World, operator: Client) -> None:
    # R178
    quiet = make_reply(world, conversation=make_event(world, "Quietly.", off_the_record=True).conversation)
    assert "report" not in form_names(operator, page_of(quiet.conversation))
    assert "?reply=" not in page_text(operator.get(page_of(quiet.conversation)))
    talk = make_talk(make_assistant(world))
    assert "?reply=" not in page_text(operator.get(reverse("admin:talk", args=[talk.pk])))


def form_names(client: Client, page: str) -> set[str]:
    return {name for name in ("report", "resolve") if f"/decide/{name}/" in page_text(client.get(page))}


@pytest.mark.slow
def test_a_person_who_may_not_report_sees_no_form(world: World, operator: Client) -> None:
    reply = make_reply(world)
    draft = make_waiting_draft(world, reply.conversation)
    make_limit(world, Act.REPORT_CREATE)
    for page in (page_of(reply.conversation), page_of(draft)):
        assert "?reply=" not in page_text(operator.get(page))
        assert "report" not in form_names(operator, page)


@pytest.mark.parametrize("make", [make_waiting_draft, make_escalation])
def test_beside_a_draft_or_a_question_each_reply_leads_to_its_form(
    world: World, operator: Client, make: Callable[[World, Conversation], Model]
) -> None:
    reply = make_reply(world)
    row = make(world, reply.conversation)
    page = page_text(operator.get(page_of(row)))
    assert f'href="{reply_link(reply)}#message-{reply.position}"' in page


def test_the_page_of_reasons_has_the_form_and_the_mark(world: World, operator: Client, standin: StandIn) -> None:
    make_persona(world)
    turn = run_customer_turn(world, "When is it paid?", standin)
    with acting_as(world.operator):
        reply = Message.objects.select_related("conversation").get(turn_id=turn.pk, is_reply=True)
    page = reverse("admin:reply_explanation", args=[turn.pk])
    send(operator, reply, page, reason_code="wrong_tone")
    report = latest_report(world)
    assert report.message_id == reply.pk
    assert "reported: wrong tone" in page_words(operator.get(page))
    shown = page_text(operator.get(page_of(report)))
    for link in (page, page_of(reply.conversation), reverse("admin:runtime_session_change", args=[turn.session_id])):
        assert f'href="{link}' in shown


def test_a_report_waits_at_home_in_its_list_and_in_the_menu(world: World, operator: Client) -> None:
    report = make_report(world)
    listing = list_of(Report)
    home = page_text(operator.get(reverse("admin:index")))
    assert f'<a href="{listing}?tab=open">Reported replies</a>' in home
    row = page_words(operator.get(listing))
    for text in (REPLY_TEXT, "A fact is wrong", EXPLANATION, world.operator_user.username):
        assert text in row
    settle_report(report, actor=world.operator, outcome="skill")
    assert f'{listing}?tab=open"' not in page_text(operator.get(reverse("admin:index")))
    assert "No reply is reported." in page_words(operator.get(listing))


def test_conversations_are_narrowed_to_those_with_a_report(world: World, operator: Client) -> None:
    report = make_report(world)
    with acting_as(world.operator):
        thread = Conversation.objects.get(pk=report.conversation_id)
    other = make_reply(world).conversation
    marked = page_words(operator.get(f"{list_of(Conversation)}?reported=open"))
    assert "1 reported" in marked
    assert thread.conversation_key in marked
    assert other.conversation_key not in marked
    settle_report(report, actor=world.operator, outcome="skill")
    assert thread.conversation_key not in page_words(operator.get(f"{list_of(Conversation)}?reported=open"))
    ever = page_words(operator.get(f"{list_of(Conversation)}?reported=ever"))
    assert thread.conversation_key in ever
    assert "1 reported" not in ever
    withdraw_report(make_report_of(world, make_reply(world, conversation=other)), actor=world.operator)
    assert other.conversation_key not in page_words(operator.get(f"{list_of(Conversation)}?reported=ever"))


def test_a_report_is_settled_and_the_next_one_opens(world: World, operator: Client) -> None:
    first, second = make_report(world), make_report(world)
    settled = operator.post(decision_of(first, "settle"), {"read_at": first.version, "outcome": "memory"})
    assert (settled.status_code, settled["Location"]) == (303, page_of(second))
    capture_agent_lessons(world.agent.pk, actor=world.system)
    [lesson] = lessons_of(world)
    page = page_text(operator.get(page_of(first)))
    for text in ("Memory is to be changed", "Settled by", page_of(lesson)):
        assert text in page
    assert page_of(first) in page_text(operator.get(page_of(lesson)))


def test_only_its_reporter_is_offered_to_take_it_back(world: World, operator: Client) -> None:
    reply = make_reply(world)
    report = make_report_of(world, reply)
    admin = signed_in(world.admin_user)
    assert decision_of(report, "withdraw") not in page_text(admin.get(page_of(report)))
    assert "Only its author may withdraw a report." in page_words(admin.get(page_of(report)))
    gone = operator.post(decision_of(report, "withdraw"), {"read_at": report.version})
    assert gone.status_code == 303
    page = page_words(operator.get(page_of(report)))
    assert "Whoever made it withdrew it on" in page
    assert "reported:" not in page_words(operator.get(page_of(reply.conversation)))


def test_the_figures_count_reports_by_day_and_lead_to_them(world: World, operator: Client) -> None:
    settle_report(make_report(world), actor=world.operator, outcome="nothing_wrong")
    make_report(world)
    page = operator.get(reverse("admin:statistics"))
    assert "Reported replies" in page_words(page)
    today = timezone.now().date()
    table = page_words(page).partition("Reported replies")[2]
    assert "Found right" in table
    assert f"{list_of(Report)}?tab=all&created_at__gte={today}" in page_text(page)


@pytest.mark.slow
def test_pages_with_reports_cost_the_same_however_many_there_are(world: World, operator: Client) -> None:
    reply = make_reply(world)
    report, thread = make_report_of(world, reply), reply.conversation
    pages = (
        page_of(thread),
        reply_link(reply),
        page_of(report),
        list_of(Report),
        f"{list_of(Conversation)}?reported=open",
        reverse("admin:index"),
    )
    for page in pages:
        operator.get(page)
    few = {page: count_reads(operator, page) for page in pages}
    for number in range(12):
        make_report_of(world, make_reply(world, f"Reply {number}.", thread))
    make_report_of(world, reply, actor=world.admin)
    many = {page: count_reads(operator, page) for page in pages}
    assert many == few
    assert {page: count for page, count in many.items() if count > MOST_READS and page not in pages[:2]} == {}


def test_another_tenants_report_and_reply_are_not_there(world: World, operator: Client) -> None:
    other = make_world("elsewhere")
    report = make_report(other)
    assert operator.get(page_of(report)).status_code == 302
    mine = make_reply(world)
    theirs = {"read_at": mine.conversation.version, "message_id": report.message_id, "reason_code": "wrong_tone"}
    refused = operator.post(decision_of(mine.conversation, "report"), theirs)
    assert refused.status_code == 404
    assert "There is no such reply." in page_words(refused)
