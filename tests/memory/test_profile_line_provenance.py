"""Whose words each line is that is noted of a customer: who wrote it, since when, from which conversation."""

import pytest
from django.db import ProgrammingError, connection
from django.test.utils import CaptureQueriesContext

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.memory.actions import amend_profile, create_profile
from apps.memory.line_decisions import quarantine_profile_lines
from apps.memory.models import CustomerProfile, ProfileLine
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.review.decisions import undo
from tests.support.database.raw_sql_as_role import run_and_undo
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import World, make_profile, make_world

pytestmark = pytest.mark.django_db

KEY = "http:ada"


@pytest.fixture
def world() -> World:
    return make_world()


def ledger(world: World, profile: CustomerProfile) -> list[tuple[str, str, str, str, str]]:
    """Part, words, author, taint and state, as they came."""
    with acting_as(world.operator):
        rows = ProfileLine.objects.filter(profile=profile).order_by("id")
        return list(rows.values_list("field", "text", "author", "taint", "status"))


def test_each_line_says_who_answers_for_it_and_where_it_came_from(world: World) -> None:
    # R080, R087, R161
    profile = create_profile(
        KEY, actor=world.bot, values={"notes": "Has a dog.", "preferences": "E-mail."}, evidence={"conversation_id": 7}
    )
    amend_profile(profile, actor=world.operator, values={"preferences": "E-mail.\nNo calls."})
    amend_profile(profile, actor=world.bot, values={"notes": "Has two dogs.", "preferences": "No calls."})
    me = world.operator.label
    assert ledger(world, profile) == [
        ("preferences", "E-mail.", me, "operator", "removed"),
        ("notes", "Has a dog.", "agent", "customer", "superseded"),
        ("preferences", "No calls.", me, "operator", "active"),
        ("notes", "Has two dogs.", "agent", "customer", "active"),
    ]
    with acting_as(world.operator):
        first = ProfileLine.objects.get(text="Has a dog.")
        assert first.superseded_by is not None
        assert (first.superseded_by.text, first.source_conversation_id) == ("Has two dogs.", 7)
        assert (first.first_version, first.last_version, str(first)) == (1, 3, "Has a dog.")


def test_the_lines_that_stand_are_read_once_for_both_texts_and_their_dates(world: World) -> None:
    profile = make_profile(world, KEY, notes="Has a dog.", preferences="E-mail.")
    with CaptureQueriesContext(connection) as asked:
        amend_profile(profile, actor=world.operator, values={"notes": "Has two dogs.", "preferences": "No calls."})
    read = [each["sql"] for each in asked if each["sql"].startswith("SELECT") and "memory_profileline" in each["sql"]]
    assert len(read) == 1, "\n".join(read)


def test_who_answers_for_one_text_answers_for_none_of_the_other(world: World) -> None:
    profile = make_profile(world, KEY, notes="Has a dog.", preferences="E-mail.")
    amend_profile(profile, actor=world.operator, values={"notes": "Has a dog.\nMoved."})
    me = world.operator.label
    assert ledger(world, profile) == [
        ("preferences", "E-mail.", "agent", "customer", "active"),
        ("notes", "Has a dog.", me, "operator", "active"),
        ("notes", "Moved.", me, "operator", "active"),
    ]
    amend_profile(profile, actor=world.operator, values={"notes": "Back."}, words_of=Taint.CUSTOMER)
    assert ledger(world, profile)[-1] == ("notes", "Back.", "agent", "customer", "active")
    amend_profile(profile, actor=world.operator, values={"notes": "Back.\r\n"})
    assert len(ledger(world, profile)) == 4, "nothing was said"


def test_an_undo_and_quarantined_text_vouch_for_nothing() -> None:
    world = make_world(memory_review=MemoryReview.ALL)
    profile = create_profile(KEY, actor=world.operator, values={"notes": "Has a dog.", "preferences": ""})
    amend_profile(profile, actor=world.operator, values={"notes": "Has a cat."}, words_of=Taint.CUSTOMER)
    amend_profile(profile, actor=world.bot, values={"notes": "Has two dogs."})
    with acting_as(world.operator):
        proposal = Proposal.objects.get()
    approve_as_read(proposal, world.operator)
    assert ledger(world, profile)[-1][1:4] == ("Has two dogs.", world.operator.label, "operator")
    with acting_as(world.operator):
        undo(Proposal.objects.get(), actor=world.operator)
        profile = CustomerProfile.objects.get()
    assert (profile.notes, profile.taint, profile.updated_by) == ("Has a cat.", "customer", "agent")
    assert ledger(world, profile)[-1][1:] == ("Has a cat.", "agent", "customer", "active")
    with acting_as(world.operator):
        withdrawn = Proposal.objects.get()
    assert withdrawn.state == Proposal.State.OPEN
    quarantine_profile_lines(profile, actor=world.operator, lines=["Has a cat."], reason="From a poisoned chat.")
    assert ledger(world, profile)[-1][1:] == ("Has a cat.", "agent", "customer", "removed")


def test_the_database_lets_no_agent_sign_as_a_person_change_what_went_or_see_anothers(world: World) -> None:
    ada = make_profile(world, KEY, notes="Has a dog.")
    make_profile(world, "http:bob", notes="Has a cat.")
    amend_profile(ada, actor=world.bot, values={"notes": "Has two dogs."})
    forged = (
        "INSERT INTO memory_profileline (tenant_id, profile_id, field, sha256, text, author, taint, first_version,"
        " last_version, status, created_at) VALUES (%s, %s, 'notes', 'x', 'x', %s, %s, 1, 1, 'active', now())"
    )
    for author, taint in (("operator", "customer"), ("agent", "operator")):
        with (
            pytest.raises(ProgrammingError, match="Only people may write in the name"),
            acting_as(world.bot),
            connection.cursor() as raw,
        ):
            raw.execute(forged, [world.tenant.pk, ada.pk, author, taint])
    assert not run_and_undo(world.bot, "UPDATE memory_profileline SET taint = 'operator'").passed
    assert not run_and_undo(world.bot, "UPDATE memory_profileline SET last_version = 9 WHERE status <> 'active'").passed
    assert not run_and_undo(world.operator, "DELETE FROM memory_profileline").passed
    seen = run_and_undo(world.bot.serving(KEY), "SELECT DISTINCT profile_id FROM memory_profileline").found
    assert seen == ((ada.pk,),)
