"""Lines of memory in the console: the list, a line's page, and an empty list."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Proposal
from apps.memory.actions import amend_block, amend_memory, amend_profile, create_profile
from apps.memory.line_dates import set_block_line_dates, set_memory_line_dates, set_profile_line_dates
from apps.memory.models import AgentMemory, CustomerProfile, MemoryLine
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import decide, page_of, page_text, page_words
from tests.support.worlds.world import World, make_block, make_conversation, make_memory

pytestmark = pytest.mark.django_db
LIST = "admin:memory_memoryline_changelist"


def test_a_line_says_whose_words_it_is_where_it_came_from_and_what_came_in_its_place(
    world: World, operator: Client
) -> None:
    # R080
    memory, conversation = make_memory(world, "Lunch is at noon."), make_conversation(world)
    make_block(world, "Hours", body="Open from nine.")
    evidence = {"conversation_id": conversation.pk}
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Lunch is at one.", evidence=evidence)
    page = page_text(operator.get(reverse(LIST)))
    for text in ("Lunch is at noon.", "Lunch is at one.", "Open from nine.", "Hours", "Replaced by another line"):
        assert text in page
    with acting_as(world.operator):
        old, new = MemoryLine.objects.filter(memory=memory).order_by("id")
    page = page_text(operator.get(page_of(old)))
    assert "Lunch is at one." in page
    assert page_of(new) in page
    page = page_text(operator.get(page_of(new)))
    assert page_of(conversation) in page
    assert page_of(memory) in page
    assert "The agent's words, as far" in page
    narrowed = page_text(operator.get(reverse(LIST), {"status__exact": "superseded"}))
    assert ("Lunch is at noon." in narrowed, "Open from nine." in narrowed) == (True, False)


@pytest.mark.parametrize("place", ["memory", "block"])
def test_the_page_of_a_text_shows_what_stood_there_and_what_holds_no_more(
    place: str, world: World, operator: Client
) -> None:
    # R080
    body = "Lunch is at noon.\nThe sale is on.\nParking is free."
    past = LineDates(datetime(2020, 1, 1, tzinfo=UTC))
    row = make_memory(world, body) if place == "memory" else make_block(world, "Hours", body=body)
    assert "What stood here before" not in page_text(operator.get(page_of(row)))
    later = "Lunch is at one.\nThe sale is on."
    if isinstance(row, AgentMemory):
        amend_memory(row, actor=world.operator, body=later)
        set_memory_line_dates(row, actor=world.operator, line="The sale is on.", dates=past)
    else:
        amend_block(row, actor=world.operator, body=later)
        set_block_line_dates(row, actor=world.operator, line="The sale is on.", dates=past)
    page = page_words(operator.get(page_of(row)))
    assert "Holds no more The sale is on. It stands in the text, and until 1 Jan 2020 00:00 prompts carried it." in page
    assert "with version 2: “Lunch is at one.” came in its place." in page
    assert "Parking is free. " in page
    assert "with version 2: taken out." in page
    make_block(world, "Other", body="Another text.")
    listed = operator.get(f"{reverse(LIST)}?{place}__exact={row.pk}&status__exact=removed")
    assert ("Parking is free." in page_text(listed), "Another text." in page_text(listed)) == (True, False)
    assert f"?{place}__exact={row.pk}" in page_text(operator.get(page_of(row)))


@pytest.mark.parametrize("place", ["memory", "profile"])
def test_every_history_names_the_lines_whose_dates_were_set(place: str, world: World, operator: Client) -> None:
    first, second = LineDates(datetime(2030, 1, 1, tzinfo=UTC)), LineDates(None, datetime(2029, 12, 1, tzinfo=UTC))
    row: AgentMemory | CustomerProfile
    if place == "memory":
        row = make_memory(world, "The sale is on.\nParking is free.")
        set_memory_line_dates(row, actor=world.operator, line="The sale is on.", dates=first)
        set_memory_line_dates(row, actor=world.operator, line="Parking is free.", dates=second)
    else:
        values = {"notes": "The sale is on.", "preferences": "Parking is free."}
        row = create_profile("http:ada", actor=world.bot, values=values)
        set_profile_line_dates(row, actor=world.operator, line="The sale is on.", dates=first)
        set_profile_line_dates(row, actor=world.operator, line="Parking is free.", dates=second)
    with acting_as(world.operator):
        record = ChangeRecord.objects.filter(subject_type=row._meta.label_lower).latest("pk")
    versions = f"{page_of(row).removesuffix('change/')}versions/"
    for page in (page_of(row), versions, f"{versions}?from=1&to=3", page_of(record)):
        shown = page_words(operator.get(page))
        assert "“The sale is on.”: holds until 1 Jan 2030 00:00." in shown
        assert "“Parking is free.”: to be looked at again from 1 Dec 2029 00:00." in shown
        assert "valid_until" not in shown


def test_a_list_without_lines_says_what_will_stand_there(world: World, operator: Client) -> None:
    assert "No line yet. Whatever agents and people write" in page_text(operator.get(reverse(LIST)))


@pytest.mark.slow
def test_the_day_of_a_line_that_waits_is_read_corrected_and_refused_where_it_is_none(
    world: World, operator: Client
) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.get()
    amend_settings(settings, actor=world.admin, memory_review=MemoryReview.ALL)
    memory, end = make_memory(world), LineDates(datetime(3000, 1, 1, tzinfo=UTC))
    amend_memory(
        memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="The sale is on.", dates={"The sale is on.": end}
    )
    with acting_as(world.operator):
        proposal = Proposal.objects.get()
    assert "Valid until + added 2999-12-31 The sale is on." in page_words(operator.get(page_of(proposal)))
    refused = decide(operator, proposal, "edit", days__valid_until="soon The sale is on.")
    assert (refused.status_code, "“soon” is not a date." in page_text(refused)) == (422, True)
    assert decide(operator, proposal, "edit", days__valid_until="2999-06-30 The sale is on.").status_code == 303
    with acting_as(world.operator):
        assert MemoryLine.objects.get(status="active").valid_until == datetime(2999, 7, 1, tzinfo=UTC)


def test_the_page_of_a_customer_says_whose_words_each_line_is(world: World, operator: Client) -> None:
    # R087
    conversation = make_conversation(world)
    values = {"notes": "Has a dog.", "preferences": "E-mail."}
    profile = create_profile("http:ada", actor=world.bot, values=values, evidence={"conversation_id": conversation.pk})
    amend_profile(profile, actor=world.operator, values={"notes": "Has two dogs."})
    response = operator.get(page_of(profile))
    page = page_words(response)
    assert "E-mail. Preferences, since" in page
    assert "from a customer noted by agent in" in page
    assert page_of(conversation) in page_text(response)
    assert "Has two dogs. Notes, since" in page
    assert "written or approved by" in page
    assert "with version 2: “Has two dogs.” came in its place." in page
    amend_profile(profile, actor=world.operator, values={"notes": "", "preferences": ""})
    assert "Nothing is noted now." in page_words(operator.get(page_of(profile)))


def test_the_lines_of_a_customer_are_as_many_statements_however_many_there_are(world: World, operator: Client) -> None:
    evidence = {"conversation_id": make_conversation(world).pk}
    values = {"notes": "One.", "preferences": ""}
    profile = create_profile("http:ada", actor=world.bot, values=values, evidence=evidence)

    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            operator.get(page_of(profile))
        return len(asked)

    # The first page of a process looks up what later ones remember.
    statements()
    few = statements()
    notes = "\n".join(f"Note {number}." for number in range(30))
    amend_profile(profile, actor=world.bot, values={"notes": notes}, evidence=evidence)
    assert statements() == few


@pytest.mark.slow
def test_a_line_of_a_customer_is_dated_on_their_page_and_the_list_finds_what_is_due(
    world: World, operator: Client
) -> None:
    # R160, R161
    profile = create_profile("http:ada", actor=world.bot, values={"notes": "Wears a cast.", "preferences": "E-mail."})
    other = create_profile("http:eve", actor=world.bot, values={"notes": "Has a dog.", "preferences": ""})
    refused = decide(operator, profile, "date", line="Has a dog.", last_day="2030-01-01")
    assert (refused.status_code, "There is no such line." in page_text(refused)) == (422, True)
    line_dates = {"line": "Wears a cast.", "last_day": "2030-01-01", "review_day": "2020-01-01"}
    assert decide(operator, profile, "date", **line_dates).status_code == 303
    page = page_words(operator.get(page_of(profile)))
    assert "Holds until 2 Jan 2030 00:00. Look at it again from 1 Jan 2020 00:00 on." in page
    listed = reverse("admin:memory_customerprofile_changelist")

    def found(due: str) -> tuple[bool, bool]:
        text = page_text(operator.get(listed, {"due": due}))
        return ("http:ada" in text, "http:eve" in text)

    assert (found("review"), found("expired")) == ((True, False), (False, False))
    past = LineDates(datetime(2020, 1, 1, tzinfo=UTC))
    set_profile_line_dates(other, actor=world.operator, line="Has a dog.", dates=past)
    assert (found("review"), found("expired")) == ((True, False), (False, True))
    assert "Holds no more: prompts carried it until 1 Jan 2020 00:00." in page_words(operator.get(page_of(other)))
