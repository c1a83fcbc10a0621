"""People, and their memberships in tenants."""

from typing import ClassVar, Final, Self

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower
from django.utils.crypto import salted_hmac

from apps.governance.actors import Actor, Role
from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet

# The roles that a person can have in a tenant.
ROLES: Final = [(Role.OPERATOR.value, "Operator"), (Role.ADMIN.value, "Admin")]


class User(AbstractUser):
    """A person who signs in, or an agent's service user, which never does."""

    is_service = models.BooleanField(default=False, editable=False)
    # Sessions carry a hash of this number; incrementing it ends open sessions.
    session_generation = models.PositiveIntegerField(default=0, editable=False)
    # When the person who signs in proved to own the address. The database clears it when the address changes.
    email_verified_at = models.DateTimeField(null=True, blank=True, editable=False)
    # When the current owner took over the account. Invitations that were accepted earlier were accepted by another person.
    account_claimed_at = models.DateTimeField(null=True, blank=True, editable=False)
    # The moment from which sign-in also requires a code. A session that has entered no code since is not accepted.
    second_factor_enabled_at = models.DateTimeField("second factor", null=True, blank=True, editable=False)

    class Meta(AbstractUser.Meta):
        constraints: ClassVar = [
            models.UniqueConstraint(
                Lower("username"),
                name="username_is_unique_ignoring_case",
                violation_error_message="There is a person of this name already.",
            ),
            # R016: an agent's service user with staff or superuser rights would pass every check.
            models.CheckConstraint(
                condition=models.Q(is_service=False) | models.Q(is_staff=False, is_superuser=False),
                name="service_user_is_neither_staff_nor_superuser",
                violation_error_message="An agent's service user may be neither staff nor superuser.",
            ),
        ]

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        key_salt = "apps.tenants.models.User.session_generation"
        known_by = f"{self.session_generation}:{self.password}"
        return salted_hmac(key_salt, known_by, secret=secret, algorithm="sha256").hexdigest()


# An invited person is a member once they have used the link under their current account, or are known to own the address.
ACCEPTED_MEMBERSHIP: Final = models.Q(is_active=True) & (
    models.Q(user__email_verified_at__isnull=False)
    | models.Q(accepted_at__isnull=False, user__account_claimed_at__isnull=True)
    | models.Q(accepted_at__gte=models.F("user__account_claimed_at"))
)
# Memberships whose link must still be used: before the first sign-in, after a reset, or after the account changed its owner.
PENDING_MEMBERSHIP: Final = models.Q(is_active=True, user__email_verified_at__isnull=True) & (
    models.Q(accepted_at__isnull=True)
    | models.Q(accepted_at__lt=models.F("reset_at"))
    | models.Q(accepted_at__lt=models.F("user__account_claimed_at"))
)


class MembershipQuerySet(GovernedQuerySet["Membership"]):
    """Filters for memberships, annotated with whether a link must still be used and whether sign-in requires a code."""

    def visible_to(self, actor: Actor) -> Self:
        """Return the tenant's memberships."""
        is_pending = models.Case(
            models.When(PENDING_MEMBERSHIP, then=True), default=False, output_field=models.BooleanField()
        )
        has_second_factor = models.ExpressionWrapper(
            models.Q(user__second_factor_enabled_at__isnull=False), output_field=models.BooleanField()
        )
        rows: Self = super().visible_to(actor).annotate(is_pending=is_pending, has_second_factor=has_second_factor)
        return rows


class Membership(Governed):
    """A person's role in a tenant. It grants nothing until the person has accepted the membership."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=20, choices=ROLES)
    is_active = models.BooleanField("active", default=True)
    reset_at = models.DateTimeField("last reset", null=True, blank=True)
    accepted_at = models.DateTimeField("accepted", null=True, blank=True)

    noun = "member"
    objects = MembershipQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["id"]
        verbose_name = "member"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "user"],
                name="user_is_member_once",
                violation_error_message="This person is a member of the tenant already.",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=[Role.OPERATOR.value, Role.ADMIN.value]), name="member_is_operator_or_admin"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_role_display()} #{self.user_id}"

    @property
    def awaits_its_person(self) -> bool:
        """Whether a link must still be used: none has been used yet, or none since the last reset."""
        return self.accepted_at is None or (self.reset_at is not None and self.reset_at > self.accepted_at)
