"""Moments on pages, and those that are typed into them, are by the tenant's clock, which each page names."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.notebook.models import Note
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import form_values, list_of, page_of, page_words, save_form
from tests.support.worlds.world import World, make_conversation, make_world

pytestmark = pytest.mark.django_db
FAR_TIME_ZONE = "Pacific/Kiritimati"


@pytest.fixture
def far(world: World) -> World:
    """A tenant fourteen hours before UTC."""
    with acting_as(world.admin):
        settings = TenantSettings.objects.get()
    amend_settings(settings, actor=world.admin, timezone=FAR_TIME_ZONE)
    return world


def test_a_page_shows_the_hours_of_its_tenant_and_names_the_zone(far: World, operator: Client) -> None:
    conversation = make_conversation(far)
    there = conversation.created_at.astimezone(UTC) + timedelta(hours=14)
    page = page_words(operator.get(page_of(conversation)))
    assert f"{there.day} {there:%b %Y %H:%M}" in page
    assert f"times of {FAR_TIME_ZONE}" in page
    assert timezone.get_current_timezone_name() == "UTC", "the next request of this thread has its own tenant's"


def test_a_tenant_that_said_nothing_lives_by_utc(world: World, operator: Client) -> None:
    assert "times of UTC" in page_words(operator.get(reverse("admin:index")))


def test_a_moment_is_typed_as_it_is_shown(far: World, operator: Client) -> None:
    # R177
    path = reverse("admin:notebook_note_add")
    values = form_values(operator.get(path).content.decode(), path)
    typed = {"agent": far.agent.pk, "kind": "reminder", "text": "Call Ann.", "due_at": "2999-05-09T14:30:00"}
    assert operator.post(path, values | {name: str(value) for name, value in typed.items()}).status_code == 302
    with acting_as(far.operator):
        note = Note.objects.get()
    assert note.due_at == datetime(2999, 5, 9, 0, 30, tzinfo=UTC)
    assert "9 May 2999 14:30" in page_words(operator.get(list_of(Note)))
    assert form_values(operator.get(page_of(note)).content.decode(), page_of(note))["due_at"] == "2999-05-09T14:30:00"
    save_form(operator, page_of(note), text="Call Bob.")
    with acting_as(far.operator):
        assert Note.objects.get().due_at == datetime(2999, 5, 9, 0, 30, tzinfo=UTC), "a text that changes moves no hour"


def test_two_tenants_of_one_process_have_their_own_hours(far: World, operator: Client, client: Client) -> None:
    other = make_world()
    conversation = make_conversation(other)
    client.force_login(other.operator_user)
    operator.get(reverse("admin:index"))
    there = conversation.created_at.astimezone(UTC)
    assert f"{there.day} {there:%b %Y %H:%M}" in page_words(client.get(page_of(conversation)))
