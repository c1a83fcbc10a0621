"""Signed links to files: short-lived, given to one holder, and worth no more than that holder's right when they are used."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.utils import timezone

from apps.governance.errors import NotPermitted, NotVisible
from apps.skills.attachments.attachment_access import file_for
from apps.skills.skill_validation import Attached
from apps.tenants.authentication.signed_link_holders import Holder, Kind, actor_of

SALT = "preceptor.attachment.1"
DEAD = "This link leads to no file, or no longer: links live a few minutes, and end with the right to the file. Ask for a new one."


@dataclass(frozen=True, slots=True)
class Link:
    """What to put behind `/files/`, and until when it works."""

    token: str
    expires_at: datetime


def link_to(file: Attached, skill_id: int, holder: Holder) -> Link:
    """A link for this holder alone: nobody can make or change one without the installation's secret."""
    expires_at = timezone.now() + timedelta(seconds=settings.ATTACHMENT_LINK_SECONDS)
    # A list: the token stands in an address, and every byte counts.
    said = [
        *(holder.tenant_id, holder.kind.value, holder.row_id),
        *(skill_id, file.name, file.sha256, int(expires_at.timestamp())),
    ]
    return Link(signing.dumps(said, salt=SALT, compress=True), expires_at)


def file_behind(token: str) -> Attached:
    """The file a link leads to now. Whatever is wrong with it reads the same."""
    try:
        tenant_id, kind, row_id, skill_id, name, sha256, expires = signing.loads(token, salt=SALT)
        holder = Holder(tenant_id, Kind(kind), row_id)
    except (signing.BadSignature, ValueError) as refusal:
        raise NotVisible(DEAD) from refusal
    actor = actor_of(holder)
    if actor is None or timezone.now().timestamp() >= expires:
        raise NotVisible(DEAD)
    try:
        return file_for(skill_id, name, sha256, actor=actor)
    except (NotPermitted, NotVisible) as refusal:
        raise NotVisible(DEAD) from refusal
