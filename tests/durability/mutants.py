"""The protections of a durable turn, each as the change that takes it away and the tests that have to notice."""

from tests.governance.mutants import CodeMutant, DatabaseMutant

D, A = "tests/durability/", "tests/actions/"
STALE = (
    f"{D}test_stale_writer.py::test_a_worker_that_slept_too_long_writes_nothing[within a session-another holds the turn]",
)
EVERY_POINT = (f"{D}test_every_point.py::test_a_worker_may_die_at_any_line_of_a_turn[within a session]",)
ONE_TURN = (f"{D}test_ten_threads.py::test_ten_threads_run_one_turn_at_a_time",)
FENCED = "id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released"
UNFENCED = "id = %(turn)s AND (fence = %(fence)s OR true) AND status = 'running' AND NOT is_released"

DURABLE: tuple[CodeMutant | DatabaseMutant, ...] = (
    CodeMutant(
        *("fence", "steps of a worker that was overtaken", "apps/runtime/statements.py"),
        f"           failure = ''\n     WHERE tenant_id = app_tenant() AND {FENCED}",
        f"           failure = ''\n     WHERE tenant_id = app_tenant() AND {UNFENCED}",
        STALE,
    ),
    CodeMutant(
        *("fence", "the reply of a worker that was overtaken", "apps/runtime/statements.py"),
        f"round, conversation_id FROM runtime_turn\n     WHERE tenant_id = app_tenant() AND {FENCED}",
        f"round, conversation_id FROM runtime_turn\n     WHERE tenant_id = app_tenant() AND {UNFENCED}",
        STALE,
    ),
    CodeMutant(
        *("lease", "a turn is taken from whoever holds it", "apps/runtime/claim_statement.py"),
        "AND turn.lease_until <= statement_timestamp() AND turn.run_at",
        "AND turn.run_at",
        ONE_TURN,
    ),
    CodeMutant(
        *("intent row", "an outside call is made before it is written", "apps/runtime/turn.py"),
        "            self._keep(said.number)\n            self.move = outside\n",
        "            self.move = outside\n",
        EVERY_POINT,
    ),
    CodeMutant(
        *("intent row", "a call that must not be repeated is", "apps/runtime/turn.py"),
        "known.may_be_repeated and outside.tool.repeats is not ToolStep.Repeats.UNSAFE",
        "outside.key",
        EVERY_POINT,
    ),
    CodeMutant(
        *("restart", "a turn that wrote or called somebody begins anew", "apps/runtime/statements.py"),
        "AND tool.repeats <> 'reads')",
        "AND false)",
        (f"{A}test_restarting.py",),
    ),
    CodeMutant(
        *("restart", "the messages of the round before are forgotten", "apps/runtime/statements.py"),
        "SET turn_id = held.id FROM held, waiting WHERE event.id = waiting.id",
        "SET turn_id = held.id FROM held, waiting WHERE event.id = waiting.id AND false",
        (f"{A}test_restarting.py",),
    ),
    CodeMutant(
        *("spend", "the day's count is what the last call used", "apps/runtime/spend_statements.py"),
        "calls = spend.calls + excluded.calls",
        "calls = excluded.calls",
        (f"{A}test_money.py", f"{D}test_spent_at_once.py"),
    ),
    CodeMutant(
        *("spend", "a person is asked at each turn", "apps/runtime/spend_statements.py"),
        " WHERE spend.told_at IS NULL",
        "",
        (f"{A}test_money.py",),
    ),
    *(
        DatabaseMutant("written once", name, f"{sql} {name}", (f"{D}test_written_once.py",))
        for name, sql in (
            ("step_is_written_once", "DROP INDEX"),
            ("tool_step_is_written_once", "ALTER TABLE runtime_toolstep DROP CONSTRAINT"),
            ("turn_replies_once", "DROP INDEX"),
            ("reply_is_of_one_turn", "ALTER TABLE runtime_turn DROP CONSTRAINT"),
            ("one_running_turn_per_conversation", "DROP INDEX"),
        )
    ),
)
