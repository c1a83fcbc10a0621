"""Models of the runtime: frozen sessions, turns, model calls and tool steps; also spend, circuit breakers and periodic tasks.

Sessions, turns, model calls and tool steps are journal tables: they have one writer and no change records. Every query filters by
tenant, itself or through row security, so columns that begin a composite key need no index of their own.

`PeriodicTask` records when a worker last ran a job of Celery beat. `CircuitBreaker` records failures of endpoints.
`ExternalTurnFields` adds the fields of a turn that an external agent takes. `Spend` is the cost of a day: a counter next to the
journal, updated by the statements that write the journal.
"""

import json
from datetime import timedelta
from typing import Any, ClassVar

from django.db import models
from django.db.models.functions import Now

from apps.prompt.cache.cost_attribution import SlotCharge, parse_charges
from apps.runtime.limits.circuit_breaker import BreakerState


class PeriodicTask(models.Model):
    """A scheduled job of Celery beat: how often it is due, and when a worker last ran it. It belongs to no tenant."""

    task = models.CharField(max_length=120, primary_key=True)
    interval_seconds = models.FloatField()
    registered_at = models.DateTimeField(help_text="When Celery beat first registered the job.")
    last_run_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.task


class CircuitBreaker(models.Model):
    """The circuit breaker of a model at an endpoint; endpoint 0 is the installation's.

    It belongs to no tenant, since tenants share the installation's endpoint: after one tenant's calls fail, all tenants pause.
    """

    endpoint_id = models.BigIntegerField()
    model = models.CharField(max_length=80)
    state = models.CharField(max_length=10, default=BreakerState.CLOSED.value)
    failures = models.PositiveIntegerField(default=0)
    calls = models.PositiveIntegerField(default=0)
    window_started_at = models.DateTimeField(null=True)
    opened_until = models.DateTimeField(null=True)
    opened_for_seconds = models.PositiveIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["endpoint_id", "model"], name="model_has_one_breaker_at_an_endpoint"),
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in BreakerState]),
                name="breaker_is_in_a_known_state",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} ({self.state})"


class ExternalTurnFields(models.Model):
    """Fields of a turn that an external agent takes.

    `external_user_turn` is the user turn as it was handed out, with the owners of its bytes, until the turn ends.
    `report_sha256` identifies the agent's report, so that a repeated one is recognised.
    """

    external_user_turn = models.JSONField(null=True)
    report_sha256 = models.CharField(max_length=64, blank=True, db_default="")

    class Meta:
        abstract = True


class Spend(models.Model):
    """Usage of an agent's model calls on one day of the tenant's clock, counted by the statements that write the calls (R166).

    `cost_micro_usd` is the cost of turns, without `unpriced_calls`. The `learning_` columns count the learning's model calls,
    with all tokens of a prompt in one number. `budget_escalated_at` is when a person was told that the day's budget was spent.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    day = models.DateField()
    calls = models.PositiveIntegerField(default=0)
    unpriced_calls = models.PositiveIntegerField(default=0)
    cost_micro_usd = models.PositiveBigIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_5m_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_1h_tokens = models.PositiveBigIntegerField(default=0)
    learning_calls = models.PositiveIntegerField(db_default=0)
    learning_unpriced_calls = models.PositiveIntegerField(db_default=0)
    learning_cost_micro_usd = models.PositiveBigIntegerField(db_default=0)
    learning_input_tokens = models.PositiveBigIntegerField(db_default=0)
    learning_output_tokens = models.PositiveBigIntegerField(db_default=0)
    budget_escalated_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-day", "agent_id"]
        verbose_name = "spend of a day"
        verbose_name_plural = "spend"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "agent", "day"], name="agent_has_one_count_a_day"),
        ]

    def __str__(self) -> str:
        return f"{self.day}"

    @property
    def all_calls(self) -> int:
        """The number of model calls by turns and by the learning."""
        return self.calls + self.learning_calls

    @property
    def all_cost_micro_usd(self) -> int:
        """The cost of turns and of the learning, which the day's budget limits."""
        return self.cost_micro_usd + self.learning_cost_micro_usd


