"""Models of persona, overlays and identity card (slot 1 of the prompt) and of rules (slot 2)."""

from typing import ClassVar, Self

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django_fsm import transition

from apps.governance.actors import Actor, Role
from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import content_sha256, validate_storable_text
from apps.personas.rules import (
    LINE_KEY_CHARACTERS,
    LOCALE_PATTERN,
    LOCALE_RULE,
    MEMBER_OVERLAY_CHARACTERS,
    NAME_CHARACTERS,
    PARAGRAPH_CHARACTERS,
    RULE_CHARACTERS,
    is_one_line,
)
from apps.tenants.models import validate_timezone

SECTION_CHARACTERS = 20_000
# The length of a label that begins a rule.
LABEL_CHARACTERS = 80
SECTIONS = ("identity", "style", "avoid", "defaults", "goals")
CARD_FIELDS = ("business_name", "assigned_name", "assigned_title", "hours", "timezone", "signature", "locale")


def validate_one_line(value: str) -> None:
    """Refuse characters that would split a line of the prompt in two."""
    if not is_one_line(value):
        raise ValidationError("Write this on one line, without tabs or line ends.")


def validate_not_blank(value: str) -> None:
    """Refuse an empty text or one of white space only."""
    if not value.strip():
        raise ValidationError("The text is blank. Write something.")


def _section_field(help_text: str, characters: int = SECTION_CHARACTERS) -> "models.TextField[str, str]":
    return models.TextField(
        blank=True, validators=[validate_storable_text, MaxLengthValidator(characters)], help_text=help_text
    )


def _line_field(
    help_text: str, *more: RegexValidator, characters: int = NAME_CHARACTERS
) -> "models.CharField[str, str]":
    return models.CharField(
        max_length=characters,
        blank=True,
        validators=[validate_storable_text, validate_one_line, *more],
        help_text=help_text,
    )


class PersonaQuerySet(GovernedQuerySet["Persona"]):
    """Filters for personas."""

    def active(self) -> "PersonaQuerySet":
        """Return the personas that prompts render (R027)."""
        return self.filter(status=Persona.Status.ACTIVE)


class Persona(Governed):
    """Identity and brand voice of one agent. Only people change it; the agent may propose a patch (R025-R030)."""

    class Status(models.TextChoices):
        """The state of a persona. Prompts render only active ones."""

        ACTIVE = "active"
        ARCHIVED = "archived"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    identity = _section_field("First person: “You are Ada, the support agent for Acme.”")
    style = _section_field("Tone, length, vocabulary.")
    avoid = _section_field("Hard don'ts: compliance and brand.")
    defaults = _section_field("Background assumptions.")
    goals = _section_field("What the agent works towards.")
    status = StateField(max_length=10, choices=Status.choices, default=Status.ACTIVE)

    noun = "persona"
    named_after = ("agent",)
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
        return f"Persona{self.of_agent}"

    @property
    def sha256(self) -> str:
        """The hash of all sections, to which a proposal is bound."""
        return content_sha256(*(getattr(self, name) for name in SECTIONS))

    @transition(field=status, source=Status.ACTIVE, target=Status.ARCHIVED)
    def archive(self) -> None:
        """Archive the persona. Future sessions use the default persona."""

    @transition(field=status, source=Status.ARCHIVED, target=Status.ACTIVE)
    def activate(self) -> None:
        """Activate the persona. Future sessions use it again."""


class MemberOverlayQuerySet(GovernedQuerySet["MemberOverlay"]):
    """Filters for members' overlays."""

    def visible_to(self, actor: Actor) -> Self:
        """Return a person's own overlays, or in a turn those of the member whom the agent answers.

        The system sees all of the tenant's.
        """
        rows = super().visible_to(actor)
        return rows if actor.role is Role.SYSTEM else rows.filter(member_user_id=actor.talks_as)


class PersonaOverlay(Governed):
    """An operator's addition to one agent's persona. Prompts render it after the persona, unless it is empty (R035)."""

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    text = _section_field("Adds to the persona and is read after it. Empty, there is no overlay.")

    noun = "overlay"
    named_after = ("agent",)
    objects = GovernedQuerySet["PersonaOverlay"].as_manager()

    class Meta(Governed.Meta):
        verbose_name = "overlay"
        ordering: ClassVar = ["agent__key"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent"],
                name="agent_has_one_overlay",
                violation_error_message="This agent has an overlay already; amend that one.",
            ),
        ]

    def __str__(self) -> str:
        return f"Overlay{self.of_agent}"


class MemberOverlay(Governed):
    """A member's instructions to an assistant (R035, R129). Prompts render them after the persona, only in that member's talks.

    `pending_text` is a text that the assistant wrote after it read customers' words; the member must review it first.
    """

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    member_user_id = models.BigIntegerField(editable=False)
    text = _section_field(
        "How the assistant is to work for you. Empty, there is no overlay.", MEMBER_OVERLAY_CHARACTERS
    )
    pending_text = models.TextField(
        blank=True, editable=False, validators=[validate_storable_text, MaxLengthValidator(MEMBER_OVERLAY_CHARACTERS)]
    )

    noun = "member_overlay"
    named_after = ("agent",)
    objects = MemberOverlayQuerySet.as_manager()

    class Meta(Governed.Meta):
        verbose_name = "overlay of a member"
        ordering: ClassVar = ["agent__key", "member_user_id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "member_user_id"],
                name="member_has_one_overlay_per_assistant",
                violation_error_message="You have an overlay for this assistant already; amend that one.",
            ),
            models.CheckConstraint(
                condition=models.Q(taint__in=["operator", "agent"]),
                name="member_overlay_has_no_customer_text",
                violation_error_message="What customers wrote enters an overlay only after its member looked at it.",
            ),
        ]

    def __str__(self) -> str:
        return f"Overlay of member {self.member_user_id}{self.of_agent}"


