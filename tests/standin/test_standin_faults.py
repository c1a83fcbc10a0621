"""Faults by chance, delays and the other controls that hold for every call of the stand-in."""

import json
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import IncompleteRead

import pytest

from apps.llm.model_backend import Json, JsonObject
from apps.standin.http_api.fault_rates import FaultDice, FaultRates
from apps.standin.http_api.script import Fault
from tests.support.drivers.standin_http import HELLO, call_standin, requests_of, wait_for_figure
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = pytest.mark.pure

STREAMED = HELLO | {"stream": True}


def statuses(base_url: str, count: int) -> list[int]:
    return [call_standin(base_url, "POST", "/v1/messages", HELLO, key="k")[0] for _ in range(count)]


def read_until_end(base_url: str, content: JsonObject) -> bytes:
    """Everything that comes until the answer ends or breaks off."""
    body = json.dumps(content).encode()
    request = urllib.request.Request(f"{base_url}/v1/messages", body, {"x-api-key": "k"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310
            whole: bytes = answer.read()
    except IncompleteRead as error:
        return error.partial
    return whole


def test_error_inside_a_stream_comes_after_the_status_and_the_first_words(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"fault": "stream_error"}, {"fault": "stream_error"}])
    begun, _, ended = read_until_end(base_url, STREAMED).partition(b"event: error\n")
    assert begun.startswith(b"event: message_start\n")
    assert b'"overloaded_error"' in ended
    assert b"message_stop" not in begun + ended
    # Where nothing is streamed the same trouble is a status.
    assert statuses(base_url, 1) == [529]


@pytest.mark.parametrize("content", [HELLO, STREAMED])
def test_stall_keeps_silent_in_the_middle_and_then_breaks_off(base_url: str, content: JsonObject) -> None:
    whole = len(read_until_end(base_url, content))
    call_standin(base_url, "POST", "/standin/script", [{"fault": "stall", "seconds": 0.2}])
    started = time.monotonic()
    assert 0 < len(read_until_end(base_url, content)) < whole * 0.6
    assert time.monotonic() - started >= 0.2


def test_slow_start_keeps_silent_and_then_answers_as_always(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"fault": "slow_start", "seconds": 0.2}])
    started = time.monotonic()
    assert b"message_stop" in read_until_end(base_url, STREAMED)
    assert time.monotonic() - started >= 0.2


def test_chance_is_the_same_in_every_run_with_the_same_seed(base_url: str) -> None:
    runs = []
    for seed in (7, 7, 8):
        rates: JsonObject = {"rates": {"overloaded": 0.3, "server_error": 0.2}, "seed": seed}
        assert call_standin(base_url, "POST", "/standin/faults", rates) == (200, rates | {"seconds": None})
        runs.append(statuses(base_url, 40))
    assert runs[0] == runs[1] != runs[2]
    assert set(runs[0]) == {200, 500, 529}
    assert call_standin(base_url, "GET", "/standin/faults")[1] == rates | {"seconds": None}


def test_faults_by_chance_take_their_seconds_from_the_rates(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/faults", {"rates": {"timeout": 1}, "seconds": 0.01})
    assert statuses(base_url, 1) == [504]
    call_standin(base_url, "POST", "/standin/faults", {"rates": {}})
    assert statuses(base_url, 1) == [200]


def test_script_comes_before_chance(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/faults", {"rates": {"overloaded": 1}})
    call_standin(base_url, "POST", "/standin/script", [{"pass": True}, {"fault": "server_error"}])
    assert statuses(base_url, 3) == [200, 500, 529]


def test_shares_are_kept_over_many_calls_and_a_repeated_call_may_fare_better() -> None:
    dice = FaultDice(FaultRates(((Fault.OVERLOADED, 0.2), (Fault.STALL, 0.1)), seed=1))
    several = Counter(dice.throw(str(number).encode()).fault for number in range(5_000))
    repeated = Counter(dice.throw(b"the same").fault for _ in range(5_000))
    for thrown in (several, repeated):
        assert 900 < thrown[Fault.OVERLOADED] < 1_100
        assert 420 < thrown[Fault.STALL] < 580
        assert set(thrown) == {Fault.OVERLOADED, Fault.STALL, None}


@pytest.mark.parametrize(
    ("rates", "sentence"),
    [
        ({}, "rates: an object is required"),
        ({"rates": {"overloaded": "often"}}, "a share between 0 and 1"),
        ({"rates": {"overloaded": True}}, "a share between 0 and 1"),
        ({"rates": {"overloaded": 1.5}}, "a share between 0 and 1"),
        ({"rates": {"boredom": 0.5}}, "boredom is no fault; faults are overloaded, "),
        ({"rates": {"overloaded": 0.6, "stall": 0.6}}, "together are more than 1"),
        ({"rates": {}, "seed": "x"}, "seed: a whole number"),
        ({"rates": {}, "seed": True}, "seed: a whole number"),
        ({"rates": {}, "seconds": -1}, "seconds: a number of seconds"),
        ({"rates": {}, "seconds": True}, "seconds: a number of seconds"),
    ],
)
def test_rates_that_cannot_be_are_refused(base_url: str, rates: Json, sentence: str) -> None:
    status, content = call_standin(base_url, "POST", "/standin/faults", rates)
    assert status == 400
    assert sentence in json.dumps(content)


def test_delay_holds_for_every_call_and_adds_to_a_scripts_silence(base_url: str) -> None:
    assert call_standin(base_url, "POST", "/standin/delay", {"seconds": 0.1}) == (200, {"seconds": 0.1})
    call_standin(
        base_url,
        "POST",
        "/standin/script",
        [{"pass": True}, {"fault": "timeout", "seconds": 0.1}, {"fault": "overloaded"}],
    )
    started = time.monotonic()
    assert statuses(base_url, 3) == [200, 504, 529]
    assert time.monotonic() - started >= 0.4
    refused: list[Json] = [{"seconds": -1}, {"seconds": "long"}, {}]
    for wrong in refused:
        assert call_standin(base_url, "POST", "/standin/delay", wrong)[0] == 400


def test_calls_that_wait_are_let_go_together_when_the_delay_is_shortened(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 600})
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(statuses, base_url, 1) for _ in range(20)]
        wait_for_figure(base_url, "in_flight", 20)
        call_standin(base_url, "POST", "/standin/delay", {"seconds": 500})
        wait_for_figure(base_url, "in_flight", 20)
        call_standin(base_url, "POST", "/standin/delay", {"seconds": 0})
        assert [answered.result(timeout=PATIENCE_SECONDS) for answered in waiting] == [[200]] * 20


def test_requests_are_forgotten_at_once_where_memory_counts(base_url: str) -> None:
    assert call_standin(base_url, "POST", "/standin/keeping", {"requests": False}) == (200, {"requests": False})
    assert statuses(base_url, 2) == [200, 200]
    assert requests_of(base_url) == []
    call_standin(base_url, "POST", "/standin/keeping", {"requests": True})
    assert statuses(base_url, 1) == [200]
    assert len(requests_of(base_url)) == 1
    assert call_standin(base_url, "POST", "/standin/keeping", {"requests": "no"})[0] == 400


def test_released_controls_leave_nothing_behind(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"fault": "server_error"}])
    call_standin(base_url, "POST", "/standin/faults", {"rates": {"overloaded": 1}})
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 60})
    call_standin(base_url, "POST", "/standin/keeping", {"requests": False})
    assert call_standin(base_url, "DELETE", "/standin/controls") == (200, {"steps": 0})
    assert statuses(base_url, 2) == [200, 200]
    assert len(requests_of(base_url)) == 2