# Django expects every model of an app in this module, so models of other modules are imported here.
__all__ = [
    "CircuitBreaker",
    "ModelCall",
    "PeriodicTask",
    "Session",
    "SessionPart",
    "SnapshotPart",
    "Spend",
    "ToolStep",
    "Turn",
]
_HAS_LEARNING_VERSION, _IS_RUNNING = models.Q(learning_version_id__isnull=False), models.Q(status="running")
# A new turn has no reply and no session, so indexes restricted to turns that have one stay small.
_HAS_REPLY, _HAS_SESSION = models.Q(reply__isnull=False), models.Q(session__isnull=False)
_IS_SKILL_READ = models.Q(name__in=["get_skill", "skill_view"])
# Earlier releases wrote round 0, in which each worker numbered its own steps from 1, so the fence makes these steps unique.
_FENCE_IN_ROUND_0 = models.Case(models.When(round=0, then="fence"), default=0)


class SnapshotPart(models.Model):
    """The text of a prompt slot and the owners of its bytes, stored once per tenant, text and owners."""

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    slot = models.PositiveSmallIntegerField()
    sha256 = models.CharField(max_length=64)
    text = models.TextField()
    segments = models.JSONField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "slot", "sha256"], name="part_is_stored_once_per_tenant"),
        ]

    def __str__(self) -> str:
        return f"Slot {self.slot} {self.sha256[:12]}"


class Session(models.Model):
    """The frozen prompt prefix of one stretch of a conversation; immutable (R041, R043, R062)."""

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.PROTECT, related_name="sessions")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    prefix_sha256 = models.CharField(max_length=64)
    tool_names = models.JSONField()
    tools = models.ForeignKey(SnapshotPart, null=True, on_delete=models.PROTECT, related_name="+")
    tools_sha256 = models.CharField(max_length=64, blank=True)
    snapshot_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "agent", "-snapshot_at"], name="session_by_snapshot_time"),
        ]

    def __str__(self) -> str:
        return f"Session {self.pk} {self.prefix_sha256[:12]}"


class SessionPart(models.Model):
    """The position of a part in a session's prefix."""

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="parts")
    position = models.PositiveSmallIntegerField()
    part = models.ForeignKey(SnapshotPart, db_index=False, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar = ["position"]
        indexes: ClassVar = [models.Index(fields=["part", "session"], name="session_of_part")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "session", "position"], name="session_part_has_its_own_position"),
        ]

    def __str__(self) -> str:
        return f"Part {self.position} of session {self.session_id}"


