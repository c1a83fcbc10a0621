"""What the turn's benchmark counts: statements told apart, in a message and in the server's log, and goals met or missed."""

import pytest

from benchmarks.turn.__main__ import FigureRow
from benchmarks.turn.benchmark_setup import LoggedStatements, is_transaction_word, logged_statements, statements_in

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ("SELECT 1", 1),
        ("SELECT 1; ", 1),
        ("SELECT set_config('role', 'worker', true); WITH held AS (SELECT 1) SELECT * FROM held", 2),
        ("SELECT 'one; two', \"a;b\", $$ three; four $$, $tag$ five; $$ six $tag$", 1),
        ("SELECT 'it''s; fine'; SELECT 2", 2),
        ("", 0),
    ],
)
def test_two_statements_of_one_message_are_two(message: str, count: int) -> None:
    assert len(statements_in(message)) == count


def test_names_are_shown_and_words_are_not() -> None:
    assert statements_in('SELECT "skill"."body" FROM skill WHERE name = \'a secret; of theirs\'') == [
        'SELECT "skill"."body" FROM skill WHERE name = \'\''
    ]


def test_savepoints_are_work_and_words_of_transactions_are_not() -> None:
    logged = LoggedStatements(
        ("BEGIN", "SAVEPOINT s", "SELECT 1", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s", "COMMIT")
    )
    assert (logged.work, logged.transactions) == (4, 1)
    assert is_transaction_word("rollback")
    assert not is_transaction_word("rollback to s")


def test_the_log_is_read_for_one_client_alone_and_over_several_lines() -> None:
    log = """17|LOG:  statement: BEGIN
17|LOG:  statement: SELECT a,
	b FROM c; SELECT '
	17|LOG:  statement: words of a customer'
18|LOG:  statement: SELECT 'another client'
17|ERROR:  something else
17|LOG:  execute _pg3_0: SELECT body FROM skill WHERE id = $1
17|DETAIL:  Parameters: $1 = 'x; y'
17|LOG:  statement: COMMIT"""
    assert list(logged_statements(log.splitlines(), 17)) == [
        "BEGIN",
        "SELECT a,\n\tb FROM c",
        "SELECT ''",
        "SELECT body FROM skill WHERE id = $1",
        "COMMIT",
    ]


@pytest.mark.parametrize(
    ("row", "is_missed", "verdict"),
    [
        (FigureRow("statements", 4, 8, goal=8), False, "8 met"),
        (FigureRow("statements", 4, 9, goal=8), True, "8 missed"),
        (FigureRow("ms", 2, 9, ",.1f", 2.0, 2.0, True), False, "2.0 x met"),
        (FigureRow("ms", 2, 1, ",.1f", 2.1, 2.0, True), True, "2.0 x missed"),
        (FigureRow("ms", 2, 900, ",.1f", 450.0), False, ""),
    ],
)
def test_a_goal_is_the_most_that_may_be_shown(row: FigureRow, is_missed: bool, verdict: str) -> None:
    assert row.is_missed == is_missed
    assert row.cells[-1] == verdict
