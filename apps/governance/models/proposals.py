"""Proposals that await a person's decision, and the journal of approvals."""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Self

from django.db import models
from django.db.models.functions import Now
from django.db.models.lookups import IsNull
from django.utils import timezone
from django_fsm import transition

from apps.governance.models.base import Governed, GovernedQuerySet, StateField
from apps.governance.policy.risk_tiers import RiskTier

CLAIM_DURATION = timedelta(minutes=30)
RISK_CHOICES: Final = [(tier.value, tier.value) for tier in RiskTier]
# Marks transitions that cannot be requested by the name of the target state, because each has its own act.
HAS_OWN_ACT: Final = {"by_name": False}


class ProposalQuerySet(GovernedQuerySet["Proposal"]):
    """Filters for proposals."""

    def open(self) -> Self:
        """Return the proposals that await a decision, including snoozed ones, by the database's clock."""
        return self.filter(open_condition(Now()))

    def unclosed(self) -> Self:
        """Return the open proposals, and those whose time has run out and that the hourly sweep has not yet marked as expired.

        Each of them prevents a second proposal of its kind about the same row.
        """
        return self.filter(state=Proposal.State.OPEN)

    def waiting(self, now: datetime) -> Self:
        """Return the open proposals that are not snoozed."""
        return self.filter(waiting_condition(now))

    def about(self, target: Governed) -> Self:
        """Return the proposals that would change this row."""
        return self.filter(target_type=target._meta.label_lower, target_id=target.pk)


class Proposal(Governed):
    """A proposed change that needs a person's approval, bound to the text that the proposer read."""

    class Kind(models.TextChoices):
        """The kind of change that an approval makes."""

        PERSONA_PATCH = "persona.patch", "Persona patch"
        PERSONA_FIELDS = "persona.fields", "Persona sections"
        SKILL_NEW = "skill.new", "New skill"
        SKILL_REVISION = "skill.revision", "Skill revision"
        SKILL_DEPRECATION = "skill.deprecation", "Skill deprecation"
        MEMORY_LINES = "memory.lines", "New memory lines"
        MEMORY_BODY = "memory.body", "Memory"
        BLOCK_LINES = "block.lines", "New memory block lines"
        BLOCK_BODY = "block.body", "Memory block"
        PROFILE_CHANGE = "profile.change", "Customer profile"
        RULE_LINES = "rule.lines", "New rules"
        RULE_CHANGE = "rule.change", "Change of a rule"

    class State(models.TextChoices):
        """The state of a proposal. Every state can return to open; an applied proposal can only within a minute."""

        OPEN = "open"
        APPLIED = "applied"
        REJECTED = "rejected"
        EXPIRED = "expired"
        QUARANTINED = "quarantined"

    class Reason(models.TextChoices):
        """Why a proposal was rejected, as a code that the agent can learn from."""

        WRONG = "wrong", "Wrong"
        DUPLICATE = "duplicate", "Says what is there already"
        UNSAFE = "unsafe", "Unsafe"
        AGAINST_POLICY = "against_policy", "Against policy"
        NOT_USEFUL = "not_useful", "Not useful"
        WRONG_TONE = "wrong_tone", "Wrong tone"
        OTHER = "other", "Other"

    kind = models.CharField(max_length=30, choices=Kind.choices)
    # Null if a person proposes a rule for the whole organisation, which belongs to no single agent.
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+", null=True, blank=True)
    target_type = models.CharField(max_length=60)
    target_id = models.BigIntegerField()
    target_label = models.CharField(max_length=200)
    base_version = models.PositiveIntegerField(default=0)
    base_sha256 = models.CharField(max_length=64)
    base_content = models.JSONField(default=dict, blank=True)
    content = models.JSONField(blank=True)
    edited_content = models.JSONField(null=True, blank=True)
    edited_by = models.CharField(max_length=200, blank=True)
    edited_by_id = models.BigIntegerField(null=True, blank=True)
    content_sha256 = models.CharField(max_length=64, editable=False, default="")
    risk = models.CharField(max_length=10, choices=RISK_CHOICES, default=RiskTier.LOW.value)
    rationale = models.TextField(blank=True)
    evidence = models.JSONField(default=dict, blank=True)
    support_count = models.PositiveIntegerField(default=1)
    proposed_by = models.CharField(max_length=200)
    proposers = models.JSONField(default=list, blank=True)
    state = StateField(max_length=12, choices=State.choices, default=State.OPEN)
    # Incremented at each reopening, so that an earlier approval does not count for the new round.
    round = models.PositiveIntegerField(default=1, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)
    claimed_by = models.CharField(max_length=200, blank=True)
    claimed_by_id = models.BigIntegerField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    revision_request = models.TextField(blank=True)
    approval_count = models.PositiveIntegerField(default=0)
    replaced_values = models.JSONField(default=dict, blank=True)
    decided_by = models.CharField(max_length=200, blank=True)
    decided_by_id = models.BigIntegerField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_reason = models.TextField(blank=True)
    reason_code = models.CharField(max_length=20, choices=Reason.choices, blank=True)
    quarantine_reason = models.TextField(blank=True)

    unrecorded = Governed.unrecorded | {"content_sha256", "round", "decided_at"}
    stamped = ("content_sha256", "round", "decided_at")

    noun = "proposal"
    objects = ProposalQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            # An agent cannot see a person's proposal for the whole organisation, so that proposal must not block the agent's own.
            models.UniqueConstraint(
                models.F("tenant"),
                models.F("target_type"),
                models.F("target_id"),
                models.F("kind"),
                IsNull(models.F("agent"), rhs=True),
                condition=models.Q(state="open"),
                name="one_open_proposal_per_target_and_kind",
                violation_error_message="There is an open proposal for this already; revise it.",
            ),
            models.CheckConstraint(
                condition=models.Q(state="open") | ~models.Q(decided_by=""), name="decided_proposal_names_who_decided"
            ),
            models.CheckConstraint(
                condition=~models.Q(state="quarantined") | ~models.Q(quarantine_reason=""),
                name="quarantined_proposal_says_why",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "state", "id"], name="proposal_by_state"),
            models.Index(
                fields=["tenant", "decided_at"],
                condition=models.Q(decided_at__isnull=False),
                name="proposal_by_decision",
            ),
            models.Index(fields=["expires_at"], condition=models.Q(state="open"), name="open_proposal_expiry"),
            models.Index(fields=["decided_at"], condition=models.Q(state="rejected"), name="proposal_rejected_lately"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} for {self.target_label}"

    @property
    def words(self) -> Any:  # Any: the content depends on the kind
        """The content that an approval would apply: the reviewer's edit if there is one, else the proposer's content."""
        return self.content if self.edited_content is None else self.edited_content

    @property
    def is_edited(self) -> bool:
        """Whether a reviewer changed the proposer's words."""
        return self.edited_content is not None

    @property
    def authorship(self) -> dict[str, int | str]:
        """Evidence for the change record of the applied change, which names the proposer; the record's actor only approved."""
        return {"proposal_id": self.pk, "proposed_by": self.proposed_by}

    def claim_stands(self, now: datetime) -> bool:
        """Whether the claim on the proposal has not lapsed yet (`CLAIM_DURATION`)."""
        return self.claimed_at is not None and now - self.claimed_at < CLAIM_DURATION

    def has_run_out(self, now: datetime) -> bool:
        """Whether the time for a decision is over, even if the hourly sweep has not yet marked the proposal as expired."""
        return self.state == self.State.OPEN and self.expires_at is not None and self.expires_at <= now

    @property
    def current_state(self) -> State:
        """The state that people and agents see. A proposal whose time has run out is expired, also before the hourly sweep."""
        return self.State.EXPIRED if self.has_run_out(timezone.now()) else self.State(self.state)

    @property
    def is_open(self) -> bool:
        """Whether the proposal still awaits a decision."""
        return self.current_state == self.State.OPEN

    @transition(field=state, source=State.OPEN, target=State.APPLIED)
    def apply(self) -> None:
        """Mark the proposal as applied. The caller makes the change in the same transaction."""

    @transition(field=state, source=State.OPEN, target=State.REJECTED)
    def reject(self) -> None:
        """Mark the proposal as rejected by a person."""

    @transition(field=state, source=State.OPEN, target=State.EXPIRED, custom=HAS_OWN_ACT)
    def expire(self) -> None:
        """Close the proposal because its time for a decision ran out. A person may reopen it."""

    @transition(field=state, source=State.OPEN, target=State.QUARANTINED)
    def quarantine(self) -> None:
        """Block all decisions on the proposal until a person releases it."""

    @transition(
        field=state, source=[State.REJECTED, State.EXPIRED, State.QUARANTINED, State.APPLIED], target=State.OPEN
    )
    def reopen(self) -> None:
        """Reopen the proposal. The database refuses this for a proposal that was applied more than a minute ago."""