class Turn(ExternalTurnFields):
    """The work on one answer. A worker claims it under a lease and a fencing number; a conversation has at most one running turn.

    Times are by the database's clock. `run_at` is when the turn may be claimed next, `deadline_at` when the turn is given up.
    `current_step` is the number of the latest model call, so that a call without a stored answer is known to have been made.
    `learning_version_id` is the version that the conversation's first turn pinned and all its turns use (R146). `model` is the
    fallback used instead of the agent's model, chosen once for the whole turn. `history_halvings` counts how often the history
    was halved because the prompt was too long. `attempts` counts claims, `crashes` the claims after a worker that died without
    releasing the turn, and `failed_calls` the failed model calls of the current step. `delay_notice` is the sentence that the
    customer got because the turn waits for the day's budget.
    """

    class Status(models.TextChoices):
        """The state of a turn. A failed turn keeps its events and the reason."""

        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Outcome(models.TextChoices):
        """The result of an ended turn for the customer; blank while it runs, and for turns of earlier releases."""

        REPLIED = "replied"
        DRAFTED = "drafted"
        OBSERVED = "observed"
        ESCALATED = "escalated"
        SILENT = "silent"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.PROTECT, related_name="turns")
    session = models.ForeignKey(Session, null=True, db_index=False, on_delete=models.PROTECT, related_name="turns")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.RUNNING)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    round = models.PositiveSmallIntegerField(default=1)
    fence = models.PositiveIntegerField(default=1)
    attempts = models.PositiveSmallIntegerField(default=1)
    crashes = models.PositiveSmallIntegerField(default=0)
    failed_calls = models.PositiveSmallIntegerField(default=0)
    is_released = models.BooleanField(default=False)
    lease_until = models.DateTimeField()
    run_at = models.DateTimeField(db_default=Now())
    deadline_at = models.DateTimeField(db_default=Now() + timedelta(days=1))
    model = models.CharField(max_length=80, blank=True, db_default="")
    history_halvings = models.PositiveSmallIntegerField(default=0, db_default=0)
    current_step = models.PositiveSmallIntegerField(default=1)
    step_started_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    reply = models.ForeignKey(
        "conversations.Message", null=True, db_index=False, on_delete=models.PROTECT, related_name="+"
    )
    failure_code = models.CharField(max_length=40, blank=True)
    failure = models.TextField(blank=True)
    delay_notice = models.ForeignKey(
        "conversations.Message", null=True, db_index=False, on_delete=models.PROTECT, related_name="+"
    )
    user_turn_segments = models.JSONField(null=True)
    # Not a foreign key: old versions are deleted, but the number of the pinned version stays on record.
    learning_version_id = models.BigIntegerField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "conversation"], condition=_IS_RUNNING, name="one_running_turn_per_conversation"
            ),
            models.UniqueConstraint(fields=["tenant", "reply"], condition=_HAS_REPLY, name="reply_is_of_one_turn"),
            models.CheckConstraint(
                condition=~models.Q(status="done")
                | models.Q(reply__isnull=False)
                | models.Q(outcome__in=["drafted", "observed", "escalated", "silent"]),
                name="done_turn_has_a_reply_or_an_outcome",
            ),
            models.CheckConstraint(
                condition=~models.Q(outcome="replied") | models.Q(reply__isnull=False),
                name="replied_turn_has_its_reply",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["session"], condition=_HAS_SESSION, name="turn_of_session"),
            models.Index(fields=["tenant", "id"], condition=models.Q(status="failed"), name="failed_turn"),
            models.Index(
                fields=["finished_at"], condition=models.Q(status="failed"), name="failed_turn_by_finish_time"
            ),
            models.Index(
                fields=["tenant", "learning_version_id", "id"],
                condition=_HAS_LEARNING_VERSION,
                name="turn_of_learning_version",
            ),
        ]

    def __str__(self) -> str:
        return f"Turn {self.pk} ({self.status})"

    @property
    def owners_of_asked(self) -> Any:  # Any: a table of segments, as `decode_segments` takes it
        """The owners of the user turn's bytes, from the transcript, or from the first step if the transcript has none yet."""
        if self.user_turn_segments is not None:
            return self.user_turn_segments
        kept = self.calls.filter(round=self.round).exclude(user_turn=None).values_list("user_turn", flat=True).first()
        segments = kept["segments"] if kept else None
        return json.loads(segments) if isinstance(segments, str) else segments


