"""Models of learning: lessons and their cases, learning versions, clusters of recurring edits, and examples.

Lessons and cases are journal tables: one writer, no change record. Versions, clusters and examples are governed. An example is
a draft's correction that a person chose to show in prompts for any customer of an agent (Z-12).
"""

from typing import ClassVar, Final, Self

from django.db import models
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.learning.lessons import rules
from apps.learning.lessons.edit_categories import describe_category, suggested_rule


class ExampleQuerySet(GovernedQuerySet["Example"]):
    """Queryset filters for examples."""

    def of_agent(self, agent_id: int) -> Self:
        """Examples of one agent."""
        return self.filter(agent=agent_id)

    def approved(self) -> Self:
        """Examples that turns may use."""
        return self.filter(status=Example.Status.APPROVED)


class Example(Governed):
    """A situation, a wrong draft and its correction: masked, approved by a person, and never reworded."""

    class Status(models.TextChoices):
        """The status of an example. It needs no approval, because a person creates it."""

        APPROVED = "approved"
        RETIRED = "retired"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    lesson = models.ForeignKey("learning.Lesson", on_delete=models.PROTECT, related_name="examples", editable=False)
    situation = models.TextField("what was asked")
    draft = models.TextField("the draft that was wrong")
    correction = models.TextField("what to write instead")
    masked_counts = models.JSONField(
        default=dict, blank=True, editable=False, help_text="The number of masked items, by kind."
    )
    keywords = models.JSONField(
        default=list, blank=True, editable=False, help_text="The words of a message by which it is found."
    )
    status = StateField(max_length=10, choices=Status.choices, default=Status.APPROVED)
    approved_by = models.CharField(max_length=200, editable=False)
    approved_at = models.DateTimeField(editable=False)

    noun = "example"
    # The keywords are derived from the situation.
    unrecorded = Governed.unrecorded | {"keywords"}
    objects = ExampleQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "lesson"],
                condition=models.Q(status="approved"),
                name="lesson_has_one_approved_example",
                violation_error_message="This lesson is an example already. Retire that one to keep other words.",
            ),
            models.CheckConstraint(
                condition=~models.Q(situation="") & ~models.Q(draft="") & ~models.Q(correction=""),
                name="example_has_situation_draft_and_correction",
            ),
            models.CheckConstraint(condition=~models.Q(approved_by=""), name="example_names_its_approver"),
        ]

    def __str__(self) -> str:
        return f"Example {self.pk}"

    @transition(field=status, source=Status.APPROVED, target=Status.RETIRED)
    def retire(self) -> None:
        """Retire the example, so that no turn that begins later uses it."""


__all__ = ["EditCluster", "EditClusterCase", "Example", "LearningVersion", "Lesson", "LessonCase"]

MEMBERS_SHOWN: Final = 50


class Lesson(models.Model):
    """A situation, the problem and the correction; personal data is masked (R151)."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    situation = models.TextField()
    problem = models.TextField()
    correction = models.TextField(blank=True)
    source = models.CharField("first seen when", max_length=20, choices=rules.SOURCES)
    dedup_key = models.CharField(max_length=64)
    support_count = models.PositiveIntegerField("cases", default=1)
    confidence = models.FloatField()
    last_seen_at = models.DateTimeField()
    last_case_recorded_at = models.DateTimeField(help_text="When the latest case was recorded.")
    # Lessons stay digested after their version is pruned, so the database has no foreign key here.
    learning_version = models.ForeignKey(
        "LearningVersion", null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["-support_count", "-last_seen_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "agent", "dedup_key"], name="lesson_is_unique_per_agent"),
            models.CheckConstraint(
                condition=models.Q(confidence__gt=0, confidence__lt=1), name="lesson_confidence_is_between_zero_and_one"
            ),
            models.CheckConstraint(condition=models.Q(support_count__gt=0), name="lesson_has_a_case"),
        ]

    def __str__(self) -> str:
        return f"Lesson {self.pk}"

    @property
    def value(self) -> rules.LessonValue:
        """Return the lesson as a value for the rules."""
        return rules.LessonValue(
            self.pk,
            self.situation,
            self.problem,
            self.correction,
            self.support_count,
            self.confidence,
            self.last_seen_at,
            self.learning_version_id is not None,
        )

    @property
    def is_promotable(self) -> bool:
        """Return whether a digest may read the lesson (R155)."""
        return rules.is_promotable(self.value)


class LessonCase(models.Model):
    """One settled draft, question, turn, proposal or report, and the lesson learned from it, if any."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    lesson = models.ForeignKey(Lesson, null=True, on_delete=models.PROTECT, related_name="cases")
    source = models.CharField(max_length=20, choices=rules.SOURCES)
    source_id = models.BigIntegerField(
        help_text="The id of the draft, escalation, turn, proposal, learning version or report."
    )
    conversation = models.ForeignKey(
        "conversations.Conversation", null=True, on_delete=models.PROTECT, related_name="+"
    )
    no_lesson_reason = models.TextField(blank=True, help_text="Why there is no lesson, if there is none.")
    happened_at = models.DateTimeField()
    recorded_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "source", "source_id"], name="source_has_one_lesson_case"),
            models.CheckConstraint(
                condition=models.Q(lesson__isnull=False, no_lesson_reason="")
                | models.Q(lesson__isnull=True) & ~models.Q(no_lesson_reason=""),
                name="case_has_a_lesson_or_says_why_not",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_source_display()} ({self.source_id})"


