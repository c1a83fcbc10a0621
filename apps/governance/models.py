"""The governed base row, the record of every change, and the proposal that waits for a person."""

from typing import Any, ClassVar, Self

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django_fsm import FSMField, FSMModelMixin, transition

from apps.governance.guard import GovernedQuerySet, refuse_ungoverned
from apps.governance.policy import Act


class Taint(models.TextChoices):
    """Whose words a row carries; the join of two is the later in this list."""

    OPERATOR = "operator"
    AGENT = "agent"
    TOOL_DERIVED = "tool-derived"
    CUSTOMER_DERIVED = "customer-derived"
    IMPORTED = "imported"

    @classmethod
    def joined(cls, *taints: str) -> "Taint":
        """Whose words a row carries that was made of several."""
        return max(map(cls, taints), key=list(cls).index)


class Governed(FSMModelMixin, models.Model):
    """A tenant's row that only acts may write. Version and time of change are stamped by the database."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    version = models.PositiveIntegerField(default=1, editable=False)
    taint = models.CharField(max_length=20, choices=Taint.choices, default=Taint.OPERATOR, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now_add=True)

    # What the acts on these rows are named after in the policy.
    noun: ClassVar[str] = ""
    # Fields no change record keeps a copy of: stamped by the database, or secret.
    unrecorded: ClassVar[frozenset[str]] = frozenset({"version", "updated_at", "created_at"})
    # Fields that triggers fill in, read back after each write.
    stamped: ClassVar[tuple[str, ...]] = ()
    # Rows named by a customer's address are called by their number in records, which outlive an erasure.
    named_by_customer: ClassVar[bool] = False

    class Meta:
        abstract = True
        # Related managers write through the base manager; it must be the guarded one.
        base_manager_name = "objects"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refused outside an act."""
        refuse_ungoverned(type(self))
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refused outside an act."""
        refuse_ungoverned(type(self))
        return super().delete(*args, **kwargs)

    @property
    def agent_concerned(self) -> int | None:
        """The agent the row belongs to, whose grants decide; None where it is the whole tenant's."""
        agent_id: int | None = getattr(self, "agent_id", None)
        return agent_id


class ChangeRecord(models.Model):
    """One governed write: who, which act, on what, from which version to which, and why. Append-only."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    act = models.CharField(max_length=40, choices=[(act.value, act.value) for act in Act])
    subject_type = models.CharField(max_length=60)
    subject_id = models.BigIntegerField()
    subject_label = models.CharField(max_length=200)
    actor_role = models.CharField(max_length=20)
    actor_label = models.CharField(max_length=200)
    actor_user_id = models.BigIntegerField(null=True)
    agent_id = models.BigIntegerField(null=True)
    version_before = models.PositiveIntegerField()
    version_after = models.PositiveIntegerField()
    evidence = models.JSONField(default=dict)
    taint = models.CharField(max_length=20, choices=Taint.choices)
    text_sha256 = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "subject_type", "subject_id", "-id"], name="change_by_subject")
        ]

    def __str__(self) -> str:
        return f"{self.act} by {self.actor_label}"


class ChangeText(models.Model):
    """The words of a change, apart from its record so that erasure can remove them; salted so the hash tells nothing."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    record = models.OneToOneField(ChangeRecord, on_delete=models.PROTECT, related_name="text")
    salt = models.CharField(max_length=32)
    before = models.JSONField(encoder=DjangoJSONEncoder)
    after = models.JSONField(encoder=DjangoJSONEncoder)
    reason = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"Text of change {self.record_id}"


