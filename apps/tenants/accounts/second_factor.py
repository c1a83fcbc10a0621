"""Second factors: codes of an authenticator app, and recovery codes for people who lost it.

A person belongs to no tenant, so this data is written outside every tenant. Only the login's database role can read it.
"""

import secrets
import time
from collections.abc import Callable, MutableMapping
from enum import Enum
from typing import Any, Final

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid
from apps.tenants.accounts.account_events import Kind, note_event
from apps.tenants.accounts.totp import DIGITS, new_secret, step_of
from apps.tenants.models import TenantSettings, User
from apps.tenants.models.sign_in import RecoveryCode, SecondFactor
from apps.tenants.sealed_secrets import CannotOpen, reseal, seal, unseal

RECOVERY_CODES: Final = 10
# The length gives about 50 random bits, which nobody can guess within the limit of attempts.
_RECOVERY_CHARACTERS: Final = 10
# Leaves out letters and digits that are easily confused.
_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"
WRONG_CODE: Final = (
    f"This is not the current code. Enter the {DIGITS} digits that the app shows now; a code works once. If none works, check"
    " whether the clocks of your device and of this installation are right."
)
SEALING_KEY_MISSING: Final = (
    "None of SEALING_KEYS decrypts the secret of your codes. Use a recovery code, or ask the operator of the installation to set"
    " the key again."
)

Clock = Callable[[], float]
Session = MutableMapping[str, Any]
# Session key: identifies the second factor for which a code was entered. After a new enrolment the session needs a new code.
VERIFIED_KEY: Final = "second_factor_verified"
# Session key: the sealed secret of a factor that is being set up.
ENROLMENT_KEY: Final = "second_factor_enrolment"


class AcceptedCode(Enum):
    """The kind of code that was accepted."""

    CODE = "code"
    RECOVERY = "recovery code"


def awaits_code(user: User, session: Session) -> bool:
    """Whether the session still needs a code of the second factor."""
    return (
        user.second_factor_enabled_at is not None
        and session.get(VERIFIED_KEY) != user.second_factor_enabled_at.isoformat()
    )


def requires_second_factor(actor: Actor) -> bool:
    """Whether the actor's tenant requires a second factor."""
    with acting_as(actor):
        return TenantSettings.objects.visible_to(actor).filter(is_second_factor_required=True).exists()


def mark_session_verified(user: User, session: Session) -> None:
    """Record that this session needs no further code."""
    if user.second_factor_enabled_at is not None:
        session[VERIFIED_KEY] = user.second_factor_enabled_at.isoformat()
    session.pop(ENROLMENT_KEY, None)


def begin_enrolment(user: User, session: Session) -> str:
    """Create a secret, which the session stores sealed until a first code confirms it."""
    secret = new_secret()
    session[ENROLMENT_KEY] = seal(secret, _seal_context(user))
    return secret


def enrolment_secret(user: User, session: Session) -> str:
    """Return the secret of an enrolment that no code has confirmed yet; empty if there is none."""
    try:
        return unseal(session[ENROLMENT_KEY], _seal_context(user)) if ENROLMENT_KEY in session else ""
    except CannotOpen:
        return ""


def enrol(user: User, secret: str, typed: str, *, address: str, clock: Clock = time.time) -> list[str]:
    """Enable the second factor after a code confirms the secret, and return the recovery codes, which are shown once.

    Raises Invalid for a wrong code, and Conflict if there is a factor already or the installation has no sealing keys.
    """
    step = step_of(secret, _normalise_code(typed), clock())
    if step is None:
        raise Invalid(WRONG_CODE, {"code": [WRONG_CODE]})
    with transaction.atomic():
        if User.objects.select_for_update().get(pk=user.pk).second_factor_enabled_at is not None:
            raise Conflict("You have a second factor already. Remove it first, with one of its codes.")
        SecondFactor.objects.create(user=user, ciphertext=seal(secret, _seal_context(user)), last_step=step)
        user.second_factor_enabled_at = timezone.now()
        user.save(update_fields=["second_factor_enabled_at"])
        note_event(user.pk, Kind.FACTOR_SET, ip_address=address)
        return _new_recovery_codes(user)


