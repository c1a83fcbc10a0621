"""Attempts to sign in: how many are looked at, how long one waits, and what is kept of them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier

import pytest
from django.db import connection, connections

from apps.tenants.accounts.sign_in_throttle import (
    FIRST_SECONDS,
    LONGEST_SECONDS,
    OF_A_NAME,
    OF_AN_ADDRESS,
    refused_seconds,
    succeeded,
)
from apps.tenants.models.sign_in import SignInAttempts
from tests.support.database.raw_sql_as_role import NO_RIGHT, attempt
from tests.support.worlds.world import make_world

HERE = "192.0.2.7"


def wait_is_over(*, hours: int = 0) -> None:
    """As if everybody had waited, and nobody had tried for so many hours."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE tenants_signinattempts"
            " SET refused_until = statement_timestamp(), last_attempt_at = last_attempt_at - interval '1 hour' * %s",
            [hours],
        )


def counts() -> list[int]:
    return sorted(round(attempts) for attempts in SignInAttempts.objects.values_list("attempts", flat=True))


def tries_until_refused() -> int:
    """How many names are tried from here before one has to wait."""
    return next(number for number in count() if refused_seconds(f"name-{number}", HERE))


def waits(name: str) -> Iterator[int]:
    """How long each further wrong attempt makes one wait."""
    while True:
        assert refused_seconds(name) == 0
        yield refused_seconds(name)
        wait_is_over()


@pytest.mark.django_db
def test_the_wait_doubles_and_is_never_long() -> None:
    for _ in range(OF_A_NAME - 1):
        assert refused_seconds("mia") == 0
    waited = [seconds for seconds, _ in zip(waits("mia"), range(7), strict=False)]
    assert waited == [FIRST_SECONDS, 60, 120, 240, 480, LONGEST_SECONDS, LONGEST_SECONDS]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tenants_signinattempts SET attempts = 1000000")
    wait_is_over()
    assert (refused_seconds("mia"), refused_seconds("mia")) == (0, LONGEST_SECONDS)


@pytest.mark.django_db
def test_the_case_of_a_name_and_whether_it_exists_make_no_difference() -> None:
    for name in ("Mia", " mia", "MIA", "mia ", "mia"):
        assert refused_seconds(name) == 0
    assert refused_seconds("mIa") == FIRST_SECONDS
    assert refused_seconds("mio") == 0


@pytest.mark.django_db
def test_a_success_forgets_the_name_and_takes_one_back_from_the_address() -> None:
    for _ in range(OF_A_NAME):
        refused_seconds("mia", HERE)
    succeeded("mia", HERE)
    assert refused_seconds("mia") == 0
    assert counts() == [1, OF_A_NAME - 1]


@pytest.mark.django_db
def test_an_office_that_mistypes_every_day_never_waits() -> None:
    for day in range(3):
        for number in range(OF_AN_ADDRESS // 2):
            assert refused_seconds(f"{day}-{number}", HERE) == 0
        wait_is_over(hours=1)
    assert refused_seconds("mia", HERE) == 0
    assert counts()[-1] == 1


@pytest.mark.django_db
def test_a_success_leaves_no_wait_to_whoever_comes_next() -> None:
    tries_until_refused()
    for number in range(5):
        wait_is_over()
        refused_seconds(f"another-{number}", HERE)
    assert refused_seconds("mia", HERE) > 0
    wait_is_over()
    assert refused_seconds("mia", HERE) == 0
    succeeded("mia", HERE)
    assert refused_seconds("mio", HERE) == 0
    assert refused_seconds("moe", HERE) > 0


@pytest.mark.django_db
def test_an_address_that_tries_many_names_waits_and_counts_against_none() -> None:
    tried = tries_until_refused()
    assert OF_AN_ADDRESS <= tried <= 2 * OF_AN_ADDRESS, "a little drains while the test runs"
    assert FIRST_SECONDS - 2 <= refused_seconds("mia", HERE) <= 2 * FIRST_SECONDS
    assert refused_seconds("mia", "192.0.2.8") == 0
    assert counts().count(1) == tried + 2, "each name, mia from elsewhere, and the other address"


@pytest.mark.django_db
def test_a_network_of_version_six_is_one_address_and_one_of_four_in_it_is_that_of_four() -> None:
    for name, address in enumerate(("2001:db8::1", "2001:db8::ffff:1", "::ffff:192.0.2.7", HERE, "a socket")):
        refused_seconds(str(name), address)
    assert counts() == [*[1] * 6, 2, 2]


@pytest.mark.django_db
def test_what_was_left_alone_for_a_day_begins_anew_and_goes() -> None:
    for _ in range(OF_A_NAME):
        refused_seconds("mia")
    wait_is_over(hours=25)
    assert [refused_seconds("mia") for _ in range(OF_A_NAME)] == [0] * OF_A_NAME
    wait_is_over(hours=25)
    refused_seconds("mio")
    assert counts() == [1]


@pytest.mark.django_db
def test_nothing_typed_is_kept_and_only_the_login_reads_what_is() -> None:
    refused_seconds("secret typed as a name", HERE)
    subjects = list(SignInAttempts.objects.values_list("subject", flat=True))
    assert {len(subject) for subject in subjects} == {64}
    world = make_world()
    for actor in (world.bot, world.operator, world.admin, world.system):
        assert attempt(actor, "SELECT 1 FROM tenants_signinattempts").sqlstate == NO_RIGHT
        assert attempt(actor, "DELETE FROM tenants_signinattempts").sqlstate == NO_RIGHT


def test_many_at_once_are_no_way_around(committing: str) -> None:
    together = Barrier(20)

    def tried(_: int) -> int:
        together.wait()
        try:
            return refused_seconds("mia")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        looked_at = sum(seconds == 0 for seconds in pool.map(tried, range(20)))
    assert looked_at == OF_A_NAME
