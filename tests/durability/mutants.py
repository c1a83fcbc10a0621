"""The protections of a durable turn, each as the change that takes it away and the tests that have to notice."""

from tests.governance.mutants import CodeMutant, DatabaseMutant

STALE = (
    (
        "tests/durability/test_stale_lease_writer.py::"
        "test_a_worker_that_slept_too_long_writes_nothing[opening a session, another holds the turn]"
    ),
)
EVERY_POINT = (
    "tests/durability/test_crash_at_every_point.py::test_a_worker_may_die_at_any_line_of_a_turn[within a session]",
)
CALL_MADE, QUESTION_ASKED, QUESTION_ANSWERED = (
    (
        f"tests/durability/test_crash_at_every_external_call.py::test_a_worker_may_die_at_any_line_of_what_leaves_a_turn[{scene}]",
    )
    for scene in ("a call is made", "a question is asked", "a question is answered")
)
ONE_TURN = ("tests/durability/test_ten_workers_one_conversation.py::test_ten_threads_run_one_turn_at_a_time",)

DURABLE: tuple[CodeMutant | DatabaseMutant, ...] = (
    CodeMutant(
        *("fence", "steps of a worker that was overtaken", "apps/runtime/turn_store/queries/record_steps.sql"),
        "AND fence = :fence",
        "AND (fence = :fence OR true)",
        STALE,
    ),
    CodeMutant(
        *("fence", "the reply of a worker that was overtaken", "apps/runtime/turn_store/queries/close_turn.sql"),
        "AND turn.fence = :fence",
        "AND (turn.fence = :fence OR true)",
        STALE,
    ),
    CodeMutant(
        *("lease", "a turn is taken from whoever holds it", "apps/runtime/turn_store/queries/claim_turn.sql"),
        "      AND turn.lease_until <= statement_timestamp()\n",
        "",
        ONE_TURN,
    ),
    CodeMutant(
        *(
            "order",
            "a message that another claim looks at is passed over",
            "apps/runtime/turn_store/queries/claim_turn.sql",
        ),
        "FOR UPDATE OF event\n",
        "FOR UPDATE OF event SKIP LOCKED\n",
        (
            "tests/durability/test_ten_workers_one_conversation.py::test_a_message_that_another_claim_looks_at_is_not_passed_over",
        ),
    ),
    CodeMutant(
        *("lease", "two claims of a conversation look at once", "apps/runtime/turn_store/turn_claim.py"),
        'CLAIM, given, alone=f"claim in conversation {conversation_id}")',
        "CLAIM, given)",
        (
            "tests/durability/test_ten_workers_one_conversation.py::test_two_claims_of_a_conversation_never_wait_for_each_other",
        ),
    ),
    CodeMutant(
        *("lease", "the lease of a turn that thinks is not extended", "apps/runtime/worker/engine.py"),
        "await asyncio.sleep(self.limits.lease_seconds / 3)",
        "await asyncio.sleep(self.limits.lease_seconds * 300)",
        ("tests/end_to_end/worker/test_lease_heartbeat.py",),
    ),
    CodeMutant(
        *("lease", "a worker waits on for the model of a turn that another has", "apps/runtime/worker/engine.py"),
        "for holding in (*beaten.lost, *beaten.stopped):",
        "for holding in (*beaten.lost[:0], *beaten.stopped):",
        (
            "tests/end_to_end/test_model_streaming.py::test_a_call_that_nobody_waits_for_closes_its_stream[lose_turn-running-]",
        ),
    ),
    CodeMutant(
        *("sweeper", "nobody looks for what is due, only for what is told", "apps/runtime/worker/engine.py"),
        "for tenant_id, conversation_id in due.turns:",
        "for tenant_id, conversation_id in due.turns[:0]:",
        ("tests/end_to_end/worker/test_engine_fairness.py::test_without_a_model_turns_wait_and_say_why",),
    ),
    CodeMutant(
        *("on commit", "a worker is woken before what it shall find stands", "apps/runtime/wakeup.py"),
        "transaction.on_commit(partial(_send_task, tenant_id, conversation_id, in_seconds))",
        "partial(_send_task, tenant_id, conversation_id, in_seconds)()",
        ("tests/runtime/worker/test_wakeup.py",),
    ),
    CodeMutant(
        *("intent row", "an outside call is made before it is written", "apps/runtime/turns/turn_work.py"),
        "        turn.record_steps(call.step)\n    return call\n",
        "    return call\n",
        EVERY_POINT,
    ),
    CodeMutant(
        *("intent row", "a call that must not be repeated is", "apps/runtime/turns/turn_work.py"),
        "known.may_be_repeated and external.tool.repeat_safety is not ToolStep.RepeatSafety.UNSAFE",
        "bool(known)",
        ("tests/runtime/tools/test_builtin_tools.py", "tests/runtime/transcript/test_crash_resume.py"),
    ),
    CodeMutant(
        *("approval", "a yes is not used up by the call", "apps/runtime/turns/tool_calls.py"),
        "is_approved = self._spend_approval(use, system)",
        "is_approved = bool(use)",
        CALL_MADE,
    ),
    CodeMutant(
        *("approval", "nobody is asked about a call that may have happened", "apps/runtime/turns/turn_completion.py"),
        "if outcome.is_unknown:",
        "if outcome.is_unknown and not name:",
        CALL_MADE,
    ),
    CodeMutant(
        *(
            "webhook",
            "a reply is not noted in the commit that says it",
            "apps/runtime/turn_store/queries/close_turn.sql",
        ),
        "(SELECT id FROM new_message WHERE is_reply) AS reply",
        "(SELECT id FROM new_message WHERE is_reply AND false) AS reply",
        CALL_MADE,
    ),
    CodeMutant(
        *(
            "webhook",
            "a delivery is over before it was sent",
            "apps/runtime/webhook_delivery/queries/take_delivery.sql",
        ),
        "attempts = delivery.attempts + 1\n",
        "attempts = delivery.attempts + 1, status = 'delivered', delivered_at = statement_timestamp()\n",
        CALL_MADE,
    ),
    CodeMutant(
        *("one commit", "another agent is asked before the step says so", "apps/runtime/turns/turn_work.py"),
        "ToolStep.RepeatSafety.TRANSACTIONAL)\n            turn.record_steps(turn.current_reply.number)",
        "ToolStep.RepeatSafety.TRANSACTIONAL)\n        turn.record_steps(turn.current_reply.number)",
        QUESTION_ASKED,
    ),
    CodeMutant(
        *(
            "one commit",
            "an answer is relayed behind the commit that ends its turn",
            "apps/runtime/turns/turn_completion.py",
        ),
        "    with acting_as(actor):\n        lock_turn(claimed.turn)\n"
        "        closed = close_turn(*given, actor=actor, rules=rules)\n",
        "    if claimed:\n        closed = close_turn(*given, actor=actor, rules=rules)\n",
        QUESTION_ANSWERED,
    ),
    CodeMutant(
        *(
            "restart",
            "a turn that wrote or called somebody begins anew",
            "apps/runtime/turn_store/queries/fragments/has_new_messages.sql",
        ),
        "AND tool.repeat_safety <> 'read_only'",
        "AND false",
        ("tests/runtime/turns/test_turn_restart.py",),
    ),
    CodeMutant(
        *(
            "restart",
            "the messages of the round before are forgotten",
            "apps/runtime/turn_store/queries/restart_turn.sql",
        ),
        "WHERE event.id = waiting_event.id\n",
        "WHERE event.id = waiting_event.id AND false\n",
        ("tests/runtime/turns/test_turn_restart.py",),
    ),
    CodeMutant(
        *(
            "spend",
            "the day's count is what the last call used",
            "apps/runtime/turn_store/queries/fragments/insert_steps.sql",
        ),
        "calls = spend.calls + excluded.calls",
        "calls = excluded.calls",
        ("tests/runtime/limits/test_turn_budgets.py", "tests/durability/test_concurrent_spending.py"),
    ),
    CodeMutant(
        *("spend", "a person is asked at each turn", "apps/runtime/turns/queries/note_budget_alert.sql"),
        "\nWHERE spend.budget_escalated_at IS NULL",
        "",
        ("tests/runtime/limits/test_turn_budgets.py",),
    ),
    *(
        DatabaseMutant("written once", name, f"{sql} {name}", ("tests/durability/test_database_uniqueness.py",))
        for name, sql in (
            ("step_is_written_once", "DROP INDEX"),
            ("tool_step_is_written_once", "ALTER TABLE runtime_toolstep DROP CONSTRAINT"),
            ("turn_replies_once", "DROP INDEX"),
            ("reply_is_of_one_turn", "DROP INDEX"),
            ("one_running_turn_per_conversation", "DROP INDEX"),
        )
    ),
)
