"""Signed links to files: short-lived, given to one holder, and worth no more than that holder's right when they are used."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.utils import timezone

from apps.governance.errors import NotPermitted, NotVisible
from apps.skills.attachments.attachment_access import find_fetchable_file
from apps.skills.skill_validation import Attachment
from apps.tenants.authentication.signed_link_holders import HolderKind, SignedLinkHolder, actor_of

SALT = "preceptor.attachment.1"
DEAD_LINK_MESSAGE = (
    "This link leads to no file, or no longer: links live a few minutes, and end with the right to the file."
    " Ask for a new one."
)


@dataclass(frozen=True, slots=True)
class SignedLink:
    """What to put behind `/files/`, and until when it works."""

    token: str
    expires_at: datetime


def make_link(file: Attachment, skill_id: int, holder: SignedLinkHolder) -> SignedLink:
    """A link for this holder alone: nobody can make or change one without the installation's secret."""
    expires_at = timezone.now() + timedelta(seconds=settings.ATTACHMENT_LINK_SECONDS)
    # A list: the token stands in an address, and every byte counts.
    payload = [
        *(holder.tenant_id, holder.kind.value, holder.row_id),
        *(skill_id, file.name, file.sha256, int(expires_at.timestamp())),
    ]
    return SignedLink(signing.dumps(payload, salt=SALT, compress=True), expires_at)


def resolve_link(token: str) -> Attachment:
    """The file a link leads to now. Whatever is wrong with it reads the same."""
    try:
        tenant_id, kind, row_id, skill_id, name, sha256, expires = signing.loads(token, salt=SALT)
        holder = SignedLinkHolder(tenant_id, HolderKind(kind), row_id)
    except (signing.BadSignature, ValueError) as refusal:
        raise NotVisible(DEAD_LINK_MESSAGE) from refusal
    actor = actor_of(holder)
    if actor is None or timezone.now().timestamp() >= expires:
        raise NotVisible(DEAD_LINK_MESSAGE)
    try:
        return find_fetchable_file(skill_id, name, sha256, actor=actor)
    except (NotPermitted, NotVisible) as refusal:
        raise NotVisible(DEAD_LINK_MESSAGE) from refusal
