"""Tenants, the people and agents in them, agents' tokens, and the guardian tables that hold grants."""

from typing import ClassVar, Final

from django.core.validators import MaxLengthValidator, MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from apps.governance.actors import Role
from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet
from apps.governance.policy.policy_table import permissions
from apps.governance.stored_text import validate_storable_text
from apps.prompt.prompt_input import DEFAULT_TIER, TIERS, Flavour, SendMode, SkillIndex
from apps.tenants.delay_notices import (
    ALL_CHANNELS_CHARACTERS,
    DEFAULT_DELAY_NOTICE,
    NOTICE_CHARACTERS,
    delay_notice_for,
    validate_channel_notices,
)
from apps.tenants.models.agent import AgentToken, DistillationSettings, LearningSettings
from apps.tenants.models.endpoints import Endpoint, ModelPrice, SealedSecret
from apps.tenants.models.grants import AgentGrants, RoleGrants
from apps.tenants.models.people import Membership, User
from apps.tenants.models.sign_in import AccountEvent, RecoveryCode, SecondFactor, SignInAttempts
from apps.tenants.models.tenant import StaffAccess, TenantSettings, validate_timezone
from apps.tenants.rules import MOST_STEPS
from apps.tenants.session_store import BrowserSession

# Django looks for an app's models in this module.
__all__ = [
    "AccountEvent",
    "Agent",
    "AgentGrants",
    "AgentToken",
    "BrowserSession",
    "Endpoint",
    "InvokableAgent",
    "Membership",
    "ModelPrice",
    "RecoveryCode",
    "RoleGrants",
    "RoleTemplate",
    "SealedSecret",
    "SecondFactor",
    "SignInAttempts",
    "StaffAccess",
    "Tenant",
    "TenantSettings",
    "User",
    "slug_rule",
    "validate_timezone",
]

SLUG = r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z"
slug_rule = RegexValidator(SLUG, "Use lower-case letters, digits and single hyphens.")


class RoleTemplate(models.Model):
    """The default permissions of a role, for tenants that set none of their own.

    One row per role; `sync_policy` writes the grants.
    """

    role = models.CharField(max_length=20, unique=True, choices=[(role.value, role.value) for role in Role])

    class Meta:
        permissions: ClassVar = permissions()

    def __str__(self) -> str:
        return self.role


class Tenant(models.Model):
    """One customer organisation of the installation. Row security isolates tenants from each other (R006)."""

    key = models.CharField(max_length=40, unique=True, validators=[slug_rule])
    name = models.CharField(max_length=120)

    class Meta:
        permissions: ClassVar = permissions()
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(key__regex=SLUG), name="tenant_key_is_lower_case"),
        ]

    def __str__(self) -> str:
        return self.name


SEND_MODES: Final = (
    (SendMode.AUTONOMOUS.value, "Autonomous: it is sent at once"),
    (SendMode.SUGGEST.value, "Suggest: a person sends it"),
    (SendMode.OBSERVE.value, "Observe: nothing is sent"),
)

# With a longer wait, a customer would think that no reply is coming.
MOST_DEBOUNCE_SECONDS: Final = 60


