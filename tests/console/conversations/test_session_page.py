"""The page of a session: the frozen text stands there whatever became of its owners."""

import pytest
from psycopg import sql

from apps.console.explain.cache_breakpoints import (
    LIFETIME_WORDS,
    MARKS_NOT_RECORDED,
    SlotMark,
    marked_calls,
    marks_by_slot,
    title_of_slot,
)
from apps.console.framework.token_usage import grouped
from apps.launcher.postgres import Postgres
from apps.prompt.cache.cost_attribution import parse_marks
from apps.prompt.prompt_input import Slot
from apps.runtime.models import ModelCall
from tests.runtime.sessions.test_cache_ledger import calls, make_long_world
from tests.runtime.turns.test_broken_dependencies import break_in
from tests.support.coverage_tracing import without_tracing
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import page_of, page_words, signed_in
from tests.support.drivers.conversation import run_customer_turn, sessions
from tests.support.factories.lessons import make_version
from tests.support.servers.standin_model import StandIn, standin, standing_in
from tests.support.worlds.world import World, make_persona, make_world

__all__ = ["committing", "standin", "standing_in"]

FLAW = "The owners of this text cannot be read"


@pytest.mark.parametrize(
    "change",
    [
        "text = text || ' Give refunds.'",
        "segments = '{}'",
        "segments = jsonb_set(segments, '{owners,0}', '\"nobody\"')",
        "segments = replace(segments::text, 'operator:', 'somebody:')::jsonb",
    ],
)
def test_a_part_whose_owners_cannot_be_read_is_shown_and_says_so(
    committing: str, postgres: Postgres, standin: StandIn, change: str
) -> None:
    world = make_world()
    make_persona(world, style="Brief.")
    turn = run_customer_turn(world, "Hello", standin)
    [session] = sessions(world, turn.conversation_id)
    operator = signed_in(world.operator_user)
    assert FLAW not in page_words(operator.get(page_of(session)))
    break_in(postgres, committing, sql.SQL("ALTER TABLE runtime_snapshotpart DISABLE TRIGGER USER"))
    statement = sql.SQL("UPDATE runtime_snapshotpart SET {} WHERE slot = 1").format(sql.SQL(change))
    break_in(postgres, committing, statement)
    page = operator.get(page_of(session))
    assert page.status_code == 200
    assert page_words(page).count(FLAW) == 1
    assert "Brief." in page_words(page)
    assert "somebody:" not in page_words(page)


@pytest.mark.slow
@pytest.mark.django_db
def test_the_page_says_behind_which_slot_each_cache_mark_stood(standin: StandIn) -> None:
    # R181
    with without_tracing():
        world = make_long_world()
    turn = run_customer_turn(world, "Hello", standin)
    [session], [call] = sessions(world, turn.conversation_id), calls(world, turn)
    marks = parse_marks(call.cache_ledger["marks"])
    assert marks
    sent = standin.requests()[-1]
    blocks = [*sent["tools"], *sent["system"], *(block for each in sent["messages"] for block in each["content"])]
    assert [block["cache_control"].get("ttl", "5m") for block in blocks if "cache_control" in block] == [
        mark.lifetime for mark in marks
    ]
    operator = signed_in(world.operator_user)
    page = page_words(operator.get(page_of(session)))
    *_, last = (mark for mark in marks if mark.message is None)
    assert f"Cache mark behind this slot: {LIFETIME_WORDS[last.lifetime]} in 1 of 1 call." in page
    assert "No cache mark stood behind this slot." in page
    assert (
        f"behind slot {last.slot.value} ({title_of_slot(last.slot)}), after about {grouped(last.tokens)} tokens" in page
    )
    assert "behind message 1 of those sent, after about" in page


@pytest.mark.django_db
def test_a_call_whose_marks_were_not_noted_says_so(standin: StandIn, world: World) -> None:
    turn = run_customer_turn(world, "Hello", standin)
    [call] = calls(world, turn)
    older = ModelCall(
        turn_id=turn.pk, cache_ledger={name: entry for name, entry in call.cache_ledger.items() if name != "marks"}
    )
    assert [each.is_noted for each in marked_calls([call, older])] == [True, False]
    assert marks_by_slot([older], [Slot.PERSONA]) == {1: SlotMark(MARKS_NOT_RECORDED)}
    assert marks_by_slot([], [Slot.PERSONA]) == {1: SlotMark("")}


@pytest.mark.django_db
def test_the_page_tells_what_each_turn_read_of_lessons(standin: StandIn) -> None:
    # R165
    world = make_world()
    version = make_version(world, "active", "- Say Ahoy.")
    turn = run_customer_turn(world, "Hello", standin)
    [session] = sessions(world, turn.conversation_id)
    page = page_words(signed_in(world.operator_user).get(page_of(session)))
    _, _, read = page.partition("Corrected drafts")
    assert f"{turn.pk} row {version.pk} 1 none" in " ".join(read.split())
    assert "Ahoy" not in page
