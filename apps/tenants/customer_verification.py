"""Verification of customers by signatures of the tenant's server. Keys are never returned; up to two are valid at a time."""

import logging
from collections.abc import Iterator

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models.endpoints import SealedSecret
from apps.tenants.models.tenant import TenantSettings
from apps.tenants.rules import is_signature_of, key_flaw
from apps.tenants.sealed_secrets import CannotOpen, delete_secrets, store_secret, unseal

logger = logging.getLogger(__name__)


def rotate_proof_key(
    settings: TenantSettings, *, actor: Actor, key: str, keep_former: bool = True, read_at: int | None = None
) -> TenantSettings:
    """Replace the signing key. The previous key stays valid until the next rotation, or ends at once without `keep_former`.

    An empty key ends verification: no customer can be verified until a key is set again.
    """
    if key and (flaw := key_flaw(key)):
        raise Invalid(flaw, {"key": [flaw]})
    with acting_as(actor):
        with governed(Act.SETTINGS_ROTATE_PROOF_KEY, settings, actor=actor, read_at=read_at) as row:
            before = {row.proof_secret_id, row.former_proof_secret_id}
            kept = row.proof_secret_id if keep_former and key else None
            row.proof_secret = store_secret(key, actor=actor) if key else None
            row.former_proof_secret_id = kept
        delete_secrets(*before - {kept}, actor=actor)
    return settings


def signing_key_id(end_user_key: str, user_hash: str, *, actor: Actor) -> int:
    """Return the id of the key that signed this customer's key. Raises a refusal if no valid key did."""
    if not end_user_key:
        raise _invalid_signature("A signature needs its customer. Send the end_user_key that was signed too.")
    keys = list(_open_proof_keys(actor))
    if not keys:
        raise _invalid_signature(
            "This tenant has no key to check signatures with. Ask an admin to enter one under Settings."
        )
    for number, key in keys:
        if is_signature_of(key, end_user_key, user_hash):
            return number
    raise _invalid_signature(
        "This is not the signature of this end_user_key. Sign it with HMAC-SHA256 and the tenant's key, in lower-case hex."
    )


def _invalid_signature(flaw: str) -> Invalid:
    return Invalid(flaw, {"user_hash": [flaw]})


def _open_proof_keys(actor: Actor) -> Iterator[tuple[int, str]]:
    """Yield the valid keys that can be decrypted, with their ids.

    They are read as the system, because neither people nor agents may read sealed secrets.
    """
    system = system_actor(actor.tenant_id, "proofs")
    with acting_as(system):
        settings = TenantSettings.objects.visible_to(system).get()
        named = [each for each in (settings.proof_secret_id, settings.former_proof_secret_id) if each is not None]
        secrets = list(SealedSecret.objects.filter(tenant_id=actor.tenant_id, pk__in=named).defer(None))
    for secret in secrets:
        try:
            yield secret.pk, unseal(secret.ciphertext, secret.tenant_id)
        except CannotOpen:
            logger.error("a key for signatures cannot be opened", extra={"secret_id": secret.pk})
