"""Uploads: check the file, store its bytes, then attach it to the skill. No transaction is open while bytes are stored."""

import hashlib
from dataclasses import asdict

from django.conf import settings
from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.governed_write import authorize
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.skills.actions import attach_file
from apps.skills.attachments.attachment_access import invalid_from_refusal, refuse_change
from apps.skills.attachments.blob_store import store_bytes
from apps.skills.models import Skill
from apps.skills.skill_validation import Attachment, FileRefusal, file_limit_refusal, scan_file, vet_file
from apps.tenants.authentication.actor_resolution import system_actor

_STORED_BYTES_SQL = """
SELECT coalesce(sum((file ->> 'size_bytes')::bigint), 0)
  FROM skills_skill, jsonb_array_elements(attachments) AS file WHERE tenant_id = %s
"""


def upload_file(
    skill: Skill,
    *,
    actor: Actor,
    name: str,
    content: bytes,
    read_at: int | None = None,
    reason: str = "",
    taint: Taint | None = None,
) -> Skill:
    """Attach an uploaded file; `taint` is its source. As many checks as possible run before the bytes are stored."""
    authorize(actor, Act.SKILL_ATTACH, skill.tenant_id, agent_id=skill.agent_id)
    refuse_change(skill, actor, Act.SKILL_ATTACH)
    vetted = vet_file(name, content, settings.ATTACHMENT_BYTES)
    if isinstance(vetted, FileRefusal):
        raise invalid_from_refusal(vetted)
    if full := file_limit_refusal(skill.files, vetted.name, settings.ATTACHMENTS_PER_SKILL):
        raise invalid_from_refusal(full)
    refuse_full_tenant(actor.tenant_id, len(content))
    file = Attachment(
        name=vetted.name,
        media_type=vetted.media_type,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        key=store_bytes(actor.tenant_id, content),
        uploaded_by=actor.label,
        **asdict(scan_file(vetted.media_type, content)),
    )
    return attach_file(skill, actor=actor, file=file, read_at=read_at, reason=reason, taint=taint)


def stored_bytes(tenant_id: int) -> int:
    """Return the total size of the files of a tenant's skills, including those of agents that the caller may not see."""
    with acting_as(system_actor(tenant_id)), connection.cursor() as cursor:
        cursor.execute(_STORED_BYTES_SQL, [tenant_id])
        return int(cursor.fetchone()[0])


def refuse_full_tenant(tenant_id: int, size_bytes: int) -> None:
    """Refuse files that would exceed the tenant's storage limit."""
    # No lock is taken, so two simultaneous uploads may exceed the limit by one file.
    stored, limit = stored_bytes(tenant_id), settings.ATTACHMENTS_TENANT_BYTES
    if stored + size_bytes > limit:
        raise invalid_from_refusal(
            FileRefusal(
                "file",
                f"The tenant has {stored} of {limit} bytes of files; {size_bytes} more do not fit. Remove files from skills.",
            )
        )