class IdentityCard(Governed):
    """The business and the person that an agent represents, on all lines, or on one line with another person (R186, R187).

    A card for a line assigns the line to its agent: no other agent can have a card for it or receive its messages (R133).
    """

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    line_key = _line_field(
        "The line this card is for, if somebody else is in charge there. Empty, it is the agent's own card.",
        characters=LINE_KEY_CHARACTERS,
    )
    business_name = _line_field("The name customers know.")
    assigned_name = _line_field("The person the agent writes for.")
    assigned_title = _line_field("What that person does: “Head of support”.")
    hours = _section_field("When people are there: “Monday to Friday, 9:00 to 18:00”.", PARAGRAPH_CHARACTERS)
    timezone = models.CharField(
        max_length=64,
        blank=True,
        validators=[validate_storable_text, validate_timezone],
        help_text="Region and city: Europe/Madrid.",
    )
    signature = _section_field("How messages are signed.", PARAGRAPH_CHARACTERS)
    locale = _line_field(LOCALE_RULE, RegexValidator(LOCALE_PATTERN, LOCALE_RULE), characters=35)

    noun = "identity_card"
    named_after = ("agent",)
    objects = GovernedQuerySet["IdentityCard"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["agent__key", "line_key"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "line_key"],
                name="agent_has_one_identity_card_per_line",
                violation_error_message="This agent has an identity card for this line already; amend that one.",
            ),
            models.UniqueConstraint(
                fields=["tenant", "line_key"],
                condition=~models.Q(line_key=""),
                name="line_key_belongs_to_one_agent",
                violation_error_message="This line belongs to another agent. Name another line, or write on that agent's card.",
            ),
        ]

    def __str__(self) -> str:
        line = f" on line {self.line_key}" if self.line_key else ""
        return f"Identity card{self.of_agent}{line}"


class StandingRuleQuerySet(GovernedQuerySet["StandingRule"]):
    """Filters for rules, and their order in prompts."""

    def active(self) -> "StandingRuleQuerySet":
        """Return the rules that are in force."""
        return self.filter(status=StandingRule.Status.ACTIVE)

    def for_agent(self, agent_id: int) -> "StandingRuleQuerySet":
        """Return the organisation's rules, then the agent's own; each group is sorted by position and then by age."""
        mine = self.filter(models.Q(agent=None) | models.Q(agent=agent_id))
        return mine.order_by(models.F("agent_id").asc(nulls_first=True), "position", "pk")


class StandingRule(Governed):
    """A rule for one agent, or for every agent of the organisation. Only people write rules (R052, R053, R188)."""

    class Status(models.TextChoices):
        """The state of a rule. Prompts render only active ones."""

        ACTIVE = "active"
        RETIRED = "retired"

    agent = models.ForeignKey(
        "tenants.Agent",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Leave this open for a rule of the whole organisation.",
    )
    text = models.TextField(
        validators=[validate_storable_text, validate_not_blank, MaxLengthValidator(RULE_CHARACTERS)],
        help_text="One rule, as an instruction: “Never name a competitor.”",
    )
    position = models.PositiveIntegerField(default=0, help_text="Lower numbers come first; equal ones by age.")
    status = StateField(max_length=10, choices=Status.choices, default=Status.ACTIVE)

    noun = "rule"
    named_after = ("agent",)
    objects = StandingRuleQuerySet.as_manager()

    class Meta(Governed.Meta):
        verbose_name = "rule"
        ordering: ClassVar = [models.F("agent__key").asc(nulls_first=True), "position", "pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(status__in=["active", "retired"]), name="rule_is_active_or_retired"
            ),
            models.CheckConstraint(condition=~models.Q(text=""), name="rule_text_is_not_empty"),
        ]

    def __str__(self) -> str:
        return f"Rule{self.of_agent}" if self.agent_id else "Rule of the organisation"

    @property
    def first_words(self) -> str:
        """The beginning of the rule in quotes, by which people know it."""
        text = " ".join(self.text.split())
        return f"“{text}”" if len(text) <= LABEL_CHARACTERS else f"“{text[:LABEL_CHARACTERS]}…”"

    @property
    def proposal_label(self) -> str:
        """The rule's first words, because an agent has many rules."""
        return self.first_words

    @property
    def sha256(self) -> str:
        """The hash to which a proposal is bound. It changes when the rule is reworded, retired or restored."""
        return content_sha256(self.text, str(self.status))

    @transition(field=status, source=Status.ACTIVE, target=Status.RETIRED)
    def retire(self) -> None:
        """Retire the rule. Future sessions do not include it."""

    @transition(field=status, source=Status.RETIRED, target=Status.ACTIVE)
    def restore(self) -> None:
        """Restore the rule. Future sessions include it again."""
