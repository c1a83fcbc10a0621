"""A second factor beside the password: codes of an authenticator app, and recovery codes for whoever lost it.

A person belongs to no tenant, so this is written outside every tenant, by the login's database role, which alone reads it.
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
# 50 random bits: behind the count of attempts nobody guesses one.
_RECOVERY_CHARACTERS: Final = 10
# Without letters and digits that are read as each other.
_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"
WRONG_CODE: Final = (
    f"This is not the present code. Enter the {DIGITS} digits that the app shows now; a code works once. If none works, look"
    " whether the clocks of your device and of this installation are right."
)
SEALING_KEY_MISSING: Final = (
    "None of SEALING_KEYS opens what makes your codes. Use a recovery code, or ask whoever runs the installation to set the"
    " key again."
)

Clock = Callable[[], float]
Session = MutableMapping[str, Any]
# Where a session keeps for which factor a code was shown in it: one that was set up anew asks again.
VERIFIED_KEY: Final = "second_factor_verified"
# And the sealed secret of a factor that is being set up.
ENROLMENT_KEY: Final = "second_factor_enrolment"


class AcceptedCode(Enum):
    """What somebody showed."""

    CODE = "code"
    RECOVERY = "recovery code"


def awaits_code(user: User, session: Session) -> bool:
    """Whether whoever signed in has shown a password, or a link, and no code yet."""
    return (
        user.second_factor_enabled_at is not None
        and session.get(VERIFIED_KEY) != user.second_factor_enabled_at.isoformat()
    )


def requires_second_factor(actor: Actor) -> bool:
    """Whether the actor's tenant lets nobody in without a second factor."""
    with acting_as(actor):
        return TenantSettings.objects.visible_to(actor).filter(is_second_factor_required=True).exists()


def mark_session_verified(user: User, session: Session) -> None:
    """Ask for no other code in this session."""
    if user.second_factor_enabled_at is not None:
        session[VERIFIED_KEY] = user.second_factor_enabled_at.isoformat()
    session.pop(ENROLMENT_KEY, None)


def begin_enrolment(user: User, session: Session) -> str:
    """A new secret, which the session keeps sealed until a first code was shown."""
    secret = new_secret()
    session[ENROLMENT_KEY] = seal(secret, _seal_context(user))
    return secret


def enrolment_secret(user: User, session: Session) -> str:
    """The secret that waits for its first code; empty where none does."""
    try:
        return unseal(session[ENROLMENT_KEY], _seal_context(user)) if ENROLMENT_KEY in session else ""
    except CannotOpen:
        return ""


def enrol(user: User, secret: str, typed: str, *, address: str, clock: Clock = time.time) -> list[str]:
    """Ask this person for codes from now on, once they showed one; returns the recovery codes, which are shown once.

    Raises Invalid for a wrong code; Conflicting where there is a factor already or the installation keeps no keys.
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
    """Ten new ones; those of before open nothing any more."""
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
    """How many were not used yet."""
    return RecoveryCode.objects.filter(user=user).count()


def use_code(user: User, typed: str, *, address: str, clock: Clock = time.time) -> AcceptedCode:
    """Use a code up, of the app or a recovery code. Raises Invalid, in words for the person, for any other."""
    plain = _normalise_code(typed)
    if not (len(plain) == DIGITS and plain.isdecimal()):
        with transaction.atomic():
            if RecoveryCode.objects.filter(user=user, digest=_recovery_code_digest(user, plain)).delete()[0]:
                note_event(user.pk, Kind.CODE_USED, ip_address=address)
                return AcceptedCode.RECOVERY
        raise Invalid(WRONG_CODE, {"code": [WRONG_CODE]})
    step = step_of(_secret_of(user), plain, clock())
    # One statement asks and writes, so that of two requests with one code one is let in.
    if step is None or not SecondFactor.objects.filter(user=user, last_step__lt=step).update(last_step=step):
        raise Invalid(WRONG_CODE, {"code": [WRONG_CODE]})
    return AcceptedCode.CODE


def remove_second_factor(user: User, *, address: str = "") -> bool:
    """Ask this person for no codes any more; says whether there was anything to drop. Without an address it is done to them."""
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user).delete()
        dropped, _ = SecondFactor.objects.filter(user=user).delete()
        User.objects.filter(pk=user.pk).update(second_factor_enabled_at=None)
        if dropped:
            note_event(user.pk, Kind.FACTOR_DROPPED, ip_address=address)
    user.second_factor_enabled_at = None
    return bool(dropped)


def reseal_factors() -> tuple[int, int]:
    """Seal anew what makes codes; says how many were, and how many nothing opens."""
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