class LearningVersionQuerySet(GovernedQuerySet["LearningVersion"]):
    """Queryset filters for learning versions."""

    def of_agent(self, agent_id: int) -> Self:
        """Learning versions of one agent."""
        return self.filter(agent=agent_id)

    def active(self) -> Self:
        """Versions that new conversations read."""
        return self.filter(status=LearningVersion.Status.ACTIVE)

    def pending(self) -> Self:
        """Versions that await review."""
        return self.filter(status=LearningVersion.Status.PENDING)


class LearningVersion(Governed):
    """The bullets that an agent has learned from corrections: never reworded, at most one active version per agent (R144)."""

    class Status(models.TextChoices):
        """The status: a retired version may be activated again; a rejected or withdrawn one may not."""

        PENDING = "pending", "Waits for a person"
        ACTIVE = "active"
        RETIRED = "retired"
        REJECTED = "rejected"
        WITHDRAWN = "withdrawn"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    number = models.PositiveIntegerField(editable=False)
    # The previous version may be pruned, so the database has no foreign key here.
    previous_version = models.ForeignKey(
        "self", null=True, editable=False, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    body = models.TextField(editable=False)
    change_summary = models.TextField(editable=False)
    lesson_ids = models.JSONField(default=list, editable=False, help_text="The lessons that support it.")
    status = StateField(max_length=10, choices=Status.choices, default=Status.PENDING)
    approved_by = models.CharField(max_length=200, blank=True, editable=False)
    approved_at = models.DateTimeField(null=True, editable=False)

    noun = "learning_version"
    objects = LearningVersionQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent"],
                condition=models.Q(status="active"),
                name="agent_reads_one_learning_version",
                violation_error_message="Another version of this agent became active meanwhile. Reload and decide again.",
            ),
            models.UniqueConstraint(fields=["tenant", "agent", "number"], name="learning_versions_are_numbered"),
            models.CheckConstraint(condition=~models.Q(body=""), name="learning_version_has_a_body"),
            models.CheckConstraint(
                condition=models.Q(approved_by="", approved_at__isnull=True)
                | ~models.Q(approved_by="") & models.Q(approved_at__isnull=False),
                name="approved_learning_version_says_when",
            ),
        ]

    def __str__(self) -> str:
        return f"Version {self.number}"

    @property
    def is_usable(self) -> bool:
        """Return whether agents read the version, or could read it after a person's decision."""
        return self.status in {self.Status.PENDING, self.Status.ACTIVE, self.Status.RETIRED}

    @transition(field=status, source=Status.PENDING, target=Status.ACTIVE)
    def activate(self) -> None:
        """Activate the version after a person approved it."""

    @transition(field=status, source=Status.PENDING, target=Status.ACTIVE)
    def apply(self) -> None:
        """Activate the version without review, as the tenant's settings allow for versions that pass the checks."""

    @transition(field=status, source=Status.PENDING, target=Status.REJECTED)
    def reject(self) -> None:
        """Reject the version after a person's review."""

    @transition(field=status, source=Status.ACTIVE, target=Status.RETIRED)
    def retire(self) -> None:
        """Retire the version: new conversations read another version or none."""

    @transition(field=status, source=Status.RETIRED, target=Status.ACTIVE)
    def restore(self) -> None:
        """Activate a retired version again at a person's request."""

    @transition(field=status, source=[Status.ACTIVE, Status.RETIRED], target=Status.WITHDRAWN)
    def withdraw(self) -> None:
        """Withdraw the version for good: no conversation reads it any more, not even one that began with it."""


