"""Who a customer is, as the tenant's own server signed it. The key goes in and never comes out; two of them hold at a time."""

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
    """Take another key for signatures; the one before it goes on holding until the next rotation, or not at all.

    An empty key ends proofs: nobody can prove who they are until there is one again.
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
    """The number of the key that signed this customer; refused where none did."""
    if not end_user_key:
        raise _invalid_signature("A signature says who writes: send the end_user_key that it was made of too.")
    keys = list(_open_proof_keys(actor))
    if not keys:
        raise _invalid_signature(
            "This tenant keeps no key that signatures could be checked with. An admin enters one under Settings."
        )
    for number, key in keys:
        if is_signature_of(key, end_user_key, user_hash):
            return number
    raise _invalid_signature(
        "This is not the signature of this end_user_key. Sign it by HMAC-SHA256 with the tenant's key, in lower-case hex."
    )


def _invalid_signature(flaw: str) -> Invalid:
    return Invalid(flaw, {"user_hash": [flaw]})


def _open_proof_keys(actor: Actor) -> Iterator[tuple[int, str]]:
    """Those that hold and can be opened, by number. Read as the system: neither people nor agents may read what is sealed."""
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
