"""The search page: what it finds, how it shows it, and what it says where it finds nothing."""

from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.console.framework.request_context import VISIT_KEY
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.memory.models import MemoryLine
from apps.personas.actions import amend_persona
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.console.dashboard.test_statistics_page import CONTROL
from tests.support.drivers.console_client import page_of, page_text, page_words, signed_in
from tests.support.worlds.world import (
    World,
    make_block,
    make_conversation,
    make_event,
    make_memory,
    make_persona,
    make_profile,
    make_skill,
    make_staff,
    make_visit,
    make_world,
)

pytestmark = pytest.mark.django_db
# What every page asks, one look for the words, and one read of each kind that has any.
QUERIES = 13


def search(client: Client, asked: str, **more: str) -> str:
    return page_text(client.get(reverse("admin:search"), {"q": asked, **more}))


def found_urls(client: Client, asked: str, **more: str) -> list[str]:
    """The addresses of what was found."""
    results = client.get(reverse("admin:search"), {"q": asked, **more}).context["results"]
    return [hit.url for hit in results.hits]


@pytest.mark.slow
def test_every_kind_is_found_and_leads_to_its_page(world: World, operator: Client) -> None:
    # R179
    conversation = make_conversation(world)
    skill = make_skill(world, body="## Procedure\n1. Ask for a picture of the broken parcel.")
    make_memory(world, "A parcel that arrived broken is replaced.")
    block = make_block(world, "Broken parcels")
    profile = make_profile(world, notes="Got a broken parcel in May.")
    with acting_as(world.operator):
        line = MemoryLine.objects.get(text__startswith="A parcel")
    urls = found_urls(operator, "broken parcel")
    assert f"{page_of(conversation)}#message-0" in urls
    assert {page_of(row) for row in (skill, line, block, profile)} <= set(urls)
    # The draft waits as a proposal, too.
    assert len(urls) == 6
    for kind, count in (("conversations", 1), ("skills", 1), ("memory", 2), ("proposals", 1), ("customers", 1)):
        assert len(found_urls(operator, "broken parcel", kind=kind)) == count
    assert "Message http:thread" in page_words(operator.get(reverse("admin:search"), {"q": "parcel"}))
    assert "Noted of a customer http:abc123 Notes" in page_words(operator.get(reverse("admin:search"), {"q": "may"}))
    assert 'id="message-0"' in page_text(operator.get(page_of(conversation)))


def test_a_change_is_told_in_words_and_leads_to_its_page(world: World, operator: Client) -> None:
    # R179
    persona = make_persona(world, style="Warm and brief.")
    amend_persona(
        persona, actor=world.operator, values={"style": "Ochre <b>and</b> terse."}, reason="Asked for by Ann."
    )
    with acting_as(world.operator):
        record = ChangeRecord.objects.get(act="persona.amend")
    assert found_urls(operator, "ochre", kind="changes") == found_urls(operator, "asked ann") == [page_of(record)]
    page = operator.get(reverse("admin:search"), {"q": "ochre"})
    assert f"Change Persona of agent support amend, by {world.operator_user.username}" in page_words(page)
    assert "<mark>Ochre</mark> &lt;b&gt;and" in page.content.decode()
    assert "Warm and brief." in page.content.decode()
    assert "Ochre" in page_text(operator.get(page_of(record)))
    other = signed_in(make_world().operator_user)
    assert found_urls(other, "ochre") == []
    assert other.get(page_of(record)).status_code in {302, 404}


def test_what_was_looked_for_is_marked_and_nothing_written_there_is_markup(world: World, operator: Client) -> None:
    make_memory(world, "<b>Refunded</b> & <script>alert(1)</script> refunds")
    page = operator.get(reverse("admin:search"), {"q": "refund"}).content.decode()
    assert "&lt;b&gt;<mark>Refunded</mark>&lt;/b&gt; &amp; &lt;script&gt;" in page
    assert "<mark>refunds</mark>" in page
    assert "<script>alert" not in page
    typed = operator.get(reverse("admin:search"), {"q": '"><img src=x>'}).content.decode()
    assert "<img src=x" not in typed


