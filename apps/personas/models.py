"""The persona: slot 1 of every prompt of an agent."""

from typing import ClassVar

from django.core.validators import MaxLengthValidator
from django.db import models
from django_fsm import FSMField, transition

from apps.governance.guard import GovernedQuerySet
from apps.governance.models import Governed
from apps.governance.text import content_sha256, plain_text

SECTION_CHARACTERS = 20_000
SECTIONS = ("identity", "style", "avoid", "defaults")


def _section(help_text: str) -> "models.TextField[str, str]":
    return models.TextField(
        blank=True, validators=[plain_text, MaxLengthValidator(SECTION_CHARACTERS)], help_text=help_text
    )


class PersonaQuerySet(GovernedQuerySet["Persona"]):
    """Which personas a prompt may carry."""

    def active(self) -> "PersonaQuerySet":
        """Rendered into prompts (R027)."""
        return self.filter(status=Persona.Status.ACTIVE)


class Persona(Governed):
    """Identity and brand voice of one agent, written by people only; the agent may propose a patch (R025-R030)."""

    class Status(models.TextChoices):
        """Only an active persona is rendered."""

        ACTIVE = "active"
        ARCHIVED = "archived"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    identity = _section("First person: “You are Ada, the support agent for Acme.”")
    style = _section("Tone, length, vocabulary.")
    avoid = _section("Hard don'ts: compliance and brand.")
    defaults = _section("Background assumptions.")
    status = FSMField(max_length=10, choices=Status.choices, default=Status.ACTIVE, protected=True)

    objects = PersonaQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["agent__key"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent"],
                name="agent_has_one_persona",
                violation_error_message="This agent has a persona already; amend that one.",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=["active", "archived"]), name="persona_is_active_or_archived"
            ),
        ]

    def __str__(self) -> str:
        return f"Persona of agent {self.agent_id}"

    @property
    def sha256(self) -> str:
        """The hash a proposal is bound to: it changes when any section does."""
        return content_sha256(*(getattr(self, name) for name in SECTIONS))

    @transition(field=status, source=Status.ACTIVE, target=Status.ARCHIVED)
    def archive(self) -> None:
        """Future sessions get the default prompt."""

    @transition(field=status, source=Status.ARCHIVED, target=Status.ACTIVE)
    def activate(self) -> None:
        """Future sessions get this persona again."""
