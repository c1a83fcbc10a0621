"""What happened to a person's account: told to that person alone, on the page of their browsers."""

from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.tenants.accounts.account_events import EVENTS_SHOWN, RETENTION, note_event
from apps.tenants.models.sign_in import AccountEvent
from tests.console.accounts.test_second_factor import CODE, FACTOR, HOME, LOGIN, shown_secret
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.drivers.authenticator_device import with_device
from tests.support.drivers.console_client import decide, page_words, signed_in
from tests.support.worlds.world import PASSWORD, World, make_world, member_of

PAGE, PASSWORD_PAGE = reverse("admin:browser_sessions"), reverse("admin:password_change")
Kind = AccountEvent.Kind
RESET_BY_ADMIN = "not by you: an admin's reset"


def events(user: Any) -> list[tuple[str, str]]:
    """What and from where, as it came."""
    return list(AccountEvent.objects.filter(user=user).order_by("pk").values_list("kind", "ip_address"))


def test_what_a_person_changes_is_told_with_the_address(world: World, operator: Client) -> None:
    assert "Nothing within a year" in page_words(operator.get(PAGE))
    fresh = "a-much-longer-passphrase"
    wrong = operator.post(PASSWORD_PAGE, {"old_password": "x", "new_password1": fresh, "new_password2": fresh})
    assert (wrong.status_code, events(world.operator_user)) == (200, [])
    typed = {"old_password": PASSWORD, "new_password1": fresh, "new_password2": fresh}
    assert operator.post(PASSWORD_PAGE, typed).status_code == 302
    phone = shown_secret(operator)
    operator.post(FACTOR, {"code": phone.code(), "password": fresh})
    operator.post(FACTOR, {"code": phone.code(1), "renew": "1"})
    text = page_words(operator.get(PAGE))
    assert events(world.operator_user) == [
        ("password_set", "127.0.0.1"),
        ("factor_set", "127.0.0.1"),
        ("codes_renewed", "127.0.0.1"),
    ]
    order = [text.index(Kind(kind).label) for kind, _ in events(world.operator_user)]
    assert order == sorted(order, reverse=True), "the latest first"
    assert "from 127.0.0.1" in text
    assert RESET_BY_ADMIN not in text


def test_a_recovery_code_and_the_end_of_a_factor_are_told(world: World) -> None:
    device = with_device(world.operator_user)
    client = Client(REMOTE_ADDR="198.51.100.9")
    client.post(LOGIN, {"username": world.operator_user.username, "password": PASSWORD, "next": HOME})
    client.post(CODE, {"code": "00000-00000"})
    client.post(CODE, {"code": device.recovery[0]})
    client.post(FACTOR, {"code": device.recovery[1], "remove": "1"})
    assert events(world.operator_user)[1:] == [
        ("code_used", "198.51.100.9"),
        ("code_used", "198.51.100.9"),
        ("factor_dropped", "198.51.100.9"),
    ]


def test_what_others_do_to_an_account_says_so(world: World, admin: Client) -> None:
    with_device(world.operator_user)
    decide(admin, member_of(world, world.operator_user), "reset")
    assert events(world.operator_user)[1:] == [("credentials_reset", ""), ("factor_dropped", "")]
    world.operator_user.refresh_from_db()
    shown = page_words(signed_in(world.operator_user).get(PAGE))
    assert "The password was invalidated and every session ended" in shown
    assert RESET_BY_ADMIN in shown
    with_device(world.admin_user)
    call_command("drop_second_factor", world.admin_user.username)
    assert events(world.admin_user)[-1] == ("factor_dropped", "")


def test_signing_others_out_is_told_once_there_was_one(world: World, operator: Client) -> None:
    operator.post(PAGE, {"others": "1"})
    operator.post(PAGE, {"end": "nobody"})
    assert events(world.operator_user) == []
    signed_in(world.operator_user)
    operator.post(PAGE, {"others": "1"})
    assert events(world.operator_user) == [("signed_out", "127.0.0.1")]


def test_nobody_reads_anothers_and_no_tenant_role_any(world: World, operator: Client) -> None:
    note_event(make_world().admin_user.pk, Kind.FACTOR_DROPPED, ip_address="203.0.113.5")
    assert "203.0.113.5" not in page_words(operator.get(PAGE))
    for actor in (world.bot, world.operator, world.admin, world.system):
        for statement in ("SELECT 1 FROM tenants_accountevent", "DELETE FROM tenants_accountevent"):
            assert run_and_undo(actor, statement).sqlstate == NO_RIGHT


def test_a_year_is_kept_and_however_much_happened_costs_one_look(world: World, operator: Client) -> None:
    mine = {"user": world.operator_user, "kind": Kind.PASSWORD_SET, "ip_address": "192.0.2.7"}
    AccountEvent.objects.create(**mine, created_at=timezone.now() - RETENTION - timedelta(days=1))
    last_year = AccountEvent.objects.create(**mine, created_at=timezone.now() - RETENTION + timedelta(days=1))
    for _ in range(EVENTS_SHOWN + 5):
        note_event(world.operator_user.pk, Kind.CODES_RENEWED, ip_address="192.0.2.8")
    assert AccountEvent.objects.earliest("pk") == last_year
    with CaptureQueriesContext(connection) as asked:
        page = page_words(operator.get(PAGE))
    assert page.count("New recovery codes were made") == EVENTS_SHOWN
    assert sum("tenants_accountevent" in each["sql"] for each in asked) == 1


def test_nobody_changes_what_was_written(world: World) -> None:
    note_event(world.operator_user.pk, Kind.PASSWORD_SET, ip_address="192.0.2.7")
    assert run_and_undo(None, "UPDATE tenants_accountevent SET ip_address = ''").sqlstate == NO_RIGHT