class EditClusterQuerySet(GovernedQuerySet["EditCluster"]):
    """Queryset filters for edit clusters."""

    def of_agent(self, agent_id: int) -> Self:
        """Clusters of one agent."""
        return self.filter(agent=agent_id)

    def counted(self) -> Self:
        """Annotate the number of drafts as `support`, and the times of the first and last as `first_seen_at`, `last_seen_at`."""
        at = "members__case__happened_at"
        return self.annotate(support=models.Count("members"), first_seen_at=models.Min(at), last_seen_at=models.Max(at))


class EditCluster(Governed):
    """One recurring edit in an agent's drafts; its key identifies the row as the cluster grows (R138)."""

    class Status(models.TextChoices):
        """The status: what people have decided about the cluster."""

        OPEN = "open"
        PROPOSED = "proposed"
        DISMISSED = "dismissed"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    key = models.TextField(editable=False, help_text="The words of the change, masked.")
    key_sha256 = models.CharField(max_length=64, editable=False)
    category = models.CharField(
        max_length=60, editable=False, help_text="The kind and the topic of the change, as codes."
    )
    removed_text = models.TextField(blank=True, editable=False)
    added_text = models.TextField(blank=True, editable=False)
    status = StateField(max_length=10, choices=Status.choices, default=Status.OPEN)
    dismissal_reason = models.TextField("why it is dismissed", blank=True)
    count_at_dismissal = models.PositiveIntegerField(default=0, editable=False)
    proposal_id = models.BigIntegerField(null=True, editable=False)
    decided_by = models.CharField(max_length=200, blank=True, editable=False)
    decided_at = models.DateTimeField(null=True, editable=False)

    noun = "edit_cluster"
    objects = EditClusterQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "agent", "key_sha256"], name="edit_cluster_is_unique_per_agent"),
            models.CheckConstraint(
                condition=~models.Q(status="dismissed") | ~models.Q(dismissal_reason=""),
                name="dismissed_edit_cluster_says_why",
            ),
            models.CheckConstraint(
                condition=~models.Q(status="proposed") | models.Q(proposal_id__isnull=False),
                name="proposed_edit_cluster_names_its_proposal",
            ),
            models.CheckConstraint(
                condition=models.Q(status="open") | ~models.Q(decided_by=""),
                name="decided_edit_cluster_names_who_decided",
            ),
        ]

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """Return the change as a sentence of fixed phrases."""
        return describe_category(self.category)

    @property
    def latest_members(self) -> "models.QuerySet[EditClusterCase]":
        """Return the latest drafts with this edit, up to the number displayed."""
        return self.members.select_related("case__lesson")[:MEMBERS_SHOWN]

    @property
    def rule(self) -> str:
        """Return the rule that one click proposes; empty if a person has to write the rule."""
        return suggested_rule(self.category)

    @transition(field=status, source=Status.OPEN, target=Status.PROPOSED)
    def propose(self) -> None:
        """Mark the cluster as proposed: its rule awaits review."""

    @transition(field=status, source=Status.OPEN, target=Status.DISMISSED)
    def dismiss(self) -> None:
        """Dismiss the cluster: there is nothing to learn from it."""

    @transition(field=status, source=[Status.PROPOSED, Status.DISMISSED], target=Status.OPEN)
    def reopen(self) -> None:
        """Reopen the cluster for a new decision."""


class EditClusterCase(models.Model):
    """A case counted for a cluster; each draft counts once."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    cluster = models.ForeignKey(EditCluster, on_delete=models.PROTECT, related_name="members")
    case = models.ForeignKey(LessonCase, on_delete=models.PROTECT, related_name="+")
    recorded_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "cluster", "case"], name="draft_counts_once_for_a_cluster"),
        ]

    def __str__(self) -> str:
        return f"Case {self.case_id} of cluster {self.cluster_id}"
