"""When a delivery is tried again, how long a failing webhook rests, and how what is sent is signed."""

import hmac
from hashlib import sha256

import pytest

from apps.webhooks.rules import PAUSES, pause_behind, rest_behind, signature


@pytest.mark.parametrize(("tries", "pause"), [(1, 5), (2, 30), (11, 43_200)])
def test_each_try_waits_longer_than_the_one_before_and_by_up_to_a_quarter_more(tries: int, pause: int) -> None:
    assert pause_behind(tries, 0) == pause
    assert pause_behind(tries, 1) == pause * 1.25


def test_behind_the_last_pause_nobody_tries_any_more() -> None:
    assert pause_behind(len(PAUSES) + 1, 0.5) is None
    assert 86_400 < sum(PAUSES) < 2 * 86_400


@pytest.mark.parametrize(("asked", "pause"), [(3, 5), (90, 90), (1_000_000, 3_600)])
def test_a_server_that_says_when_to_come_again_is_not_asked_earlier(asked: int, pause: int) -> None:
    assert pause_behind(1, 0, asked) == pause


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (9, 0), (10, 60), (11, 120), (15, 1_920), (16, 3_600), (999, 3_600)]
)
def test_a_webhook_that_only_fails_rests_twice_as_long_each_time_up_to_an_hour(failures: int, seconds: int) -> None:
    assert rest_behind(failures) == seconds


def test_a_signature_is_of_the_moment_and_the_body_by_every_secret_that_holds() -> None:
    marks = [hmac.new(secret, b'12.{"a":1}', sha256).hexdigest() for secret in (b"new", b"old")]
    assert signature(["new", "old"], 12, b'{"a":1}') == f"t=12,v1={marks[0]},v1={marks[1]}"