def renew_recovery_codes(user: User, *, address: str) -> list[str]:
    """Replace the recovery codes with ten new ones."""
    with transaction.atomic():
        note_event(user.pk, Kind.CODES_RENEWED, ip_address=address)
        return _new_recovery_codes(user)


def _new_recovery_codes(user: User) -> list[str]:
    fresh = [_new_recovery_code() for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.filter(user=user).delete()
    RecoveryCode.objects.bulk_create(
        RecoveryCode(user=user, digest=_recovery_code_digest(user, _normalise_code(code))) for code in fresh
    )
    return fresh


def recovery_codes_left(user: User) -> int:
    """Return the number of unused recovery codes."""
    return RecoveryCode.objects.filter(user=user).count()


def use_code(user: User, typed: str, *, address: str, clock: Clock = time.time) -> AcceptedCode:
    """Use up a code of the app, or a recovery code. Raises `Invalid` for any other code."""
    plain = _normalise_code(typed)
    if not (len(plain) == DIGITS and plain.isdecimal()):
        with transaction.atomic():
            if RecoveryCode.objects.filter(user=user, digest=_recovery_code_digest(user, plain)).delete()[0]:
                note_event(user.pk, Kind.CODE_USED, ip_address=address)
                return AcceptedCode.RECOVERY
        raise Invalid(WRONG_CODE, {"code": [WRONG_CODE]})
    step = step_of(_secret_of(user), plain, clock())
    # A single statement checks and writes, so that only one of two requests with the same code succeeds.
    if step is None or not SecondFactor.objects.filter(user=user, last_step__lt=step).update(last_step=step):
        raise Invalid(WRONG_CODE, {"code": [WRONG_CODE]})
    return AcceptedCode.CODE


def remove_second_factor(user: User, *, address: str = "") -> bool:
    """Remove the second factor, and return whether there was one. An empty address means that an admin removed it."""
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user).delete()
        dropped, _ = SecondFactor.objects.filter(user=user).delete()
        User.objects.filter(pk=user.pk).update(second_factor_enabled_at=None)
        if dropped:
            note_event(user.pk, Kind.FACTOR_DROPPED, ip_address=address)
    user.second_factor_enabled_at = None
    return bool(dropped)


def reseal_factors() -> tuple[int, int]:
    """Encrypt the secrets of all second factors again with the first sealing key.

    Returns the number of re-encrypted secrets, and of those that no key decrypts.
    """
    with transaction.atomic():
        return reseal(SecondFactor.objects.select_for_update())


def _secret_of(user: User) -> str:
    factor = SecondFactor.objects.filter(user=user).first()
    if factor is None:
        raise Invalid(WRONG_CODE, {"code": [WRONG_CODE]})
    try:
        return unseal(factor.ciphertext, _seal_context(user))
    except CannotOpen as refusal:
        raise Invalid(SEALING_KEY_MISSING, {"code": [SEALING_KEY_MISSING]}) from refusal


def _seal_context(user: User) -> str:
    return f"person:{user.pk}"


def _new_recovery_code() -> str:
    drawn = "".join(secrets.choice(_ALPHABET) for _ in range(_RECOVERY_CHARACTERS))
    half = _RECOVERY_CHARACTERS // 2
    return f"{drawn[:half]}-{drawn[half:]}"


def _normalise_code(typed: str) -> str:
    return "".join(typed.split()).replace("-", "").casefold()


def _recovery_code_digest(user: User, plain: str) -> str:
    return salted_hmac("apps.tenants.accounts.second_factor", f"{user.pk}:{plain}", algorithm="sha256").hexdigest()
