"""Learning versions: what each agent learned from corrections, what changed, who said yes, and why a digest made nothing."""

from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from apps.console.framework.badges import badge
from apps.console.framework.forms import OptionalReasonForm, ReasonedDecisionForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import Button, PanelReader, Tabs, Values
from apps.console.framework.row_titles import excerpt, format_moment
from apps.console.framework.text_diffs import field_diffs
from apps.governance.actors import Actor
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
    """Its bullets, what changed since the one before, its lessons, the agent's other versions and latest digests."""
    del request
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


def _activate(version: LearningVersion, actor: Actor, values: Values) -> LearningVersion:
    return activate_version(version, actor=actor, read_at=values["read_at"], reason=values["reason"])


def _reject(version: LearningVersion, actor: Actor, values: Values) -> LearningVersion:
    return reject_version(version, actor=actor, read_at=values["read_at"], reason=values["reason"])


def _retire(version: LearningVersion, actor: Actor, values: Values) -> LearningVersion:
    return retire_version(version, actor=actor, read_at=values["read_at"], reason=values["reason"])


def _restore(version: LearningVersion, actor: Actor, values: Values) -> LearningVersion:
    return restore_version(version, actor=actor, read_at=values["read_at"], reason=values["reason"])


def _withdraw(version: LearningVersion, actor: Actor, values: Values) -> LearningVersion:
    return withdraw_version(version, actor=actor, read_at=values["read_at"], reason=values["reason"])


def _is_pending(version: LearningVersion) -> bool:
    return bool(version.status == Status.PENDING)


def _is_active(version: LearningVersion) -> bool:
    return bool(version.status == Status.ACTIVE)


def _is_retired(version: LearningVersion) -> bool:
    return bool(version.status == Status.RETIRED)


def _was_active(version: LearningVersion) -> bool:
    return _is_active(version) or _is_retired(version)


class LearningVersionAdmin(GovernedAdmin):
    """What waits for a person first; the others are the agent's history."""

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
            _activate,
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
            _reject,
            done="Rejected. Nobody reads it.",
            consequence="Nobody reads it. Its lessons are offered again once another case of them is seen.",
            form=OptionalReasonForm,
            when=_is_pending,
            tone="danger",
        ),
        Button(
            "retire",
            "Retire",
            Act.LEARNING_VERSION_RETIRE,
            _retire,
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
            _restore,
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
            _withdraw,
            done="Withdrawn. No turn reads it from now on.",
            consequence="For what is wrong or was slipped in. No turn reads it any more, not even of conversations that began"
            " with it: their history goes on without its bullets. It cannot be restored. Versions that took over its bullets are"
            " withdrawn or rejected by themselves.",
            form=ReasonedDecisionForm,
            when=_was_active,
            tone="danger",
        ),
    )

    @admin.display(description="Version", ordering="number")
    def named(self, version: LearningVersion) -> str:
        return str(version)

    @admin.display(description="What changed")
    def changed(self, version: LearningVersion) -> str:
        return excerpt(version.change_summary)

    @admin.display(description="Bullets")
    def bullet_count(self, version: LearningVersion) -> int:
        return len(parse_bullets(version.body))

    @admin.display(description="Approved", ordering="approved_at")
    def approved(self, version: LearningVersion) -> str:
        return format_moment(version.approved_at) if version.approved_at else "by nobody"

    @admin.display(description="State", ordering="status")
    def state_shown(self, version: LearningVersion) -> SafeString:
        return badge(version.status)


class DigestRunAdmin(GovernedAdmin):
    """Read-only: what came of each digest, and why nothing did."""

    list_display = ("ended", "agent", "verdict", "why", "lesson_count", "read_by")
    list_display_links = ("ended",)
    list_filter = ("verdict", "agent")
    list_select_related = ("agent",)
    empty = "No digest yet. One runs within a minute of a lesson that was seen twice, or that a person put in words."
    fields = ()
    change_form_template = "console/learning/digest_run.html"
    panels = PanelReader(lambda run, _: {"lessons": Lesson.objects.filter(pk__in=run.lesson_ids)})

    @admin.display(description="When", ordering="created_at")
    def ended(self, run: DigestRun) -> str:
        return format_moment(run.created_at)

    @admin.display(description="Why")
    def why(self, run: DigestRun) -> str:
        return excerpt(" ".join(run.reasons)) or "it passed every check"

    @admin.display(description="Lessons")
    def lesson_count(self, run: DigestRun) -> int:
        return len(run.lesson_ids)

    @admin.display(description="Read by")
    def read_by(self, run: DigestRun) -> str:
        return f"{run.model or 'no model'}{' (stand-in)' if run.is_stand_in else ''}"
