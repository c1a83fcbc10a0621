"""Allowances of the conventions, each with its reason. The lists only shrink: a test fails for an entry that nothing needs."""

# Files that may write rows, as patterns. Everything else calls one of them.
WRITERS = {
    "apps/*/actions.py": "the governed writes, each through `governed`",
    "apps/governance/*.py": "`governed` itself, its records and its proposals",
    "apps/*/migrations/*.py": "the schema's own steps",
    "apps/runtime/prompt_snapshot/snapshot_store.py": "the journal's one writer: append-only tables without a change record",
    "apps/runtime/turns/operator_replies.py": "what a person answers closes the events it answers: the same journal, as the system",
    "apps/runtime/turns/delay_notices.py": "the sentence that the agent's settings give is a row of the same journal",
    "apps/runtime/turns/waiting_messages.py": "writes events into the transcript early: the same journal, as the system",
    "apps/runtime/turns/run_now.py": "the next attempt of a turn is in its journal row, which a person's act moves as the system",
    "apps/runtime/turns/circuit_breaker_store.py": "failures of an endpoint belong to no tenant; workers overwrite them",
    "apps/runtime/schedules/schedule_runner.py": "a run, its clock and what it tells the agent: the same journal, as the system",
    "apps/review/bulk/journal.py": "the one writer of decisions taken together; each proposal's own act is recorded",
    "apps/notifications/notification_store.py": "preferences and sent notifications: a journal that changes nothing governed",
    "apps/review/saved_filters.py": "saved filters of the inbox: they change nothing governed, and are deleted for good",
    "apps/webhooks/delivery_replay.py": "what is on its way is a journal; a person has it tried anew",
    "apps/conversations/delegation.py": "the end of a question, in the commit that ends it: the same journal, as the system",
    "apps/conversations/member_talks.py": "what a member tells their assistant: the same journal, as that member",
    "apps/tenants/sealed_secrets.py": "secrets' one writer: no record may hold sealed text; the row that names one is recorded",
    "apps/learning/extraction/extraction_runs.py": "the verdicts' one writer: one row per conversation, never changed",
    "apps/learning/digest/digest_runs.py": "the one writer of runs of the digest: append-only, no change record",
    "apps/learning/distillation/tier_runs.py": "the one writer of runs of the distiller: append-only, no change record",
    "apps/learning/reflection/reflection_runs.py": "the reflections' one writer: one row per agent and day, settled once",
    "apps/learning/lessons/lesson_journal.py": "the one writer of lessons and their cases: counted, never reworded",
    "apps/memory/line_ledger.py": "the lines' one writer: whose words each is, beside the text that the governed act writes",
    "apps/memory/profile_line_ledger.py": "the same of what is noted of a customer",
    "apps/skills/attachments/blob_store.py": "bytes of files, which are no rows; the skill that names them is the governed write",
    "apps/tenants/accounts/people.py": "a person belongs to no tenant; membership is the governed write",
    "apps/tenants/accounts/second_factor.py": "people belong to no tenant, and no record may hold a secret",
    "apps/tenants/accounts/account_events.py": "events of accounts: their people belong to no tenant, and rows are only added",
    "apps/tenants/session_store.py": "sessions of people, who belong to no tenant; Django writes them, and their person ends them",
    "apps/tenants/grants/guardian_sync.py": "role templates belong to no tenant; the owner keeps them equal to the policy",
}

# Functions of an `actions.py` that write a journal table or a counter: append-only, one writer, no change record.
JOURNALS = {
    "apps/conversations/actions.py::append_messages": "messages are a journal; the conversation's acts are recorded",
    "apps/conversations/actions.py::send_message": "messages are a journal; what led to one is recorded with its own row",
    "apps/skills/actions.py::count_use": "a counter is no governed content; the act is authorized, not recorded",
}

# These packages do not use Django (import-linter checks that), so their `create` and `update` write no rows.
ROWLESS_FOLDERS = (
    "apps/prompt/",
    "apps/llm/",
    "apps/launcher/",
    "apps/outbound/",
    "apps/standin/",
    "apps/text_analysis/",
)

# Console classes that the declaring ones build on, and methods a declaration may still need.
CONSOLE_BASE_CLASSES = {
    "GovernedAdmin": "the one base that turns a declaration into reads, buttons and refusals",
    "WorklistAdmin": "the same where what waits is decided on in the list",
}
CONSOLE_METHODS: dict[str, str] = {}

# Names that several public classes share, each with the reason.
SHARED_CLASS_NAMES: dict[str, str] = {}

# `path` -> lines, and `path::function` -> lines, of files and functions over the limit.
LONG_FILES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}

# Requirements that are built and cited by no test, each with the reason.
UNTESTED_REQUIREMENTS = {
    "R190": "a choice of tools: the whole suite runs on them, and no single test fails without one",
}

# Files with SQL longer than the limit for SQL in Python (`file_layout.SQL_LINES`).
LONG_QUERIES = {
    "apps/governance/audit/log_reader.py": "its columns are those of the models, for a hash covers every one of them",
    "apps/governance/database/migration_operations.py": "a step of migrations, with the names of the roles put in",
    "apps/tenants/database_roles.py": "a block of PL/pgSQL that the owner runs when roles are set up",
}
