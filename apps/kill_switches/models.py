"""The kill switch: stops learning, sending or answering for a tenant, an agent or a channel, until a person lifts it."""

from typing import ClassVar, Self

from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import validate_storable_text
from apps.kill_switches.rules import (
    CHANNEL,
    CHANNEL_RULE,
    FREEZE_LEARNING,
    PAUSE_AGENT,
    PAUSE_SENDING,
    REASON_CHARACTERS,
    SwitchScope,
    stopped_sentence,
)


class SwitchQuerySet(GovernedQuerySet["KillSwitch"]):
    """Queryset filters for switches."""

    def on(self) -> Self:
        """Switches that are on."""
        return self.filter(status=KillSwitch.Status.ON)

    def reaching(self, agent_id: int, channel: str) -> Self:
        """Switches that apply to one agent on one channel."""
        whom = models.Q(agent=None) | models.Q(agent=agent_id)
        return self.filter(whom, models.Q(channel="") | models.Q(channel=channel))

    def of_kinds(self, *kinds: "KillSwitch.Kind") -> Self:
        """Switches of these kinds."""
        return self.filter(kind__in=kinds)


class KillSwitch(Governed):
    """A stop set by a person. Its scope never changes; a wider stop needs another switch."""

    class Kind(models.TextChoices):
        """The activity that is stopped."""

        FREEZE_LEARNING = FREEZE_LEARNING, "Freeze learning"
        PAUSE_SENDING = PAUSE_SENDING, "Pause autonomous sending"
        PAUSE_AGENT = PAUSE_AGENT, "Pause answering"

    class Status(models.TextChoices):
        """The status. Off is final; the next stop is a new switch with its own reason."""

        ON = "on"
        OFF = "off"

    kind = models.CharField("what stops", max_length=20, choices=Kind.choices)
    agent = models.ForeignKey(
        "tenants.Agent",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: every agent, including agents added later.",
    )
    channel = models.CharField(
        max_length=40,
        blank=True,
        validators=[RegexValidator(CHANNEL, CHANNEL_RULE)],
        help_text="Such as sms. Empty: on every channel.",
    )
    reason = models.TextField(
        validators=[validate_storable_text, MaxLengthValidator(REASON_CHARACTERS)],
        help_text="Shown on every page while the switch is on.",
    )
    ends_sessions = models.BooleanField(
        "end open sessions",
        default=False,
        help_text="On: the agents' open sessions end on every channel, and their next turns freeze new prompts.",
    )
    status = StateField(max_length=10, choices=Status.choices, default=Status.ON)
    activated_by = models.CharField(max_length=200, editable=False)
    deactivated_by = models.CharField(max_length=200, editable=False, blank=True)
    deactivated_at = models.DateTimeField(null=True, editable=False)

    noun = "kill_switch"
    objects = SwitchQuerySet.as_manager()

    class Meta(Governed.Meta):
        verbose_name_plural = "switches"
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "kind", "agent", "channel"],
                condition=models.Q(status="on"),
                nulls_distinct=False,
                name="one_kill_switch_of_a_kind_is_on_per_scope",
                violation_error_message="A switch for this is on already; see its reason. Resume it first to set another one.",
            ),
            models.CheckConstraint(
                condition=models.Q(status="on") | ~models.Q(deactivated_by=""),
                name="deactivated_kill_switch_names_who_deactivated_it",
            ),
            models.CheckConstraint(condition=~models.Q(reason=""), name="kill_switch_says_why"),
        ]

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """Return what the switch stops, and for which agents and channels, as a sentence."""
        return stopped_sentence(self.kind, SwitchScope(self.agent.key if self.agent else "", self.channel))

    @transition(field=status, source=Status.ON, target=Status.OFF)
    def lift(self) -> None:
        """Turn the switch off."""
