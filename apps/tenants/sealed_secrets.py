"""Encryption of the keys of external services. Decryption needs SEALING_KEYS; access to the database is not enough."""

from collections.abc import Iterable

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from apps.governance.actors import Actor
from apps.governance.errors import Conflict
from apps.tenants.models.endpoints import SealedSecret
from apps.tenants.models.sign_in import SecondFactor

Sealed = SealedSecret | SecondFactor
NO_KEYS = (
    "This installation cannot store secrets: SEALING_KEYS is not set. Ask the operator of the installation to set it."
)


class CannotOpen(Exception):
    """None of SEALING_KEYS decrypts the secret, or it was sealed for another owner."""


def seal(secret: str, owner_id: int | str) -> str:
    """Encrypt a secret, bound to its tenant or person, so that it cannot be used in another owner's row."""
    return _keys().encrypt(f"{owner_id}\n{secret}".encode()).decode()


def unseal(sealed: str, owner_id: int | str) -> str:
    """Decrypt a secret for immediate use."""
    try:
        plaintext = _keys().decrypt(sealed).decode()
    except (InvalidToken, Conflict) as refusal:
        raise CannotOpen("None of SEALING_KEYS decrypts this key. Enter it again.") from refusal
    owner, _, secret = plaintext.partition("\n")
    if owner != str(owner_id):
        raise CannotOpen("This key was encrypted for another owner. Enter it again.")
    return secret


def reseal_text(sealed: str) -> str:
    """Encrypt a secret again with the first of SEALING_KEYS, so that the others can be removed."""
    try:
        return _keys().rotate(sealed).decode()
    except InvalidToken as refusal:
        raise CannotOpen("None of SEALING_KEYS decrypts this key. Enter it again.") from refusal


def store_secret(secret: str, *, actor: Actor) -> SealedSecret:
    """Encrypt and store a secret. The actor can never read it back, because their database role may not."""
    return SealedSecret.objects.create(tenant_id=actor.tenant_id, ciphertext=seal(secret, actor.tenant_id))


def delete_secrets(*secret_ids: int | None, actor: Actor) -> None:
    """Delete secrets that no row refers to any more. None stands for a row without a secret, and is skipped."""
    if named := [each for each in secret_ids if each is not None]:
        SealedSecret.objects.filter(tenant_id=actor.tenant_id, pk__in=named).delete()


def reseal_all(tenant_id: int) -> tuple[int, int]:
    """Re-encrypt a tenant's secrets, as the system.

    Returns the number of re-encrypted secrets, and of those that no key decrypts.
    """
    return reseal(SealedSecret.objects.filter(tenant_id=tenant_id).defer(None).select_for_update(no_key=True))


def reseal(rows: Iterable[Sealed]) -> tuple[int, int]:
    """Re-encrypt the secret of each row. Returns the number of re-encrypted secrets, and of those that no key decrypts."""
    lost, done = 0, 0
    for row in rows:
        try:
            row.ciphertext = reseal_text(row.ciphertext)
        except CannotOpen:
            lost += 1
            continue
        row.save(update_fields=["ciphertext"])
        done += 1
    return done, lost


def refuse_without_keys() -> None:
    """Raise `Conflict` if the installation has no valid sealing keys."""
    _keys()


def _keys() -> MultiFernet:
    try:
        keys = [Fernet(key) for key in settings.SEALING_KEYS]
    except ValueError as flaw:
        raise Conflict("One of SEALING_KEYS is not valid. Each must be 32 random bytes in URL-safe Base64.") from flaw
    if not keys:
        raise Conflict(NO_KEYS)
    return MultiFernet(keys)
