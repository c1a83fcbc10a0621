"""Keys of other people's services, encrypted before they are stored. SEALING_KEYS opens them; the database alone does not."""

from collections.abc import Iterable

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from apps.governance.actors import Actor
from apps.governance.errors import Conflict
from apps.tenants.models.endpoints import SealedSecret
from apps.tenants.models.sign_in import SecondFactor

Sealed = SealedSecret | SecondFactor
NO_KEYS = "This installation keeps no keys of others: SEALING_KEYS is not set. Ask whoever runs it to set it."


class CannotOpen(Exception):
    """None of SEALING_KEYS opens what is sealed, or it was sealed for another tenant."""


def seal(secret: str, owner_id: int | str) -> str:
    """What is stored of a secret. It is bound to its tenant, or to a person: moved to another one's row it opens nothing."""
    return _keys().encrypt(f"{owner_id}\n{secret}".encode()).decode()


def unseal(sealed: str, owner_id: int | str) -> str:
    """The secret, for the moment it is used."""
    try:
        plaintext = _keys().decrypt(sealed).decode()
    except (InvalidToken, Conflict) as refusal:
        raise CannotOpen("None of SEALING_KEYS opens this key. Enter it anew.") from refusal
    owner, _, secret = plaintext.partition("\n")
    if owner != str(owner_id):
        raise CannotOpen("This key was sealed for somebody else. Enter it anew.")
    return secret


def reseal_text(sealed: str) -> str:
    """The same under the first of SEALING_KEYS, so that the others can go."""
    try:
        return _keys().rotate(sealed).decode()
    except InvalidToken as refusal:
        raise CannotOpen("None of SEALING_KEYS opens this key. Enter it anew.") from refusal


def store_secret(secret: str, *, actor: Actor) -> SealedSecret:
    """Store it sealed. Whoever does can never read it back: their database role may not."""
    return SealedSecret.objects.create(tenant_id=actor.tenant_id, ciphertext=seal(secret, actor.tenant_id))


def delete_secrets(*secret_ids: int | None, actor: Actor) -> None:
    """Remove what no row names any more; None where a row named none."""
    if named := [each for each in secret_ids if each is not None]:
        SealedSecret.objects.filter(tenant_id=actor.tenant_id, pk__in=named).delete()


def reseal_all(tenant_id: int) -> tuple[int, int]:
    """Seal each of a tenant's secrets anew, as the system; says how many were, and how many nothing opens."""
    return reseal(SealedSecret.objects.filter(tenant_id=tenant_id).defer(None).select_for_update(no_key=True))


def reseal(rows: Iterable[Sealed]) -> tuple[int, int]:
    """Seal what each of these rows keeps anew; says how many were, and how many nothing opens."""
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
    """Raise Conflicting, with what to do, where nothing can be sealed."""
    _keys()


def _keys() -> MultiFernet:
    try:
        keys = [Fernet(key) for key in settings.SEALING_KEYS]
    except ValueError as flaw:
        raise Conflict("One of SEALING_KEYS is none: each is 32 random bytes in URL-safe Base64.") from flaw
    if not keys:
        raise Conflict(NO_KEYS)
    return MultiFernet(keys)
