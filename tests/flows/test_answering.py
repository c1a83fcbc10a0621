"""Whether workers answer, asked of real ones through a real broker."""

import json
from typing import Any

import pytest
from celery import Celery
from django.conf import settings

from apps.launcher.children import wait_until
from tests.factories import World, make_event, make_persona, make_world
from tests.flows.conftest import House
from tests.flows.test_engine import slow_down
from tests.patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]
ASK = "from apps.runtime.workers import answering; print(answering())"


def asked(house: House) -> str:
    said = house.run("manage.py", "shell", "-v", "0", "-c", ASK)
    assert said.returncode == 0, said.stderr
    return said.stdout.strip()


def inspected(house: House, command: str) -> Any:  # Any: whatever the command answers
    """What the one worker answers to a command of Celery's inspection."""
    asking = Celery("asking", broker=house.env["REDIS_URL"], set_as_current=False)
    answers = asking.control.broadcast(command, reply=True, limit=1, timeout=PATIENCE_SECONDS)
    asking.close()
    [[answer]] = [each.values() for each in answers or ()]
    return answer


def printed(house: House, command: str) -> Any:  # Any: JSON of the command
    """The same as an operator asks it, at a terminal."""
    ran = house.run("-m", "celery", "-A", "config", "inspect", command, "--json", "--timeout", "10")
    assert ran.returncode == 0, ran.stderr
    [answer] = json.loads(ran.stdout).values()
    return answer


def test_each_worker_answers_once_shows_its_turns_and_a_broker_that_is_away_is_named(house: House) -> None:
    assert asked(house) == "Answering(workers=0, problem='')"
    house.start_worker()
    house.await_ready()
    assert asked(house) == "Answering(workers=1, problem='')"
    expect_turn_in_sight(house, make_world())
    house.env["REDIS_URL"] = house.env["REDIS_URL"].replace("valkey.sock", "nowhere.sock")
    assert asked(house).startswith("Answering(workers=0, problem='")
    assert "nowhere.sock" in asked(house) or "Error" in asked(house)


def expect_turn_in_sight(house: House, world: World) -> None:
    """A turn that waits for its model is counted in `stats` and listed by `turns`, with ids and no word of it."""
    assert inspected(house, "turns") == []
    make_persona(world)
    slow_down(house.standin_url, PATIENCE_SECONDS)
    event = make_event(world, text="Where is my parcel?")
    assert wait_until(lambda: inspected(house, "turns") != [], PATIENCE_SECONDS)
    [turn] = printed(house, "turns")
    seconds, turn_id = turn.pop("seconds"), turn.pop("turn_id")
    assert turn == {
        "tenant_id": world.tenant.pk,
        "conversation_id": event.conversation_id,
        "waits_for_model": True,
    }
    assert turn_id > 0
    seen = inspected(house, "stats")["turns"]
    assert (seen["under_way"], seen["at_most"]) == (1, settings.TURNS_IN_FLIGHT)
    assert seen["oldest_seconds"] >= seconds > 0
    slow_down(house.standin_url, 0)