class ModelCall(models.Model):
    """A model call of a turn: the answer and its token usage by billing class (R166, R185).

    Steps count from 1 in each `round` of a turn. Earlier releases wrote round 0 and stored no text. The first step stores
    `user_turn` as it was sent, and each step stores the model's answer in `assistant_message`, unless the transcript has them.
    `cache_entries` are the prefixes that the call left in the cache, as `encode_entries` writes them; `cache_ledger` has the
    expected and billed tokens by slot.
    """

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    turn = models.ForeignKey(Turn, db_index=False, on_delete=models.PROTECT, related_name="calls")
    fence = models.PositiveIntegerField()
    round = models.PositiveSmallIntegerField(default=0)
    step = models.PositiveSmallIntegerField()
    user_turn = models.JSONField(null=True)
    assistant_message = models.JSONField(null=True)
    text = models.TextField(blank=True)
    model = models.CharField(max_length=80)
    is_stand_in = models.BooleanField()
    stop_reason = models.CharField(max_length=40)
    input_tokens = models.PositiveIntegerField()
    output_tokens = models.PositiveIntegerField()
    cache_read_tokens = models.PositiveIntegerField()
    cache_write_5m_tokens = models.PositiveIntegerField()
    cache_write_1h_tokens = models.PositiveIntegerField()
    cost_micro_usd = models.PositiveBigIntegerField(null=True)
    requested_at = models.DateTimeField(null=True)
    agent_prefix_sha256 = models.CharField(max_length=64, blank=True)
    workspace_prefix_sha256 = models.CharField(max_length=64, blank=True)
    expected_read_tokens = models.PositiveIntegerField(null=True)
    has_unexpected_miss = models.BooleanField(default=False)
    cache_entries = models.JSONField(default=dict)
    cache_ledger = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["turn_id", "round", "fence", "step"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "agent_prefix_sha256", "-requested_at"], name="call_by_agent_prefix"),
            models.Index(
                fields=["tenant", "workspace_prefix_sha256", "-requested_at"], name="call_by_workspace_prefix"
            ),
            # A page of the console lists answers of the stand-in model. The index is empty if a real model answers.
            models.Index(
                fields=["tenant", "created_at"], condition=models.Q(is_stand_in=True), name="call_of_stand_in"
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint("tenant", "turn", "round", "step", _FENCE_IN_ROUND_0, name="step_is_written_once"),
        ]

    def __str__(self) -> str:
        return f"Call {self.step} of turn {self.turn_id}"

    @property
    def charges(self) -> tuple[SlotCharge, ...]:
        """The billed tokens of each slot."""
        return parse_charges(self.cache_ledger.get("slots", ""))


class ToolStep(models.Model):
    """A tool call of a step. An external call is written before and after it, a built-in call in the commit of its effect.

    A call in state `started` may have been made. `repeat_safety` decides whether it is made again after a crash.
    """

    class RepeatSafety(models.TextChoices):
        """Whether it is safe to call the tool twice."""

        READ_ONLY = "read_only"
        IDEMPOTENT = "idempotent"
        TRANSACTIONAL = "transactional"
        UNSAFE = "unsafe"

    class State(models.TextChoices):
        """The state of a call. `unknown` is final: the call may have been made, and must not be made again."""

        STARTED = "started"
        DONE = "done"
        UNKNOWN = "unknown"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    turn = models.ForeignKey(Turn, db_index=False, on_delete=models.PROTECT, related_name="tool_steps")
    round = models.PositiveSmallIntegerField()
    step = models.PositiveSmallIntegerField()
    position = models.PositiveSmallIntegerField()
    fence = models.PositiveIntegerField()
    call_id = models.CharField(max_length=200)
    name = models.CharField(max_length=200)
    arguments = models.JSONField()
    repeat_safety = models.CharField(max_length=20, choices=RepeatSafety.choices)
    state = models.CharField(max_length=10, choices=State.choices)
    result = models.TextField(blank=True)
    is_error = models.BooleanField(default=False)
    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["turn_id", "round", "step", "position"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "started_at"], condition=_IS_SKILL_READ, name="skill_was_read")
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "turn", "round", "step", "position"], name="tool_step_is_written_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state="started", finished_at__isnull=True)
                | ~models.Q(state="started") & models.Q(finished_at__isnull=False),
                name="ended_tool_step_has_a_finish_time",
            ),
            models.CheckConstraint(
                condition=~models.Q(state__in=["started", "unknown"])
                | models.Q(repeat_safety__in=["idempotent", "unsafe", "read_only"]),
                name="transactional_write_is_in_the_commit_of_its_step",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} at {self.step}.{self.position} of turn {self.turn_id} ({self.state})"
