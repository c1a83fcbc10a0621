"""What I am told: everybody's own page, by a plain form."""

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.notifications.models import NotificationPreferences
from apps.notifications.smtp import mail_server
from apps.tenants.models import User
from tests.support.drivers.console_client import page_words, signed_in
from tests.support.servers.smtp_server import make_notice
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db


def terms_of(world: World) -> list[NotificationPreferences]:
    with acting_as(world.admin):
        return list(NotificationPreferences.objects.filter(tenant_id=world.tenant.pk).order_by("user_id"))


def preferences_url() -> str:
    return reverse("admin:notification_preferences")


def test_each_person_chooses_for_themselves(world: World, operator: Client, admin: Client) -> None:
    assert "You are told nothing yet" in page_words(operator.get(preferences_url()))
    assert terms_of(world) == []
    chosen = {
        "escalations": "at-once",
        "reviews": "digest",
        "digest_hour": 7,
        "quiet_start_hour": 20,
        "quiet_end_hour": 6,
    }
    for _ in range(2):
        saved = operator.post(preferences_url(), form(**chosen, timezone="Europe/Madrid"))
        assert (saved.status_code, saved["Location"]) == (303, preferences_url())
    [row] = terms_of(world)
    assert (row.user_id, row.escalations, row.reviews, row.drafts) == (
        world.operator.user_id,
        "at-once",
        "digest",
        "never",
    )
    assert (row.digest_hour, row.quiet_start_hour, row.quiet_end_hour, row.timezone) == (7, 20, 6, "Europe/Madrid")
    shown = page_words(operator.get(preferences_url()))
    assert "Hours are of Europe/Madrid" in shown or "no mail server" in shown
    assert "You are told nothing yet" in page_words(admin.get(preferences_url()))
    operator.post(preferences_url(), form())
    assert "You get no e-mail about pending work." in page_words(operator.get(preferences_url()))


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"timezone": "Mars/Olympus"}, "There is no time zone Mars/Olympus. Write it as region and city"),
        ({"quiet_start_hour": 22}, "Choose when the quiet hours begin and when they end, or neither."),
        ({"quiet_start_hour": 9, "quiet_end_hour": 9}, "Quiet hours cannot begin and end at 09:00."),
        (
            {"quiet_start_hour": 22, "quiet_end_hour": 9},
            "The digest of 08:00 would fall into the quiet hours from 22:00 to 09:00.",
        ),
        ({"escalations": "loudly"}, "Select a valid choice. loudly is not one of the available choices."),
        ({"digest_hour": 24}, "Select a valid choice. 24 is not one of the available choices."),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_typed_is_lost(
    typed: dict[str, object], message: str, world: World, operator: Client
) -> None:
    refused = operator.post(preferences_url(), form(**{"drafts": "at-once", **typed}))
    assert refused.status_code == 422
    assert "Not saved." in page_words(refused)
    assert message in page_words(refused)
    assert '<option value="at-once" selected>' in refused.content.decode()
    assert terms_of(world) == []


def test_the_page_says_why_nothing_is_sent_and_where_messages_go(
    world: World, operator: Client, settings: Settings
) -> None:
    settings.MAIL_SERVER = None
    assert "No e-mail is sent: this installation has no mail server." in page_words(operator.get(preferences_url()))
    settings.MAIL_SERVER = mail_server("smtp://127.0.0.1:9", "preceptor@example.com")
    make_notice(world)
    shown = page_words(operator.get(preferences_url()))
    assert f"Messages go to {world.operator_user.email}. Hours are of UTC." in shown
    assert "At once Waiting" in shown


def test_a_person_without_address_is_informed(world: World, settings: Settings) -> None:
    settings.MAIL_SERVER = mail_server("smtp://127.0.0.1:9", "preceptor@example.com")
    User.objects.filter(pk=world.operator_user.pk).update(email="")
    # Another address proves nobody by itself.
    User.objects.filter(pk=world.operator_user.pk).update(email_verified_at=Now())
    assert "Your account has no e-mail address" in page_words(signed_in(world.operator_user).get(preferences_url()))


def test_the_page_is_found_from_home_and_from_every_page(operator: Client) -> None:
    assert operator.get(reverse("admin:index")).content.decode().count(f'href="{preferences_url()}"') == 2
    assert f'href="{preferences_url()}"' in operator.get(reverse("admin:statistics")).content.decode()


def form(**typed: object) -> dict[str, str]:
    kinds = ("escalations", "tool_approvals", "drafts", "reviews", "stuck_turns", "deliveries")
    plain = {
        **dict.fromkeys(kinds, "never"),
        "digest_hour": 8,
        "quiet_start_hour": "",
        "quiet_end_hour": "",
        "timezone": "",
    }
    return {name: str(value) for name, value in {**plain, **typed}.items()}
