"""The skill: a runbook whose name and one-liner stand in slot 3, and whose body is fetched on demand."""

from typing import ClassVar, Self

from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
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
    """Adjectives for skills."""

    def approved(self) -> Self:
        """What customers may be served by (R095)."""
        return self.filter(status=Skill.Status.APPROVED, quarantined_at=None)

    def drafts(self) -> Self:
        """What waits for a person."""
        return self.filter(status=Skill.Status.DRAFT)

    def for_agent(self, agent_id: int) -> Self:
        """One agent's skills."""
        return self.filter(agent_id=agent_id)


class Skill(Governed):
    """A procedure an agent drafted, or a person wrote, and a person approved byte for byte (R090-R098)."""

    class Status(models.TextChoices):
        """Deprecated is terminal: a fresh skill is the way back (R092)."""

        DRAFT = "draft"
        APPROVED = "approved"
        DEPRECATED = "deprecated"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=NAME_CHARACTERS, validators=[RegexValidator(NAME_PATTERN, NAME_RULE)])
    title = models.CharField(max_length=TITLE_CHARACTERS, validators=[validate_storable_text])
    description = models.CharField(max_length=DESCRIPTION_CHARACTERS, validators=[validate_storable_text])
    category = models.CharField(max_length=60, blank=True, validators=[validate_storable_text])
    body = models.TextField(validators=[validate_storable_text, MaxLengthValidator(BODY_CHARACTERS)])
    # The files in their order, each as `Attachment`; their bytes lie in the store.
    attachments = models.JSONField(
        default=list, db_default=models.Value([], models.JSONField()), blank=True, editable=False
    )
    # What the open format says of an imported skill and nothing here uses, as canonical JSON; written when it is born.
    front_matter = models.TextField(
        blank=True, default="", db_default="", editable=False, validators=[validate_storable_text]
    )
    status = StateField(max_length=12, choices=Status.choices, default=Status.DRAFT)
    drafted_by = models.CharField(max_length=200, editable=False)
    content_sha256 = models.CharField(max_length=64, editable=False, default="")
    approved_sha256 = models.CharField(max_length=64, editable=False, blank=True)
    approved_by = models.CharField(max_length=200, editable=False, blank=True)
    approved_at = models.DateTimeField(null=True, editable=False)
    # Until then nobody is asked whether to retire it.
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
            models.CheckConstraint(
                condition=models.Q(quarantined_at=None, quarantined_by="", quarantine_reason="")
                | (
                    models.Q(quarantined_at__isnull=False)
                    & ~models.Q(quarantined_by="")
                    & ~models.Q(quarantine_reason="")
                ),
                name="quarantined_skill_says_who_and_why",
            ),
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
        """The hash of what a customer would be served by, as it stands in memory."""
        files = (part for file in self.files for part in (file.name, file.media_type, file.sha256))
        kept = [self.front_matter] if self.front_matter else []
        return content_sha256(self.name, self.title, self.description, self.body, *files, *kept)

    @property
    def files(self) -> tuple[Attachment, ...]:
        """The attachments in their order; the first is what a client that knows one attachment sees (Z-20)."""
        return tuple(Attachment(**file) for file in self.attachments)

    def file_named(self, name: str) -> Attachment | None:
        """The attachment of this name, in whatever case it is asked for."""
        return next((file for file in self.files if file.name.casefold() == name.casefold()), None)

    @property
    def is_quarantined(self) -> bool:
        """Whether a person keeps it from everybody; nothing about it is decided until one releases it."""
        return self.quarantined_at is not None

    @property
    def texts(self) -> dict[str, str]:
        """What a reviewer reads."""
        return {name: getattr(self, name) for name in TEXT_FIELDS}

    @transition(field=status, source=Status.DRAFT, target=Status.APPROVED)
    def approve(self) -> None:
        """It enters the index of the next session."""

    # Not a state to ask for: an undo leads there and nothing else.
    @transition(field=status, source=Status.APPROVED, target=Status.DRAFT, custom={"by_name": False})
    def take_back(self) -> None:
        """A yes is taken back within the minute; the database refuses it later."""

    @transition(field=status, source=[Status.DRAFT, Status.APPROVED], target=Status.DEPRECATED)
    def deprecate(self) -> None:
        """It leaves the index of the next session, for good."""


class SkillUse(models.Model):
    """How often a skill was fetched while approved: a counter beside the skill, so that counting changes no version."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    skill = models.OneToOneField(Skill, on_delete=models.PROTECT, related_name="use")
    use_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.use_count} uses of skill {self.skill_id}"