class Refusal(models.Model):
    """One attempt that was refused: who, what, and the sentence it was refused with. Append-only."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    act = models.CharField(max_length=40, blank=True, choices=[(act.value, act.value) for act in Act])
    code = models.CharField(max_length=40)
    sentence = models.CharField(max_length=500)
    subject_type = models.CharField(max_length=60, blank=True)
    subject_id = models.BigIntegerField(null=True)
    actor_role = models.CharField(max_length=20)
    actor_label = models.CharField(max_length=200)
    actor_user_id = models.BigIntegerField(null=True)
    agent_id = models.BigIntegerField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["tenant", "-id"], name="refusal_newest_first")]

    def __str__(self) -> str:
        return f"{self.act or 'Something'} refused to {self.actor_label}"


class AuditLink(models.Model):
    """One link of a tenant's audit chain: the hash of an entry of its books, and of the link before. The database writes it."""

    class EntryType(models.TextChoices):
        """Which book the entry stands in."""

        CHANGE = "change"
        REFUSAL = "refusal"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    position = models.BigIntegerField()
    entry_type = models.CharField(max_length=10, choices=EntryType.choices)
    entry_id = models.BigIntegerField()
    entry_sha256 = models.CharField(max_length=64)
    previous_sha256 = models.CharField(max_length=64, blank=True)
    sha256 = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "position"], name="one_link_per_position"),
            models.UniqueConstraint(fields=["tenant", "entry_type", "entry_id"], name="one_link_per_entry"),
        ]

    def __str__(self) -> str:
        return f"Link {self.position} of the audit chain"


class AuditCheck(models.Model):
    """One verification of a tenant's audit chain: how far it reached, what stood there, and how much was wrong."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    position = models.BigIntegerField()
    sha256 = models.CharField(max_length=64, blank=True)
    finding_count = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"Verification of the audit chain up to link {self.position}"


class ProposalQuerySet(GovernedQuerySet["Proposal"]):
    """Adjectives for proposals."""

    def open(self) -> Self:
        """Those that wait for a person."""
        return self.filter(state=Proposal.State.OPEN)

    def about(self, target: Governed) -> Self:
        """Those that would change this row."""
        return self.filter(target_type=target._meta.label_lower, target_id=target.pk)


class Proposal(Governed):
    """A change an agent may not make itself: the same content, waiting for a person, bound to what it was read from."""

    class Kind(models.TextChoices):
        """What would change if a person says yes."""

        PERSONA_PATCH = "persona.patch", "Persona patch"
        SKILL_REVISION = "skill.revision", "Skill revision"
        SKILL_DEPRECATION = "skill.deprecation", "Skill deprecation"

    class State(models.TextChoices):
        """Where the proposal is on its way."""

        OPEN = "open"
        APPLIED = "applied"
        REJECTED = "rejected"

    kind = models.CharField(max_length=30, choices=Kind.choices)
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    target_type = models.CharField(max_length=60)
    target_id = models.BigIntegerField()
    target_label = models.CharField(max_length=200)
    base_sha256 = models.CharField(max_length=64)
    content = models.JSONField(blank=True)
    rationale = models.TextField(blank=True)
    evidence = models.JSONField(default=dict, blank=True)
    support_count = models.PositiveIntegerField(default=1)
    proposed_by = models.CharField(max_length=200)
    state = FSMField(max_length=12, choices=State.choices, default=State.OPEN, protected=True)
    decided_by = models.CharField(max_length=200, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_reason = models.TextField(blank=True)

    noun = "proposal"
    objects = ProposalQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "target_type", "target_id", "kind"],
                condition=models.Q(state="open"),
                name="one_open_proposal_per_target_and_kind",
                violation_error_message="There is an open proposal for this already; revise it.",
            ),
            models.CheckConstraint(
                condition=models.Q(state="open") | ~models.Q(decided_by=""), name="decided_proposal_names_who_decided"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} for {self.target_label}"

    @property
    def authorship(self) -> dict[str, int | str]:
        """What the record of the applied change keeps: whoever signs for the words did not write them."""
        return {"proposal_id": self.pk, "proposed_by": self.proposed_by}

    @transition(field=state, source=State.OPEN, target=State.APPLIED)
    def apply(self) -> None:
        """A person said yes and the change is made."""

    @transition(field=state, source=State.OPEN, target=State.REJECTED)
    def reject(self) -> None:
        """A person said no."""
