"""`TenantSettings`, a tenant's single row of settings for all its agents, and `StaffAccess`, a visit of platform staff.

A visit gives a person of the platform's staff access to a tenant without a membership. The tenant's members can read about it.
"""

from typing import ClassVar, Final

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, MaxValueValidator, MinValueValidator
from django.db import models

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet
from apps.governance.stored_text import validate_storable_text
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.prompt_input import Disclosure, SlotOrder
from apps.tenants.models.endpoints import SealedSecret
from apps.tenants.rules import TIME_ZONE_RULE, is_time_zone
from apps.text_analysis.pii.tenant_patterns import MAX_TEMPLATES, TEMPLATES_CHARACTERS, UnusableTemplate, read_templates


def validate_timezone(name: str) -> None:
    """Refuse a name that is not in the time zone database."""
    if not is_time_zone(name):
        raise ValidationError(f"There is no time zone {name}. {TIME_ZONE_RULE}")


def validate_pii_patterns(written: str) -> None:
    """Refuse invalid templates, with the reasons."""
    read = read_templates(written)
    if isinstance(read, UnusableTemplate):
        raise ValidationError(list(read.reasons))


class TenantSettings(Governed):
    """A tenant's settings for all its agents."""

    timezone = models.CharField(
        "time zone",
        max_length=60,
        default="UTC",
        validators=[validate_timezone],
        help_text="Such as Europe/Berlin. Agents get the date and time of this zone.",
    )
    ai_disclosure = models.CharField(
        "AI disclosure",
        max_length=20,
        default=Disclosure.ON_REQUEST.value,
        choices=[
            (Disclosure.ALWAYS.value, "Always: the first reply says so"),
            (Disclosure.ON_REQUEST.value, "On request: whoever asks is told"),
            (Disclosure.NEVER_VOLUNTEER.value, "Never volunteered: not raised by itself, never denied"),
        ],
        help_text="When customers are told that they talk to an AI. Many places have a law about this.",
    )
    slot_order = models.CharField(
        max_length=20,
        default=SlotOrder.PERSONA_FIRST.value,
        choices=[
            (SlotOrder.PERSONA_FIRST.value, "Persona first"),
            (SlotOrder.CONTRACT_FIRST.value, "Contract first: agents share its cache"),
        ],
        help_text="What the prompt begins with. Contract first costs less where several agents have one contract.",
    )
    high_risk_reviewers = models.PositiveSmallIntegerField(
        "reviewers for high risk",
        default=2,
        choices=[(1, "One, who may have written the words"), (2, "Two, who neither proposed nor edited the words")],
        help_text="Who must approve changes of hard don'ts, the contract, autonomous sending or tools that make payments.",
    )
    proposal_days = models.PositiveSmallIntegerField(
        "days a proposal waits",
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(365)],
        help_text="A proposal expires after this many days without a decision. It can be reopened.",
    )
    max_open_proposals = models.PositiveSmallIntegerField(
        "open proposals of an agent",
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="An agent with this many open proposals must revise one of them, or wait.",
    )
    memory_review = models.CharField(
        max_length=10,
        default=MemoryReview.OFF.value,
        choices=[
            (MemoryReview.OFF.value, "Off: agents' memory is free, and quoted as data"),
            (MemoryReview.TAINTED.value, "Tainted: lines with a customer's or a tool's words wait for a person"),
            (MemoryReview.ALL.value, "All: whatever an agent writes to memory waits for a person"),
        ],
        help_text="Applies to text that agents write by themselves and that every customer's prompt would carry.",
    )
    learning_apply_mode = models.CharField(
        "what agents learn from corrections",
        max_length=10,
        default="approval",
        choices=[
            ("approval", "Approval: a new version waits for a person"),
            ("auto", "Auto: a new version is read at once"),
        ],
        help_text="With auto, only a word-based check reads each bullet, and no person. In tests it caught about three in"
        " four harmful bullets with wordings that it had not seen. The agent reads such bullets as data, not as"
        " instructions.",
    )
    day_budget_micro_usd = models.PositiveBigIntegerField(
        "budget of a day, in millionths of a US dollar",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="For all agents together, from midnight to midnight in the tenant's time zone; 20000000 is 20 dollars."
        " Once it is spent, customers' messages wait for the next day. Empty: no budget.",
    )

    pii_patterns = models.TextField(
        "numbers of your own",
        blank=True,
        default="",
        validators=[validate_storable_text, MaxLengthValidator(TEMPLATES_CHARACTERS), validate_pii_patterns],
        help_text=f"Up to {MAX_TEMPLATES}, a line each: policy-number: POL-######. # is a digit, @ a letter, * either,"
        " {6,8} repeats."
        " They are masked before anything is learned.",
    )
    is_customer_proof_required = models.BooleanField(
        "profiles need a proof",
        default=True,
        help_text="On: an agent gets a customer's profile only if your server signed who the customer is. Off: the name in"
        " a message is trusted.",
    )
    messages_per_minute = models.PositiveIntegerField(
        "messages of a customer in a minute",
        default=120,
        validators=[MinValueValidator(1), MaxValueValidator(10_000)],
        help_text="More are refused until some time has passed. In a thread without a customer's name, the thread's"
        " messages are counted.",
    )
    messages_per_day = models.PositiveIntegerField(
        "messages of a customer in 24 hours",
        default=2000,
        validators=[MinValueValidator(1), MaxValueValidator(100_000)],
        help_text="Counted over the last 24 hours.",
    )
    is_second_factor_required = models.BooleanField(
        "members need a second factor",
        default=False,
        help_text="On: members without one must set one up before any other page opens, and the API refuses them.",
    )
    requests_per_minute = models.PositiveIntegerField(
        "requests of an agent or member in a minute",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Over REST and MCP, for all tokens of an agent together. More are refused until the minute is over."
        " Empty: the limit of the installation.",
    )
    requests_per_minute_of_tenant = models.PositiveIntegerField(
        "requests of all together in a minute",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="For all agents and members of the tenant together. The console is not counted.",
    )
    # Set by rotating the signing key. The database keeps both references within the tenant.
    proof_secret = models.ForeignKey(
        SealedSecret, null=True, editable=False, on_delete=models.DO_NOTHING, related_name="+"
    )
    former_proof_secret = models.ForeignKey(
        SealedSecret, null=True, editable=False, on_delete=models.DO_NOTHING, related_name="+"
    )

    noun = "settings"
    objects = GovernedQuerySet["TenantSettings"].as_manager()

    class Meta(Governed.Meta):
        verbose_name_plural = "tenant settings"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant"], name="tenant_has_one_settings_row"),
            models.CheckConstraint(
                condition=models.Q(requests_per_minute__isnull=True) | models.Q(requests_per_minute__gte=1),
                name="requests_per_minute_is_positive",
            ),
            models.CheckConstraint(
                condition=models.Q(requests_per_minute_of_tenant__isnull=True)
                | models.Q(requests_per_minute_of_tenant__gte=1),
                name="requests_per_minute_of_tenant_is_positive",
            ),
        ]

    def __str__(self) -> str:
        return "Settings"

    @property
    def has_proof_key(self) -> bool:
        """Whether the tenant has a key to verify customers with."""
        return self.proof_secret_id is not None


VISIT_MINUTES: Final = 60


class StaffAccess(Governed):
    """A visit of platform staff: the person, the reason, and the latest end.

    The row belongs to the tenant, whose members can read it.
    """

    user = models.ForeignKey("tenants.User", on_delete=models.PROTECT, related_name="+")
    reason = models.TextField("why", validators=[validate_storable_text, MaxLengthValidator(500)])
    expires_at = models.DateTimeField("until at most")
    ended_at = models.DateTimeField("left", null=True, blank=True)

    noun = "visit"
    objects = GovernedQuerySet["StaffAccess"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        verbose_name = "visit of platform staff"
        verbose_name_plural = "visits of platform staff"
        constraints: ClassVar = [models.CheckConstraint(condition=~models.Q(reason=""), name="staff_access_says_why")]

    def __str__(self) -> str:
        return f"Visit of staff:{self.user_id}"
