"""People are told what waits, through a real mail server: once, in few messages, without a customer's word."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.desk.actions import dismiss_escalation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import MissingActor, NotPermitted
from apps.notifications.email_delivery import notify_person, prepare_email, record_outcome, send_email
from apps.notifications.models import EmailNotification, NotificationPreferences
from apps.notifications.notification_store import claim_preferences, own_preferences, set_preferences
from apps.notifications.pending_items import PendingItems
from apps.notifications.rules import NotificationKind
from apps.tenants.accounts.people import deactivate_and_sign_out
from apps.tenants.authentication.actor_resolution import staff_actor
from apps.tenants.due_work import due_work
from apps.tenants.models import Membership
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.servers.smtp_server import (
    SmtpServer,
    make_check_due,
    make_preferences,
    run_check,
    run_smtp_server,
    text_of,
)
from tests.support.servers.webhook_receiver import make_failed_delivery
from tests.support.worlds.world import World, make_skill, make_staff, make_world

pytestmark = pytest.mark.django_db
CHECK_DELAY = timedelta(minutes=40, seconds=5)
DAY = timedelta(days=1)


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def box(settings: Settings) -> Iterator[SmtpServer]:
    with run_smtp_server() as opened:
        settings.MAIL_SERVER = opened.server
        settings.CONSOLE_URL = "https://console.example.com/"
        yield opened


def notices(world: World) -> list[EmailNotification]:
    with acting_as(world.system):
        return list(EmailNotification.objects.filter(tenant_id=world.tenant.pk).order_by("pk"))


def test_an_escalation_is_told_at_once_with_a_link_and_no_word_of_the_customer(world: World, box: SmtpServer) -> None:
    make_escalation(world)
    make_waiting_draft(world, text="Your parcel 4711 is lost.")
    hour_of_digest = (timezone.now().hour + 5) % 24
    terms = make_preferences(world, escalations="at-once", drafts="digest", timezone="UTC", digest_hour=hour_of_digest)
    run_check(world, terms, CHECK_DELAY)
    [letter] = box.letters
    assert letter["Subject"] == f"[{world.tenant.name}] 1 escalation (40 min)"
    assert letter["Auto-Submitted"] == "auto-generated"
    text = text_of(letter)
    assert "https://console.example.com/admin/desk/escalation/?tab=open" in text
    assert "https://console.example.com/admin/told/" in text
    assert letter["List-Unsubscribe"] == "<https://console.example.com/admin/told/>"
    assert "parcel" not in letter.as_string()
    assert box.to == [world.operator_user.email]
    assert [notice.status for notice in notices(world)] == ["sent"]


def test_what_was_told_is_not_told_again_and_something_new_is(world: World, box: SmtpServer) -> None:
    make_escalation(world)
    terms = make_preferences(world, escalations="at-once")
    run_check(world, terms)
    run_check(world, terms)
    assert len(box.letters) == 1
    make_escalation(world)
    run_check(world, terms)
    assert len(box.letters) == 2
    assert "2 escalations (oldest 0 min), 1 new" in text_of(box.letters[1])
    assert len(set(box.ids)) == 2


def test_what_was_settled_meanwhile_is_not_told_and_is_forgotten(world: World, box: SmtpServer) -> None:
    first, second = make_escalation(world), make_escalation(world)
    terms = make_preferences(world, escalations="at-once")
    dismiss_escalation(first, actor=world.operator)
    run_check(world, terms)
    assert "1 escalation (0 min)" in box.letters[0]["Subject"]
    dismiss_escalation(second, actor=world.operator)
    run_check(world, terms)
    assert len(box.letters) == 1
    with acting_as(world.system):
        assert NotificationPreferences.objects.get(pk=terms.pk).notified_ids == {"escalations": []}


def test_a_digest_is_one_message_about_all_that_waits_once_a_day(world: World, box: SmtpServer) -> None:
    make_escalation(world)
    make_skill(world)
    make_waiting_draft(world)
    make_failed_delivery(world)
    terms = make_preferences(world, escalations="digest", reviews="digest", drafts="digest", deliveries="digest")
    run_check(world, terms)
    assert box.letters == []
    run_check(world, terms, 4 * DAY)
    [letter] = box.letters
    subject = " ".join(letter["Subject"].split())
    assert subject.endswith(
        "1 escalation (4 days), 1 reply draft (4 days), 1 review (4 days, 1 overdue), 1 webhook delivery given up (4 days)"
    )
    # A day later all of it waits still, and the person knows.
    run_check(world, terms, 5 * DAY)
    assert len(box.letters) == 1


def test_a_worker_that_dies_behind_the_send_repeats_one_message_under_one_id(world: World, box: SmtpServer) -> None:
    make_escalation(world)
    terms = make_preferences(world, escalations="at-once")
    make_check_due(world, terms)
    held = claim_preferences(terms.pk, actor=world.system)
    assert held is not None
    assert claim_preferences(terms.pk, actor=world.system) is None
    email = prepare_email(held, actor=world.system, now=timezone.now())
    assert email is not None
    assert send_email(box.server, email) is None
    # Nothing was noted; the lease is over, and another worker goes on.
    run_check(world, terms)
    run_check(world, terms)
    assert len(box.ids) == 2
    assert len(set(box.ids)) == 1
    # The first one comes back to life, and changes nothing.
    record_outcome(held, email.notice, None, actor=world.system, now=timezone.now())
    [notice] = notices(world)
    assert (notice.status, notice.attempts) == ("sent", 1)


def test_a_message_that_waited_is_dropped_once_all_of_it_was_settled(world: World, box: SmtpServer) -> None:
    row = make_escalation(world)
    terms = make_preferences(world, escalations="at-once")
    box.answer = "451 Later"
    run_check(world, terms)
    assert [(each.status, each.failure, each.attempts) for each in notices(world)] == [
        ("waiting", "address refused", 1)
    ]
    dismiss_escalation(row, actor=world.operator)
    box.answer = "250 Yes"
    run_check(world, terms)
    assert [notice.status for notice in notices(world)] == ["skipped"]
    assert box.letters == []


@pytest.mark.slow
def test_a_server_that_is_away_is_tried_again_and_an_address_that_does_not_exist_is_not(
    world: World, box: SmtpServer, settings: Settings
) -> None:
    make_escalation(world)
    terms = make_preferences(world, escalations="at-once")
    with run_smtp_server() as gone:
        settings.MAIL_SERVER = gone.server
    run_check(world, terms)
    [notice] = notices(world)
    assert (notice.status, notice.failure) == ("waiting", "mail server not reached")
    settings.MAIL_SERVER = box.server
    box.answer = "550 Nobody of this name"
    run_check(world, terms)
    [notice] = notices(world)
    assert (notice.status, notice.failure, notice.attempts) == ("dead", "address refused", 2)
    # It stood in a message, so it makes none by itself; the next one counts it all the same.
    box.answer = "250 Yes"
    run_check(world, terms)
    assert box.letters == []
    make_escalation(world)
    run_check(world, terms)
    assert "2 escalations" in box.letters[0]["Subject"]


def test_in_quiet_hours_nothing_is_sent_and_one_message_follows(world: World, box: SmtpServer) -> None:
    now = timezone.now()
    begins, ends, digest = ((now.hour + later) % 24 for later in (0, 2, 5))
    terms = make_preferences(
        world, escalations="at-once", timezone="UTC", quiet_start_hour=begins, quiet_end_hour=ends, digest_hour=digest
    )
    make_escalation(world)
    make_escalation(world)
    make_check_due(world, terms)
    notify_person(world.tenant.pk, terms.pk, now=now)
    assert box.letters == []
    make_check_due(world, terms)
    notify_person(world.tenant.pk, terms.pk, now=now + timedelta(hours=2))
    [letter] = box.letters
    assert "2 escalations" in letter["Subject"]


def test_a_former_member_is_not_notified(world: World, box: SmtpServer) -> None:
    terms = make_preferences(world, escalations="at-once")
    make_escalation(world)
    with acting_as(world.admin):
        member = Membership.objects.visible_to(world.admin).get(user=world.operator_user)
    deactivate_and_sign_out(member, actor=world.admin)
    run_check(world, terms)
    assert box.letters == []
    assert (world.tenant.pk, terms.pk) not in due_work("notifications")


def test_without_a_mail_server_nothing_is_claimed_and_nothing_counts_as_told(world: World, settings: Settings) -> None:
    settings.MAIL_SERVER = None
    make_escalation(world)
    terms = make_preferences(world, escalations="at-once")
    run_check(world, terms)
    assert notices(world) == []
    assert (world.tenant.pk, terms.pk) in due_work("notifications")


def test_only_members_say_what_they_are_told(world: World) -> None:
    visitor = make_staff()
    for actor in (staff_actor(visitor.pk, world.tenant.pk), world.bot, world.system):
        with pytest.raises(NotPermitted):
            set_preferences(actor=actor, values={"escalations": "at-once"})
    with pytest.raises(MissingActor), acting_as(world.system):
        own_preferences(world.system)
    set_preferences(actor=world.operator, values={"escalations": "at-once"})
    with acting_as(world.system):
        assert NotificationPreferences.objects.filter(tenant_id=world.tenant.pk).count() == 1


def test_of_a_heap_the_newest_are_counted_and_what_lies_below_stays_told() -> None:
    heap = PendingItems(NotificationKind.DRAFTS, tuple(range(1_500, 500, -1)), timezone.now())
    assert heap.is_cut
    assert heap.still([7, 600, 2_000]) == [7, 600]
    assert PendingItems(NotificationKind.DRAFTS, (9,)).still([7, 9]) == [9]
