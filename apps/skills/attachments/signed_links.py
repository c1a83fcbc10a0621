"""Signed, short-lived links to files. A link works only while its holder may fetch the file."""

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
    "This link is not valid, or no longer: a link lasts a few minutes, and ends when its holder loses access to the file."
    " Ask for a new one."
)


@dataclass(frozen=True, slots=True)
class SignedLink:
    """The token for a URL under `/files/`, and its expiry."""

    token: str
    expires_at: datetime


def make_link(file: Attachment, skill_id: int, holder: SignedLinkHolder) -> SignedLink:
    """Create a link for this holder. Only the installation's secret can sign links."""
    expires_at = timezone.now() + timedelta(seconds=settings.ATTACHMENT_LINK_SECONDS)
    # A list instead of a mapping keeps the token in the URL short.
    payload = [
        *(holder.tenant_id, holder.kind.value, holder.row_id),
        *(skill_id, file.name, file.sha256, int(expires_at.timestamp())),
    ]
    return SignedLink(signing.dumps(payload, salt=SALT, compress=True), expires_at)


def resolve_link(token: str) -> Attachment:
    """Return the file that a link gives access to. Every invalid link gives the same refusal."""
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