class Agent(DistillationSettings, LearningSettings, Governed):
    """A model-driven worker with its own key, which talks to customers or members (R008, R010)."""

    class WhileThinking(models.TextChoices):
        """How a message is handled that arrives while the model works on an earlier one (R126)."""

        QUEUE = "queue", "Queue: it is answered after the reply"
        RESTART = "restart", "Restart: the turn begins anew with both"

    key = models.CharField(max_length=40, validators=[slug_rule])
    title = models.CharField(max_length=120)
    service_user = models.OneToOneField(User, on_delete=models.PROTECT, related_name="agent")
    model = models.CharField(max_length=80, blank=True, help_text="Empty: the installation's default model.")
    fallback_model = models.CharField(
        max_length=80,
        blank=True,
        help_text="Used instead while calls of the model are paused because they fail. Empty: customers wait.",
    )
    endpoint = models.ForeignKey(
        Endpoint,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="agents",
        help_text="Where the model is reached. Empty: where the installation says.",
    )
    contract = models.TextField(
        blank=True,
        validators=[validate_storable_text, MaxLengthValidator(20_000)],
        help_text="Replaces the operating contract of slot 2. Empty: the one that ships with the product.",
    )
    has_learning = models.BooleanField(
        default=True, help_text="Off: the agent uses the default prompt, without memory, skills or lessons."
    )
    session_idle_seconds = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: 1800 seconds.")
    sessions_ended_at = models.DateTimeField(
        null=True, editable=False, help_text="Sessions that began before it are over with their next turn."
    )
    max_session_age_seconds = models.PositiveIntegerField(
        "longest session, in seconds",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="A session older than this ends even while messages keep coming. Empty: only silence ends it.",
    )
    max_steps = models.PositiveSmallIntegerField(
        default=8, validators=[MinValueValidator(1), MaxValueValidator(MOST_STEPS)]
    )
    flavour = models.CharField(
        max_length=10,
        default=Flavour.DOMAIN.value,
        choices=[
            (Flavour.DOMAIN.value, "Domain: talks to customers for the business"),
            (Flavour.ASSISTANT.value, "Assistant: works for a member of it"),
        ],
        help_text="Whom the agent serves; it decides how the operating contract begins.",
    )
    context_tier = models.PositiveSmallIntegerField(
        default=DEFAULT_TIER,
        choices=[
            (1, "1: identity alone"),
            (2, "2: with style, customer, recent memory and reminders"),
            (3, "3: with long memory too"),
            (4, "4: with scratch notes and tasks too"),
        ],
        help_text="How much context a session carries. More is better informed, slower and more expensive. Rules are in"
        " every tier.",
    )
    skill_index = models.CharField(
        max_length=10,
        default=SkillIndex.LAZY.value,
        choices=[
            (SkillIndex.LAZY.value, "Lazy: one line each, read when needed"),
            (SkillIndex.FULL.value, "Full: every approved skill whole"),
        ],
        help_text="How approved skills appear in the prompt.",
    )
    has_current_time = models.BooleanField(
        "knows the date and time", default=True, help_text="Off: the agent is not told the date and the time."
    )
    send_mode = models.CharField(
        "send mode",
        max_length=10,
        default=SendMode.AUTONOMOUS.value,
        choices=SEND_MODES,
        help_text="Where no send rule says otherwise.",
    )
    debounce_seconds = models.PositiveSmallIntegerField(
        "wait for the rest of a burst, in seconds",
        default=0,
        validators=[MaxValueValidator(MOST_DEBOUNCE_SECONDS)],
        help_text="Messages within this many seconds of the first one are answered together with it. 0: at once.",
    )
    mid_turn_message_mode = models.CharField(
        "a message while it thinks",
        max_length=10,
        default=WhileThinking.QUEUE,
        choices=WhileThinking.choices,
        help_text="A turn restarts at most three times, and only while nothing was sent, written or called externally.",
    )
    may_propose_schedules = models.BooleanField(
        "may propose schedules",
        default=False,
        help_text="On: the agent may draft schedules by which it starts by itself. Drafts wait for a person.",
    )
    may_show_tables_and_charts = models.BooleanField(
        "may show tables and charts",
        default=False,
        help_text="On: the agent may add them to a reply, as data that the channel draws. Not for SMS or voice.",
    )
    may_edit_memory = models.BooleanField(
        "may edit memory line by line",
        default=False,
        help_text="On: the agent reads and changes its memory, its blocks and the customer's profile line by line.",
    )
    may_edit_skills = models.BooleanField(
        "may edit its skills",
        default=False,
        help_text="On: the agent may view, change and delete its own drafts. Changes of approved skills wait for a person.",
    )
    turn_budget_micro_usd = models.PositiveBigIntegerField(
        "budget of a turn, in millionths of a US dollar",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="50000 is five cents. A turn that has spent its budget must answer with what it knows. Empty: no budget.",
    )

    delay_notice = models.TextField(
        "message to customers while the day's budget is spent",
        default=DEFAULT_DELAY_NOTICE,
        blank=True,
        validators=[validate_storable_text, MaxLengthValidator(NOTICE_CHARACTERS)],
        help_text="Sent once for each delayed answer, in send modes autonomous and suggest. Empty: customers get no message.",
    )
    channel_delay_notices = models.TextField(
        "the same message for single channels",
        blank=True,
        validators=[
            validate_storable_text,
            MaxLengthValidator(ALL_CHANNELS_CHARACTERS),
            validate_channel_notices,
        ],
        help_text="One line for each channel, such as “sms: We reply tomorrow.” A line “voice:” sends nothing on that channel.",
    )

    noun = "agent"
    objects = GovernedQuerySet["Agent"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["key"]
        permissions: ClassVar = permissions()
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "key"],
                name="agent_key_is_unique_in_tenant",
                violation_error_message="There is an agent with this key in the tenant already.",
            ),
            models.CheckConstraint(condition=models.Q(key__regex=SLUG), name="agent_key_is_lower_case"),
            models.CheckConstraint(
                condition=models.Q(max_steps__range=(1, MOST_STEPS)), name="agent_takes_1_to_40_steps"
            ),
            models.CheckConstraint(
                condition=models.Q(context_tier__in=TIERS),
                name="agent_has_a_context_tier_from_1_to_4",
                violation_error_message="The context tier must be from 1 to 4.",
            ),
            models.CheckConstraint(
                condition=models.Q(send_mode__in=[mode.value for mode in SendMode]), name="agent_has_a_known_send_mode"
            ),
            models.CheckConstraint(
                condition=models.Q(max_session_age_seconds__isnull=True) | models.Q(max_session_age_seconds__gt=0),
                name="longest_session_lasts_at_least_a_second",
                violation_error_message="Enter at least 1 second: a session of 0 seconds could never be used.",
            ),
            models.CheckConstraint(
                condition=models.Q(mid_turn_message_mode__in=["queue", "restart"]),
                name="agent_has_a_known_mid_turn_message_mode",
            ),
            models.CheckConstraint(
                condition=models.Q(debounce_seconds__lte=MOST_DEBOUNCE_SECONDS),
                name="debounce_takes_a_minute_at_most",
                violation_error_message=f"The rest of a burst is waited for {MOST_DEBOUNCE_SECONDS} seconds at most.",
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def begins_anew(self) -> bool:
        """Whether messages that arrive during a turn restart it, so that the reply answers all of them (R126)."""
        return self.mid_turn_message_mode == self.WhileThinking.RESTART

    def delay_notice_on(self, channel: str) -> str:
        """The message to a customer on this channel while the day's budget is spent; empty for none."""
        return delay_notice_for(channel, self.delay_notice, self.channel_delay_notices)

    @property
    def agent_concerned(self) -> int | None:
        """The agent's own id."""
        return self.pk


class InvokableAgent(Governed):
    """A permission for an agent to ask another agent of the tenant (R057). Slot 3 of the prompt lists it."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="invokables")
    callee = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="invoked_by", verbose_name="may ask")
    role_hint = models.CharField(
        max_length=300,
        blank=True,
        validators=[validate_storable_text],
        help_text="What to ask the other agent for, in one line.",
    )

    budget_micro_usd = models.PositiveBigIntegerField(
        "budget of a question, in millionths of a US dollar",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Highest cost of one answer. Empty: half of the asking turn's remaining budget, if it has one.",
    )

    noun = "invokable"
    named_after = ("agent", "callee")
    objects = GovernedQuerySet["InvokableAgent"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "callee"],
                name="invokable_agent_is_listed_once",
                violation_error_message="This agent may ask that one already. Change the existing entry.",
            ),
            models.CheckConstraint(
                condition=~models.Q(agent=models.F("callee")),
                name="agent_does_not_invoke_itself",
                violation_error_message="An agent cannot ask itself. Choose another one.",
            ),
        ]

    def __str__(self) -> str:
        names = [str(self._state.fields_cache.get(name, "")) for name in self.named_after]
        return "Agent {} may ask agent {}".format(*names) if all(names) else "Agent handoff"
