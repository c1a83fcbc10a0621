"""The skill model.

A skill is a runbook: slot 3 of the prompt lists its name and description, and agents fetch its body on demand.
"""

from typing import ClassVar, Self

from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.quarantine import quarantine_constraint
from apps.governance.stored_text import content_sha256, validate_storable_text
from apps.skills.skill_validation import (
    BODY_CHARACTERS,
    DESCRIPTION_CHARACTERS,
    NAME_CHARACTERS,
    NAME_PATTERN,
    NAME_RULE,
    TITLE_CHARACTERS,
    Attachment,
)

TEXT_FIELDS = ("name", "title", "description", "category", "body")


class SkillQuerySet(GovernedQuerySet["Skill"]):
    """Filters for skills."""

    def approved(self) -> Self:
        """Return the skills that may be used for customers (R095)."""
        return self.filter(status=Skill.Status.APPROVED, quarantined_at=None)

    def drafts(self) -> Self:
        """Return the skills that are drafts, which await approval."""
        return self.filter(status=Skill.Status.DRAFT)

    def for_agent(self, agent_id: int) -> Self:
        """Return one agent's skills."""
        return self.filter(agent_id=agent_id)


class Skill(Governed):
    """A procedure that an agent or a person drafted, used only after a person approved its exact bytes (R090-R098)."""

    class Status(models.TextChoices):
        """The state of a skill. Only a restore makes a deprecated skill a draft again (R092)."""

        DRAFT = "draft"
        APPROVED = "approved"
        DEPRECATED = "deprecated"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=NAME_CHARACTERS, validators=[RegexValidator(NAME_PATTERN, NAME_RULE)])
    title = models.CharField(max_length=TITLE_CHARACTERS, validators=[validate_storable_text])
    description = models.CharField(max_length=DESCRIPTION_CHARACTERS, validators=[validate_storable_text])
    category = models.CharField(max_length=60, blank=True, validators=[validate_storable_text])
    body = models.TextField(validators=[validate_storable_text, MaxLengthValidator(BODY_CHARACTERS)])
    # The files in order, each stored as an `Attachment`. Their bytes are in the blob store.
    attachments = models.JSONField(
        default=list, db_default=models.Value([], models.JSONField()), blank=True, editable=False
    )
    # Fields of an imported `SKILL.md` that the product does not use, as canonical JSON. Only the import writes them.
    front_matter = models.TextField(
        blank=True, default="", db_default="", editable=False, validators=[validate_storable_text]
    )
    status = StateField(max_length=12, choices=Status.choices, default=Status.DRAFT)
    drafted_by = models.CharField(max_length=200, editable=False)
    content_sha256 = models.CharField(max_length=64, editable=False, default="")
    approved_sha256 = models.CharField(max_length=64, editable=False, blank=True)
    approved_by = models.CharField(max_length=200, editable=False, blank=True)
    approved_at = models.DateTimeField(null=True, editable=False)
    # Until this moment, the skill is not suggested for retirement.
    retained_until = models.DateTimeField(null=True, editable=False)
    quarantined_at = models.DateTimeField(null=True, editable=False)
    quarantined_by = models.CharField(max_length=200, editable=False, blank=True)
    quarantine_reason = models.TextField(editable=False, blank=True, validators=[validate_storable_text])

    unrecorded = Governed.unrecorded | {"content_sha256"}
    stamped = ("content_sha256",)

    noun = "skill"
    objects = SkillQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "name"],
                name="skill_name_is_unique_for_its_agent",
                violation_error_message="This agent has a skill of that name already, in some state.",
            ),
            models.CheckConstraint(
                condition=models.Q(name__regex=NAME_PATTERN),
                name="skill_name_is_lower_case",
                violation_error_message=NAME_RULE,
            ),
            models.CheckConstraint(
                condition=~models.Q(status="approved") | ~models.Q(approved_by=""),
                name="approved_skill_names_its_approver",
            ),
            models.CheckConstraint(
                condition=~models.Q(status="approved") | models.Q(approved_sha256=models.F("content_sha256")),
                name="approved_skill_is_the_bytes_approved",
            ),
            quarantine_constraint("skill"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "status", "id"], name="skill_by_status"),
            models.Index(
                fields=["tenant", "agent", "name"], condition=models.Q(status="approved"), name="approved_skill_index"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def sha256(self) -> str:
        """The hash of the text, the files and the kept front matter, computed from this instance."""
        files = (part for file in self.files for part in (file.name, file.media_type, file.sha256))
        kept = [self.front_matter] if self.front_matter else []
        return content_sha256(self.name, self.title, self.description, self.body, *files, *kept)

    @property
    def files(self) -> tuple[Attachment, ...]:
        """The attachments in order. A client that supports only one attachment gets the first (Z-20)."""
        return tuple(Attachment(**file) for file in self.attachments)

    def file_named(self, name: str) -> Attachment | None:
        """Return the attachment with this name, ignoring case."""
        return next((file for file in self.files if file.name.casefold() == name.casefold()), None)

    @property
    def is_quarantined(self) -> bool:
        """Whether a person quarantined the skill. Nobody may decide on it until it is released."""
        return self.quarantined_at is not None

    @property
    def texts(self) -> dict[str, str]:
        """The text fields that a reviewer reads, by name."""
        return {name: getattr(self, name) for name in TEXT_FIELDS}

    @transition(field=status, source=Status.DRAFT, target=Status.APPROVED)
    def approve(self) -> None:
        """Approve the draft. From the next session on, the skill index lists it."""

    # Clients cannot request this state by name; only undoing an approval leads to it.
    @transition(field=status, source=Status.APPROVED, target=Status.DRAFT, custom={"by_name": False})
    def take_back(self) -> None:
        """Undo the approval. The database allows this only within a minute."""

    # Only a restore leads to this state, so clients cannot request it by name.
    @transition(field=status, source=Status.DEPRECATED, target=Status.DRAFT, custom={"by_name": False})
    def redraft(self) -> None:
        """Make a deprecated skill a draft again. The database allows this only for a skill that was approved before."""

    @transition(field=status, source=[Status.DRAFT, Status.APPROVED], target=Status.DEPRECATED)
    def deprecate(self) -> None:
        """Retire the skill. From the next session on, the skill index no longer lists it. Only a restore makes it a draft again."""


class SkillUse(models.Model):
    """The number of fetches of an approved skill. It has its own table, so that counting does not change the skill's version."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    skill = models.OneToOneField(Skill, on_delete=models.PROTECT, related_name="use")
    use_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.use_count} uses of skill {self.skill_id}"
