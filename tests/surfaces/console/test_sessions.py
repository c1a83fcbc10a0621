"""The page of a session: the frozen text stands there whatever became of its owners."""

import pytest
from psycopg import sql

from apps.launcher.postgres import Postgres
from tests.actions.conversing import say, sessions
from tests.actions.test_broken_parts import break_in
from tests.committing import committing
from tests.factories import make_persona, make_world
from tests.standing_in import StandIn, standin, standing_in
from tests.surfaces.console.browsing import page_of, signed_in, words_of
from tests.teaching import make_version

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
    turn = say(world, "Hello", standin)
    [session] = sessions(world, turn.conversation_id)
    operator = signed_in(world.operator_user)
    assert FLAW not in words_of(operator.get(page_of(session)))
    break_in(postgres, committing, sql.SQL("ALTER TABLE runtime_snapshotpart DISABLE TRIGGER USER"))
    statement = sql.SQL("UPDATE runtime_snapshotpart SET {} WHERE slot = 1").format(sql.SQL(change))
    break_in(postgres, committing, statement)
    page = operator.get(page_of(session))
    assert page.status_code == 200
    assert words_of(page).count(FLAW) == 1
    assert "Brief." in words_of(page)
    assert "somebody:" not in words_of(page)


@pytest.mark.django_db
def test_the_page_tells_what_each_turn_read_of_lessons(standin: StandIn) -> None:
    # R165
    world = make_world()
    version = make_version(world, "active", "- Say Ahoy.")
    turn = say(world, "Hello", standin)
    [session] = sessions(world, turn.conversation_id)
    page = words_of(signed_in(world.operator_user).get(page_of(session)))
    _, _, read = page.partition("Corrected drafts")
    assert f"{turn.pk} row {version.pk} 1 none" in " ".join(read.split())
    assert "Ahoy" not in page
