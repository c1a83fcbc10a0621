"""Models of the kernel: change records and their texts, proposals and approvals."""

from typing import ClassVar

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from apps.governance.models.base import Governed, Taint
from apps.governance.models.proposals import Approval, Proposal, ProposalQuerySet
from apps.governance.policy.policy_table import Act

__all__ = [
    "Approval",
    "AuditCheck",
    "AuditLink",
    "ChangeRecord",
    "ChangeText",
    "Governed",
    "Proposal",
    "ProposalQuerySet",
    "Refusal",
    "Taint",
]


class ChangeRecord(models.Model):
    """One governed write: the actor, the act, the row, its versions before and after, and the reason. Append-only."""

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
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "subject_type", "subject_id", "-id"], name="change_by_subject"),
            models.Index(fields=["tenant", "act", "created_at"], name="change_by_act_and_time"),
        ]

    def __str__(self) -> str:
        return f"{self.act} by {self.actor_label}"


class ChangeText(models.Model):
    """The text of a change.

    It has its own table so that erasure can remove it; a salt keeps its hash from disclosing anything.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    record = models.OneToOneField(ChangeRecord, on_delete=models.PROTECT, related_name="text")
    salt = models.CharField(max_length=32)
    before = models.JSONField(encoder=DjangoJSONEncoder)
    after = models.JSONField(encoder=DjangoJSONEncoder)
    reason = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"Text of change {self.record_id}"


class Refusal(models.Model):
    """One refused attempt: actor, act, subject, and the message of the refusal. Append-only."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    act = models.CharField(max_length=40, blank=True, choices=[(act.value, act.value) for act in Act])
    code = models.CharField(max_length=40)
    detail = models.CharField(max_length=500)
    subject_type = models.CharField(max_length=60, blank=True)
    subject_id = models.BigIntegerField(null=True)
    actor_role = models.CharField(max_length=20)
    actor_label = models.CharField(max_length=200)
    actor_user_id = models.BigIntegerField(null=True)
    agent_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "-id"], name="refusal_newest_first"),
            models.Index(fields=["tenant", "created_at"], name="refusal_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.act or 'Something'} refused to {self.actor_label}"


class AuditLink(models.Model):
    """One link of a tenant's audit chain: the hash of an entry and the hash of the previous link. The database writes it."""

    class EntryType(models.TextChoices):
        """The kind of the linked entry: a change record or a refusal."""

        CHANGE = "change"
        REFUSAL = "refusal"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    position = models.BigIntegerField()
    entry_type = models.CharField(max_length=10, choices=EntryType.choices)
    entry_id = models.BigIntegerField()
    entry_sha256 = models.CharField(max_length=64)
    previous_sha256 = models.CharField(max_length=64, blank=True)
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "position"], name="one_link_per_position"),
            models.UniqueConstraint(fields=["tenant", "entry_type", "entry_id"], name="one_link_per_entry"),
        ]

    def __str__(self) -> str:
        return f"Link {self.position} of the audit chain"


class AuditCheck(models.Model):
    """One verification of a tenant's audit chain: the last link, its hash, and the number of findings."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    position = models.BigIntegerField()
    sha256 = models.CharField(max_length=64, blank=True)
    finding_count = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"Verification of the audit chain up to link {self.position}"
