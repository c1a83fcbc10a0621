"""Learning versions: bullets that an agent learned from corrections, their changes and approval, and the digest runs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

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
from apps.learning.lessons.version_copies import VersionCopy, copies_of, versions_of_agents, withdrawn_bullets_in

Status = LearningVersion.Status
RUNS_SHOWN: Final = 10
BULLETS_NAMED: Final = 3


def version_panels(version: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the bullets, the changes since the version before, the lessons, and the agent's other versions and digests."""
    before = LearningVersion.objects.filter(pk=version.previous_version_id).first()
    timeline = _agent_versions(version)
    return {
        "bullets": parse_bullets(version.body),
        "shown_bullets": len(parse_bullets(render_summary(version.body))),
        "before": before,
        "diffs": field_diffs({"body": before.body if before else ""}, {"body": version.body}),
        "lessons": Lesson.objects.filter(pk__in=version.lesson_ids),
        "timeline": list(reversed(timeline)),
        "copies": copies_of(version, timeline),
        "withdrawn_originals": withdrawn_bullets_in(version, timeline),
        "runs": DigestRun.objects.filter(agent=version.agent_id).select_related("learning_version")[:RUNS_SHOWN],
    }


def _agent_versions(version: LearningVersion) -> list[LearningVersion]:
    return versions_of_agents([version.agent_id])[version.agent_id]


class WithdrawVersionForm(ReasonedDecisionForm):
    """The reason of a withdrawal, and the versions with the same bullets that are not withdrawn with it."""

    staying_version_ids = forms.TypedMultipleChoiceField(
        label="Versions that stay",
        coerce=int,
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="These versions repeat its bullets, word for word or nearly so. They are withdrawn with it, or rejected if"
        " they are pending. Tick those that are to stay as they are.",
    )
    field_order = ("staying_version_ids", "reason")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not self.is_bound:
            self._offer(self.initial.get("copies", ()))
            return
        # The action knows which versions have its bullets.
        staying: Any = self.fields["staying_version_ids"]
        sent = staying.widget.value_from_datadict(self.data, self.files, "staying_version_ids")
        staying.choices = [(each, each) for each in sent or ()]

    def again(self, initial: Mapping[str, Any]) -> None:
        """Offer the versions that have its bullets now."""
        self._offer(initial.get("copies", ()))

    def _offer(self, choices: Sequence[tuple[Any, str]]) -> None:
        if choices:
            staying: Any = self.fields["staying_version_ids"]
            staying.choices = choices
        elif not (self.is_bound and self.errors.get("staying_version_ids")):
            del self.fields["staying_version_ids"]


def _copy_choices(version: LearningVersion) -> dict[str, Any]:
    copies = copies_of(version, _agent_versions(version))
    return {"copies": [(copy.version.pk, _copy_label(copy)) for copy in copies]}


def _copy_label(copy: VersionCopy) -> str:
    bullets = [f"“{excerpt(each.bullet)}”" for each in copy.shared[:BULLETS_NAMED]]
    more = len(copy.shared) - len(bullets)
    named = f"{copy.version} ({copy.version.get_status_display().lower()}): {', '.join(bullets)}"
    return f"{named}, and {more} more" if more else named


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
            done="Withdrawn. From now on no turn reads it, nor a version that was withdrawn with it.",
            consequence="For bullets that are wrong or were slipped in. No turn reads them any more, not even in conversations"
            " that began with this version: their history goes on without its bullets. A withdrawn version cannot be restored.",
            form=WithdrawVersionForm,
            initial=_copy_choices,
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
