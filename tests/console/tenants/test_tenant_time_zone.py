"""Moments on pages, and those that are typed into them, are by the tenant's clock, which each page names."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.governance.database.actor_transaction import acting
from apps.notebook.models import Note
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import form_values, list_of, page_of, save, words_of
from tests.support.worlds.world import World, make_conversation, make_world

pytestmark = pytest.mark.django_db
FAR = "Pacific/Kiritimati"


@pytest.fixture
def far(world: World) -> World:
    """A tenant fourteen hours before UTC."""
    with acting(world.admin):
        settings = TenantSettings.objects.get()
    amend_settings(settings, actor=world.admin, timezone=FAR)
    return world


def test_a_page_shows_the_hours_of_its_tenant_and_names_the_zone(far: World, operator: Client) -> None:
    conversation = make_conversation(far)
    there = conversation.created_at.astimezone(UTC) + timedelta(hours=14)
    page = words_of(operator.get(page_of(conversation)))
    assert f"{there.day} {there:%b %Y %H:%M}" in page
    assert f"times of {FAR}" in page
    assert timezone.get_current_timezone_name() == "UTC", "the next request of this thread has its own tenant's"


def test_a_tenant_that_said_nothing_lives_by_utc(world: World, operator: Client) -> None:
    assert "times of UTC" in words_of(operator.get(reverse("admin:index")))


def test_a_moment_is_typed_as_it_is_shown(far: World, operator: Client) -> None:
    # R177
    path = reverse("admin:notebook_note_add")
    values = form_values(operator.get(path).content.decode(), path)
    typed = {"agent": far.agent.pk, "kind": "reminder", "text": "Call Ann.", "due_at": "2999-05-09T14:30:00"}
    assert operator.post(path, values | {name: str(value) for name, value in typed.items()}).status_code == 302
    with acting(far.operator):
        note = Note.objects.get()
    assert note.due_at == datetime(2999, 5, 9, 0, 30, tzinfo=UTC)
    assert "9 May 2999 14:30" in words_of(operator.get(list_of(Note)))
    assert form_values(operator.get(page_of(note)).content.decode(), page_of(note))["due_at"] == "2999-05-09T14:30:00"
    save(operator, page_of(note), text="Call Bob.")
    with acting(far.operator):
        assert Note.objects.get().due_at == datetime(2999, 5, 9, 0, 30, tzinfo=UTC), "a text that changes moves no hour"


def test_two_tenants_of_one_process_have_their_own_hours(far: World, operator: Client, client: Client) -> None:
    other = make_world()
    conversation = make_conversation(other)
    client.force_login(other.operator_user)
    operator.get(reverse("admin:index"))
    there = conversation.created_at.astimezone(UTC)
    assert f"{there.day} {there:%b %Y %H:%M}" in words_of(client.get(page_of(conversation)))
