"""Learning versions: bullets that an agent learned from corrections, their changes and approval, and the digest runs."""

from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest

from apps.console.framework.forms import OptionalReasonForm, ReasonedDecisionForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, excerpt_column, model_column, moment_column
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.row_titles import excerpt
from apps.console.framework.text_diffs import field_diffs
from apps.governance.policy.policy_table import Act
from apps.learning.digest.models import DigestRun
from apps.learning.lessons.actions import (
    activate_version,
    reject_version,
    restore_version,
    retire_version,
    withdraw_version,
)
from apps.learning.lessons.models import LearningVersion, Lesson
from apps.learning.lessons.rules import parse_bullets, render_summary

Status = LearningVersion.Status
RUNS_SHOWN: Final = 10


def version_panels(version: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the bullets, the changes since the version before, the lessons, and the agent's other versions and digests."""
    before = LearningVersion.objects.filter(pk=version.previous_version_id).first()
    return {
        "bullets": parse_bullets(version.body),
        "shown_bullets": len(parse_bullets(render_summary(version.body))),
        "before": before,
        "diffs": field_diffs({"body": before.body if before else ""}, {"body": version.body}),
        "lessons": Lesson.objects.filter(pk__in=version.lesson_ids),
        "timeline": LearningVersion.objects.filter(agent=version.agent_id).order_by("-number"),
        "runs": DigestRun.objects.filter(agent=version.agent_id).select_related("learning_version")[:RUNS_SHOWN],
    }


def _is_pending(version: LearningVersion) -> bool:
    return bool(version.status == Status.PENDING)


def _is_active(version: LearningVersion) -> bool:
    return bool(version.status == Status.ACTIVE)


def _is_retired(version: LearningVersion) -> bool:
    return bool(version.status == Status.RETIRED)


def _was_active(version: LearningVersion) -> bool:
    return _is_active(version) or _is_retired(version)


class LearningVersionAdmin(GovernedAdmin):
    """Learning versions: those that wait for a person come first; the others are the agent's history."""

    list_display = ("named", "agent", "changed", "bullet_count", "approved", "updated", "state_shown")
    list_display_links = ("named",)
    list_filter = ("agent",)
    list_select_related = ("agent",)
    tabs = Tabs("status", tuple(Status.choices))
    empty = (
        "No version yet. Once operators have corrected an agent twice in the same way, or said in words what it should have done,"
        " a digest proposes one within a minute."
    )
    fields = ()
    change_form_template = "console/learning/learning_version.html"
    panels = PanelReader(version_panels)
    buttons = (
        Button(
            "activate",
            "Activate",
            Act.LEARNING_VERSION_ACTIVATE,
            activate_version,
            done="Active. Conversations that begin from now on read it.",
            consequence="The agent reads these bullets as your words in every conversation that begins from now on. Those that"
            " run keep what they began with.",
            form=OptionalReasonForm,
            when=_is_pending,
            tone="primary",
        ),
        Button(
            "reject",
            "Reject",
            Act.LEARNING_VERSION_REJECT,
            reject_version,
            done="Rejected. No conversation reads it.",
            consequence="Nobody reads it. Its lessons are offered again once another case of them is seen.",
            form=OptionalReasonForm,
            when=_is_pending,
            tone="danger",
        ),
        Button(
            "retire",
            "Retire",
            Act.LEARNING_VERSION_RETIRE,
            retire_version,
            done="Retired. Conversations that begin from now on read none.",
            consequence="Conversations that begin from now on read nothing learned, until another version is activated.",
            form=OptionalReasonForm,
            when=_is_active,
            tone="danger",
        ),
        Button(
            "restore",
            "Restore",
            Act.LEARNING_VERSION_RESTORE,
            restore_version,
            done="Restored. Conversations that begin from now on read it.",
            consequence="Conversations that begin from now on read this one in the place of the one that is active.",
            form=OptionalReasonForm,
            when=_is_retired,
            tone="primary",
        ),
        Button(
            "withdraw",
            "Withdraw",
            Act.LEARNING_VERSION_WITHDRAW,
            withdraw_version,
            done="Withdrawn. From now on no turn reads it.",
            consequence="For what is wrong or was slipped in. No turn reads it any more, not even of conversations that began"
            " with it: their history goes on without its bullets. It cannot be restored. Versions that took over its bullets are"
            " withdrawn or rejected by themselves.",
            form=ReasonedDecisionForm,
            when=_was_active,
            tone="danger",
        ),
    )

    named = column("Version", str, ordering="number")
    changed = excerpt_column("What changed", "change_summary")
    bullet_count = column("Bullets", lambda row: len(parse_bullets(row.body)))
    approved = moment_column("Approved", "approved_at", missing="by nobody")


class DigestRunAdmin(GovernedAdmin):
    """Read-only: the result of each digest, with the reasons if it made no version."""

    list_display = ("ended", "agent", "verdict", "why", "lesson_count", "read_by")
    list_display_links = ("ended",)
    list_filter = ("verdict", "agent")
    list_select_related = ("agent",)
    empty = "No digest yet. One runs within a minute of a lesson that was seen twice, or that a person put in words."
    fields = ()
    change_form_template = "console/learning/digest_run.html"
    panels = PanelReader(lambda run, _: {"lessons": Lesson.objects.filter(pk__in=run.lesson_ids)})

    ended = moment_column("When", "created_at")
    lesson_count = column("Lessons", lambda row: len(row.lesson_ids))
    read_by = model_column("Read by")

    @admin.display(description="Why")
    def why(self, run: DigestRun) -> str:
        return excerpt(" ".join(run.reasons)) or "it passed every check"