def test_another_tenants_words_are_nowhere(world: World, operator: Client) -> None:
    # R006
    other = make_world()
    make_conversation(other)
    make_memory(other, "A broken parcel is replaced.")
    make_profile(other, notes="Got a broken parcel.")
    assert "Nothing holds these words." in search(operator, "parcel")
    assert len(found_urls(signed_in(other.operator_user), "parcel")) == 3


def test_nothing_off_the_record_is_found(world: World, operator: Client) -> None:
    # R178
    make_conversation(world, off_the_record=True)
    assert "Nothing holds these words." in search(operator, "parcel")


def test_results_stand_under_the_day_of_the_tenants_clock(world: World, operator: Client) -> None:
    make_conversation(world)
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    days = set()
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        settings = amend_settings(settings, actor=world.admin, timezone=zone)
        [hit] = operator.get(reverse("admin:search"), {"q": "broken"}).context["results"].hits
        page = operator.get(reverse("admin:search"), {"q": "broken"}).content.decode()
        assert f'id="day-{hit.at.astimezone(ZoneInfo(zone)):%Y-%m-%d}"' in page
        days.add(page.split('id="day-')[1][:10])
    assert len(days) == 2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("", "Type what to look for."),
        ("a", "Type at least two letters."),
        ("-parcel", "Type at least one word that the results must contain."),
        ("!! ??", "Type at least one word that the results must contain."),
        ("x" * 201, "at most 200 characters"),
        ("pa\0rcel", "Null characters are not allowed."),
        ("xylophone", "Nothing holds these words."),
        ("a' & ( | !", "Nothing holds these words."),
    ],
)
def test_what_cannot_be_found_is_answered_in_words(operator: Client, asked: str, message: str) -> None:
    assert message in search(operator, asked)


def test_before_anything_is_typed_the_page_says_what_it_looks_through(operator: Client) -> None:
    shown = page_words(operator.get(reverse("admin:search")))
    assert "Looks through what customers, agents and people said" in shown
    assert "Type what to look for." not in shown


@pytest.mark.slow
def test_a_page_holds_fifty_and_the_rest_is_a_page_older(world: World, operator: Client) -> None:
    for number in range(51):
        make_event(world, "Where is my parcel?", conversation_key=f"t{number}")
    make_memory(world, "\n".join(f"Parcel {number} is here." for number in range(60)))
    first = found_urls(operator, "parcel")
    second = found_urls(operator, "parcel", page="2")
    assert (len(first), len(second)) == (50, 10)
    assert not set(first) & set(second)
    assert "page=2" in search(operator, "parcel")
    assert "page=2" not in search(operator, "parcel", page="2")
    for page in ("0", "-1", "x", "²", "99999999999999999999"):
        assert "Search" in search(operator, "parcel", page=page, kind="nonsense")


def test_a_page_costs_the_same_however_much_is_found(world: World, operator: Client) -> None:
    def furnish(number: int) -> None:
        make_conversation(world)
        make_skill(world, title=f"Broken parcel {number}")
        make_block(world, f"Parcel {number}", body=f"A parcel, {number}.")
        make_profile(world, f"http:{number}", notes=f"Got parcel {number}.")
        if not number:
            make_memory(world, "A parcel that arrived broken is replaced.")

    furnish(0)
    search(operator, "parcel")
    with CaptureQueriesContext(connection) as few:
        search(operator, "parcel")
    for number in range(1, 4):
        furnish(number)
    with CaptureQueriesContext(connection) as many:
        search(operator, "parcel")
    assert len(many) == len(few)
    asked = [query["sql"] for query in many if not query["sql"].startswith(CONTROL)]
    assert len(asked) <= QUERIES, "\n".join(asked)


def test_staff_in_a_tenant_find_what_they_may_read_there(world: World) -> None:
    make_conversation(world)
    staff = make_staff()
    client = signed_in(staff)
    visit = make_visit(world, staff)
    session = client.session
    session[VISIT_KEY] = (world.tenant.pk, visit.pk)
    session.save()
    assert len(found_urls(client, "parcel")) == 1


def test_who_is_not_signed_in_finds_nothing() -> None:
    assert reverse("admin:login") in Client().get(reverse("admin:search"), {"q": "parcel"})["Location"]
