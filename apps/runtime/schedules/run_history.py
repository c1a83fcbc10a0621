"""The results of scheduled runs, derived from the turns that the runs began."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, Count, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Now, NullIf

from apps.runtime.models import Turn
from apps.schedules.models import Schedule, ScheduleRun

RUNS_SHOWN = 20
COUNTED_DAYS = 30
COUNTED_PERIOD = timedelta(days=COUNTED_DAYS)
# The result of a run whose turn has not started yet.
WAITING = "waiting"
OUTCOME_LABELS = {
    WAITING: "waits for a worker",
    Turn.Status.RUNNING.value: "is running",
    Turn.Outcome.REPLIED.value: "posted",
    Turn.Outcome.DRAFTED.value: "waits as a draft",
    Turn.Outcome.OBSERVED.value: "noted, posted nowhere",
    Turn.Outcome.ESCALATED.value: "failed, a person was asked",
    Turn.Outcome.SILENT.value: "nothing to report",
    ScheduleRun.Result.SKIPPED.value: "skipped",
    ScheduleRun.Result.REFUSED.value: "did not begin",
}


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A scheduled run: its result in one word, and the reason if the run did nothing."""

    run: ScheduleRun
    outcome: str
    reason: str

    @property
    def planned_at(self) -> datetime:
        """The planned time of the run."""
        return self.run.planned_at

    @property
    def sentence(self) -> str:
        """The result in words, for people."""
        return OUTCOME_LABELS.get(self.outcome, self.outcome)


def runs_of_schedule(schedule: Schedule) -> list[RunSummary]:
    """The latest runs of one schedule, in two queries. The caller acts as an actor."""
    return _summarize_runs(ScheduleRun.objects.filter(schedule=schedule).select_related("conversation")[:RUNS_SHOWN])


def last_runs(schedules: Iterable[Schedule]) -> dict[int, RunSummary]:
    """The latest run of each schedule, in two queries."""
    ids = [schedule.pk for schedule in schedules]
    latest = ScheduleRun.objects.filter(schedule__in=ids).order_by("schedule_id", "-id").distinct("schedule_id")
    return {summary.run.schedule_id: summary for summary in _summarize_runs(latest)}


def outcome_totals(schedule: Schedule) -> list[tuple[str, int]]:
    """The results of recent runs with their counts, the most frequent first, in one query. The caller acts as an actor."""
    first = Turn.objects.filter(conversation=OuterRef("conversation")).order_by("id")
    lately = ScheduleRun.objects.filter(schedule=schedule, created_at__gt=Now() - COUNTED_PERIOD).order_by()
    came = Coalesce(NullIf(Subquery(first.values("outcome")[:1]), Value("")), Subquery(first.values("status")[:1]))
    begun = Case(When(result=ScheduleRun.Result.STARTED, then=Coalesce(came, Value(WAITING))), default=F("result"))
    counted = lately.annotate(outcome=begun).values_list("outcome").annotate(times=Count("id"))
    return [(OUTCOME_LABELS.get(outcome, outcome), times) for outcome, times in counted.order_by("-times", "outcome")]


def _summarize_runs(runs: QuerySet[ScheduleRun]) -> list[RunSummary]:
    found = list(runs)
    # The first turn of the conversation belongs to the run. Later turns answer people who wrote in the conversation.
    turns = Turn.objects.filter(conversation__in=[run.conversation_id for run in found if run.conversation_id])
    first = {turn.conversation_id: turn for turn in turns.order_by("-id")}
    return [_summarize_run(run, first.get(run.conversation_id or 0)) for run in found]


def _summarize_run(run: ScheduleRun, turn: Turn | None) -> RunSummary:
    if run.result != ScheduleRun.Result.STARTED:
        return RunSummary(run, run.result, run.reason)
    return RunSummary(run, (turn.outcome or turn.status) if turn else WAITING, turn.failure if turn else "")
