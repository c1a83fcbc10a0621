"""Whether workers answer, asked of real ones through a real broker."""

import pytest

from tests.flows.conftest import House

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]
ASK = "from apps.runtime.workers import answering; print(answering())"


def asked(house: House) -> str:
    said = house.run("manage.py", "shell", "-v", "0", "-c", ASK)
    assert said.returncode == 0, said.stderr
    return said.stdout.strip()


def test_each_worker_answers_once_and_a_broker_that_is_away_is_named(house: House) -> None:
    assert asked(house) == "Answering(workers=0, problem='')"
    house.start_worker()
    house.await_ready()
    assert asked(house) == "Answering(workers=1, problem='')"
    house.env["REDIS_URL"] = house.env["REDIS_URL"].replace("valkey.sock", "nowhere.sock")
    assert asked(house).startswith("Answering(workers=0, problem='")
    assert "nowhere.sock" in asked(house) or "Error" in asked(house)
