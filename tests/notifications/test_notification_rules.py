"""When people are told of what waits, by the clock of their zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from apps.notifications.rules import (
    CHECK_INTERVAL,
    MESSAGE_GAP,
    DeliveryTiming,
    NotificationKind,
    ZonedPreferences,
    is_quiet,
    next_check,
    plan_notification,
    quiet_hours_flaw,
)
from apps.notifications.smtp import mail_server

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
MADRID = ZoneInfo("Europe/Madrid")


def terms(quiet: tuple[int, int] | None = None, hour: int = 8, **chosen: DeliveryTiming) -> ZonedPreferences:
    every = {kind: chosen.get(kind.value, DeliveryTiming.NEVER) for kind in NotificationKind}
    return ZonedPreferences(every, hour, quiet, MADRID)


def test_what_is_told_at_once_is_told_at_once_and_alone() -> None:
    wanted = terms(escalations=DeliveryTiming.AT_ONCE, reviews=DeliveryTiming.DIGEST)
    plan = plan_notification(
        wanted, {NotificationKind.ESCALATIONS, NotificationKind.REVIEWS}, now=NOON, last_digest_at=NOON
    )
    assert plan is not None
    assert (plan.is_digest, plan.kinds) == (False, (NotificationKind.ESCALATIONS,))
    assert plan_notification(wanted, {NotificationKind.REVIEWS}, now=NOON, last_digest_at=NOON) is None


def test_the_digest_is_due_at_its_hour_there_and_speaks_of_all() -> None:
    # Eight in Madrid is seven by UTC.
    wanted = terms(escalations=DeliveryTiming.AT_ONCE, reviews=DeliveryTiming.DIGEST)
    seven = datetime(2026, 11, 24, 7, tzinfo=UTC)
    plan = plan_notification(wanted, {NotificationKind.REVIEWS}, now=seven, last_digest_at=NOON)
    assert plan is not None
    assert (plan.is_digest, plan.kinds) == (True, (NotificationKind.ESCALATIONS, NotificationKind.REVIEWS))
    assert (
        plan_notification(wanted, {NotificationKind.REVIEWS}, now=seven - timedelta(seconds=1), last_digest_at=NOON)
        is None
    )
    # Nothing new, or nothing that is wanted: no message.
    assert plan_notification(wanted, set(), now=seven, last_digest_at=NOON) is None
    assert plan_notification(wanted, {NotificationKind.DRAFTS}, now=seven, last_digest_at=NOON) is None


@pytest.mark.parametrize(
    ("quiet", "hour", "is_quiet_then"),
    [((22, 7), 23, True), ((22, 7), 3, True), ((22, 7), 7, False), ((9, 17), 9, True), ((9, 17), 17, False)],
)
def test_quiet_hours_may_go_round_midnight(quiet: tuple[int, int], hour: int, *, is_quiet_then: bool) -> None:
    now = datetime(2026, 11, 23, hour, tzinfo=MADRID)
    wanted = terms(quiet, escalations=DeliveryTiming.AT_ONCE)
    assert is_quiet(wanted, now) is is_quiet_then
    assert (
        plan_notification(wanted, {NotificationKind.ESCALATIONS}, now=now, last_digest_at=now) is None
    ) is is_quiet_then
    assert not is_quiet(terms(), now)


def test_the_next_look_is_soon_only_for_what_is_told_at_once() -> None:
    digest = datetime(2026, 11, 24, 7, tzinfo=UTC)
    assert next_check(terms(reviews=DeliveryTiming.DIGEST), NOON) == digest
    wanted = terms(escalations=DeliveryTiming.AT_ONCE)
    assert next_check(wanted, NOON) == NOON + CHECK_INTERVAL
    assert next_check(wanted, NOON, told_at_once=True) == NOON + MESSAGE_GAP
    assert next_check(wanted, digest - timedelta(seconds=5)) == digest


def test_in_quiet_hours_the_next_look_waits_for_their_end() -> None:
    wanted = terms((22, 7), escalations=DeliveryTiming.AT_ONCE)
    late = datetime(2026, 11, 23, 21, 59, 30, tzinfo=MADRID)
    assert next_check(wanted, late) == datetime(2026, 11, 24, 7, tzinfo=MADRID)
    assert next_check(wanted, NOON) == NOON + CHECK_INTERVAL


def test_a_digest_comes_once_on_the_days_a_clock_is_changed() -> None:
    # On 25 October 2026 Madrid has two o'clock twice.
    wanted = terms(hour=2, reviews=DeliveryTiming.DIGEST)
    first = next_check(wanted, datetime(2026, 10, 24, 12, tzinfo=UTC))
    second = next_check(wanted, first)
    assert (first.astimezone(MADRID).day, second.astimezone(MADRID).day) == (25, 26)


def test_hours_that_do_not_fit_are_named() -> None:
    assert quiet_hours_flaw(None, None, 8) == ""
    assert quiet_hours_flaw(22, 7, 8) == ""
    assert quiet_hours_flaw(22, None, 8).startswith("Choose when")
    assert quiet_hours_flaw(None, 7, 8).startswith("Choose when")
    assert "begin and end at 09:00" in quiet_hours_flaw(9, 9, 8)
    assert "The digest of 06:00 would fall into" in quiet_hours_flaw(22, 7, 6)


def test_the_mail_server_is_read_from_one_address() -> None:
    assert mail_server("", "") is None
    found = mail_server("smtp+tls://me%40x.org:p%2Fw@mail.example.com", "preceptor@example.com")
    assert found is not None
    assert (found.host, found.port, found.user, found.password) == ("mail.example.com", 587, "me@x.org", "p/w")
    for url, sender in (("http://x", "a@b"), ("smtp://", "a@b"), ("smtp://x", "")):
        with pytest.raises(ValueError, match="EMAIL_"):
            mail_server(url, sender)
