"""When a delivery is tried again, how long a failing webhook rests, and how what is sent is signed."""

import base64
from datetime import timedelta
from datetime import timezone as fixed

import pytest
from django.utils import timezone
from standardwebhooks import Webhook as Receiver
from standardwebhooks import WebhookVerificationError

from apps.webhooks.rules import RETRY_PAUSES, rest_seconds, retry_pause, secret_flaw, signature_headers

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(("tries", "pause"), [(1, 5), (2, 30), (11, 43_200)])
def test_each_try_waits_longer_than_the_one_before_and_by_up_to_a_quarter_more(tries: int, pause: int) -> None:
    assert retry_pause(tries, 0) == pause
    assert retry_pause(tries, 1) == pause * 1.25


def test_behind_the_last_pause_nobody_tries_any_more() -> None:
    assert retry_pause(len(RETRY_PAUSES) + 1, 0.5) is None
    assert 86_400 < sum(RETRY_PAUSES) < 2 * 86_400


@pytest.mark.parametrize(("asked", "pause"), [(3, 5), (90, 90), (1_000_000, 3_600)])
def test_a_server_that_says_when_to_come_again_is_not_asked_earlier(asked: int, pause: int) -> None:
    assert retry_pause(1, 0, asked) == pause


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (9, 0), (10, 60), (11, 120), (15, 1_920), (16, 3_600), (999, 3_600)]
)
def test_a_webhook_that_only_fails_rests_twice_as_long_each_time_up_to_an_hour(failures: int, seconds: int) -> None:
    assert rest_seconds(failures) == seconds


SECRETS = tuple(f"whsec_{base64.b64encode(letter * 24).decode()}" for letter in (b"n", b"o"))
BODY = '{"text": "Grüße"}'.encode()


@pytest.mark.parametrize("secret", SECRETS)
def test_a_receiver_that_knows_one_of_two_secrets_verifies_what_it_is_sent(secret: str) -> None:
    headers = signature_headers(SECRETS, 4711, timezone.now(), BODY)
    assert headers["webhook-id"] == "4711"
    assert len(headers["webhook-signature"].split(" ")) == 2
    assert Receiver(secret).verify(BODY, headers) == {"text": "Grüße"}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"webhook-id": "4712"}, "No matching signature"),
        ({"webhook-timestamp": "1"}, "too old"),
        ({"webhook-signature": "v1,AAAA"}, "No matching signature"),
    ],
)
def test_a_receiver_refuses_what_was_changed_on_its_way(changed: dict[str, str], why: str) -> None:
    headers = signature_headers(SECRETS, 4711, timezone.now(), BODY) | changed
    with pytest.raises(WebhookVerificationError, match=why):
        Receiver(SECRETS[0]).verify(BODY, headers)


def test_the_moment_is_the_same_by_whichever_clock_it_is_read() -> None:
    now = timezone.now()
    in_tokyo = signature_headers(SECRETS, 4711, now.astimezone(fixed(timedelta(hours=9))), BODY)
    assert in_tokyo == signature_headers(SECRETS, 4711, now, BODY)


def test_a_secret_that_is_gone_signs_nothing_any_more() -> None:
    headers = signature_headers(SECRETS[:1], 4711, timezone.now(), BODY)
    with pytest.raises(WebhookVerificationError):
        Receiver(SECRETS[1]).verify(BODY, headers)


def generated_secret(size: int) -> str:
    return f"whsec_{base64.b64encode(b'?' * size).decode()}"


@pytest.mark.parametrize("size", [24, 32, 64])
def test_a_secret_is_24_to_64_bytes_in_base64(size: int) -> None:
    assert secret_flaw(generated_secret(size)) == ""


@pytest.mark.parametrize(
    ("secret", "found"),
    [
        (generated_secret(23), "has 23 bytes"),
        (generated_secret(65), "has 65 bytes"),
        (generated_secret(32).removeprefix("whsec_"), "another form"),
        (generated_secret(32).rstrip("="), "another form"),
        ("whsec_" + "-_" * 16, "another form"),
        ("whsec_ü", "another form"),
        ("s" * 40, "another form"),
        ("whsec_", "another form"),
    ],
)
def test_another_secret_is_refused_by_a_sentence_that_does_not_repeat_it(secret: str, found: str) -> None:
    flaw = secret_flaw(secret)
    assert found in flaw
    assert "24 to 64 random bytes" in flaw
    assert "openssl rand" in flaw
    assert secret == "whsec_" or secret not in flaw