def open_condition(now: datetime | Now) -> models.Q:
    """Return the condition for proposals that await a decision, including snoozed ones."""
    in_time = models.Q(expires_at=None) | models.Q(expires_at__gt=now)
    return models.Q(state=Proposal.State.OPEN) & in_time


def waiting_condition(now: datetime) -> models.Q:
    """Return the condition for open proposals that are not snoozed."""
    return open_condition(now) & (models.Q(snoozed_until=None) | models.Q(snoozed_until__lte=now))


def expired_condition(now: datetime) -> models.Q:
    """Return the condition for expired proposals and for those whose time has run out since the last sweep."""
    run_out = models.Q(state=Proposal.State.OPEN, expires_at__lte=now)
    return models.Q(state=Proposal.State.EXPIRED) | run_out


class Approval(models.Model):
    """One reviewer's approval of the proposal's exact bytes. Append-only."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    # The database refuses the deletion. Django's own check would read approvals, which an agent that withdraws its proposal may
    # not.
    proposal = models.ForeignKey(Proposal, on_delete=models.DO_NOTHING, related_name="approvals")
    user_id = models.BigIntegerField()
    user_label = models.CharField(max_length=200)
    content_sha256 = models.CharField(max_length=64)
    is_edited = models.BooleanField(default=False)
    is_self_approval = models.BooleanField(default=False)
    confirmed_findings = models.JSONField(default=list, blank=True)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "proposal", "user_id", "content_sha256"], name="reviewer_approves_the_same_bytes_once"
            ),
        ]

    def __str__(self) -> str:
        return f"Approval of proposal {self.proposal_id} by {self.user_label}"
