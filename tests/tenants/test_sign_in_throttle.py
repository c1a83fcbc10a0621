"""Attempts to sign in: how many are looked at, how long one waits, and what is kept of them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier

import pytest
from django.db import connection, connections

from apps.tenants.accounts.sign_in_throttle import (
    ATTEMPTS_PER_ADDRESS,
    ATTEMPTS_PER_NAME,
    FIRST_SECONDS,
    LONGEST_SECONDS,
    clear_sign_in_attempts,
    throttle_seconds,
)
from apps.tenants.models.sign_in import SignInAttempts
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.worlds.world import make_world

CLIENT_ADDRESS = "192.0.2.7"


def end_wait(*, hours: int = 0) -> None:
    """As if everybody had waited, and nobody had tried for so many hours."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE tenants_signinattempts"
            " SET refused_until = statement_timestamp(), last_attempt_at = last_attempt_at - interval '1 hour' * %s",
            [hours],
        )


def counts() -> list[int]:
    return sorted(round(attempts) for attempts in SignInAttempts.objects.values_list("attempts", flat=True))


def count_until_refused() -> int:
    """How many names are tried from here before one has to wait."""
    return next(number for number in count() if throttle_seconds(f"name-{number}", CLIENT_ADDRESS))


def wait_seconds(name: str) -> Iterator[int]:
    """How long each further wrong attempt makes one wait."""
    while True:
        assert throttle_seconds(name) == 0
        yield throttle_seconds(name)
        end_wait()


@pytest.mark.django_db
def test_the_wait_doubles_and_is_never_long() -> None:
    for _ in range(ATTEMPTS_PER_NAME - 1):
        assert throttle_seconds("mia") == 0
    waited = [seconds for seconds, _ in zip(wait_seconds("mia"), range(7), strict=False)]
    assert waited == [FIRST_SECONDS, 60, 120, 240, 480, LONGEST_SECONDS, LONGEST_SECONDS]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tenants_signinattempts SET attempts = 1000000")
    end_wait()
    assert (throttle_seconds("mia"), throttle_seconds("mia")) == (0, LONGEST_SECONDS)


@pytest.mark.django_db
def test_the_case_of_a_name_and_whether_it_exists_make_no_difference() -> None:
    for name in ("Mia", " mia", "MIA", "mia ", "mia"):
        assert throttle_seconds(name) == 0
    assert throttle_seconds("mIa") == FIRST_SECONDS
    assert throttle_seconds("mio") == 0


@pytest.mark.django_db
def test_a_success_forgets_the_name_and_takes_one_back_from_the_address() -> None:
    for _ in range(ATTEMPTS_PER_NAME):
        throttle_seconds("mia", CLIENT_ADDRESS)
    clear_sign_in_attempts("mia", CLIENT_ADDRESS)
    assert throttle_seconds("mia") == 0
    assert counts() == [1, ATTEMPTS_PER_NAME - 1]


@pytest.mark.django_db
def test_an_office_that_mistypes_every_day_never_waits() -> None:
    for day in range(3):
        for number in range(ATTEMPTS_PER_ADDRESS // 2):
            assert throttle_seconds(f"{day}-{number}", CLIENT_ADDRESS) == 0
        end_wait(hours=1)
    assert throttle_seconds("mia", CLIENT_ADDRESS) == 0
    assert counts()[-1] == 1


@pytest.mark.django_db
def test_a_success_leaves_no_wait_to_the_next_person() -> None:
    count_until_refused()
    for number in range(5):
        end_wait()
        throttle_seconds(f"another-{number}", CLIENT_ADDRESS)
    assert throttle_seconds("mia", CLIENT_ADDRESS) > 0
    end_wait()
    assert throttle_seconds("mia", CLIENT_ADDRESS) == 0
    clear_sign_in_attempts("mia", CLIENT_ADDRESS)
    assert throttle_seconds("mio", CLIENT_ADDRESS) == 0
    assert throttle_seconds("moe", CLIENT_ADDRESS) > 0


@pytest.mark.django_db
def test_an_address_that_tries_many_names_waits_and_counts_against_none() -> None:
    tried = count_until_refused()
    assert ATTEMPTS_PER_ADDRESS <= tried <= 2 * ATTEMPTS_PER_ADDRESS, "a little drains while the test runs"
    assert FIRST_SECONDS - 2 <= throttle_seconds("mia", CLIENT_ADDRESS) <= 2 * FIRST_SECONDS
    assert throttle_seconds("mia", "192.0.2.8") == 0
    assert counts().count(1) == tried + 2, "each name, mia from elsewhere, and the other address"


@pytest.mark.django_db
def test_a_network_of_version_six_is_one_address_and_one_of_four_in_it_is_that_of_four() -> None:
    for name, address in enumerate(("2001:db8::1", "2001:db8::ffff:1", "::ffff:192.0.2.7", CLIENT_ADDRESS, "a socket")):
        throttle_seconds(str(name), address)
    assert counts() == [*[1] * 6, 2, 2]


@pytest.mark.django_db
def test_what_was_left_alone_for_a_day_begins_anew_and_goes() -> None:
    for _ in range(ATTEMPTS_PER_NAME):
        throttle_seconds("mia")
    end_wait(hours=25)
    assert [throttle_seconds("mia") for _ in range(ATTEMPTS_PER_NAME)] == [0] * ATTEMPTS_PER_NAME
    end_wait(hours=25)
    throttle_seconds("mio")
    assert counts() == [1]


@pytest.mark.django_db
def test_nothing_typed_is_kept_and_only_the_login_reads_what_is() -> None:
    throttle_seconds("secret typed as a name", CLIENT_ADDRESS)
    subjects = list(SignInAttempts.objects.values_list("subject", flat=True))
    assert {len(subject) for subject in subjects} == {64}
    world = make_world()
    for actor in (world.bot, world.operator, world.admin, world.system):
        assert run_and_undo(actor, "SELECT 1 FROM tenants_signinattempts").sqlstate == NO_RIGHT
        assert run_and_undo(actor, "DELETE FROM tenants_signinattempts").sqlstate == NO_RIGHT


def test_many_at_once_are_no_way_around(committing: str) -> None:
    together = Barrier(20)

    def tried(_: int) -> int:
        together.wait()
        try:
            return throttle_seconds("mia")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        looked_at = sum(seconds == 0 for seconds in pool.map(tried, range(20)))
    assert looked_at == ATTEMPTS_PER_NAME
