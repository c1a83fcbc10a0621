"""Storage of attachment bytes in a private folder or bucket, with a prefix per tenant and unguessable keys."""

import secrets
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import quote

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

from apps.skills.skill_validation import Attachment

STORAGE_ALIAS = "attachments"
# The lifetime of a bucket link. A download only has to start within this time.
BUCKET_URL_SECONDS = 60


def store_bytes(tenant_id: int, content: bytes) -> str:
    """Store bytes under a new key and return the key.

    Call this before a row refers to the key; the sweep removes orphaned bytes.
    """
    return _storage().save(f"{tenant_id}/{secrets.token_hex(24)}", ContentFile(content))


def read_bytes(key: str) -> bytes | None:
    """Return the stored bytes, or None if they no longer exist."""
    try:
        with _storage().open(key) as stored:
            content: bytes = stored.read()
    except FileNotFoundError:
        return None
    return content


def signed_bucket_url(file: Attachment) -> str:
    """Return a signed bucket URL that is valid for a minute, or an empty text if this process serves the bytes itself."""
    if not settings.ATTACHMENTS_S3_BUCKET:
        return ""
    given = {
        "ResponseContentDisposition": content_disposition(file.name),
        "ResponseContentType": file.media_type,
        "ResponseCacheControl": "private, no-store",
    }
    return str(_storage().url(file.key, parameters=given, expire=BUCKET_URL_SECONDS))  # type: ignore[call-arg]  # S3Storage's


def content_disposition(name: str) -> str:
    """Return the `Content-Disposition` header of a download: an ASCII name for old clients, and the full name for all others."""
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_. ") else "_" for letter in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def tenants_with_files() -> list[int]:
    """Return the ids of the tenants that have stored files."""
    try:
        folders, _ = _storage().listdir("")
    except FileNotFoundError:
        return []
    return sorted(int(folder) for folder in folders if folder.isdigit())


def keys_stored_before(tenant_id: int, moment: datetime) -> Iterator[str]:
    """Yield the keys of a tenant's files that were stored before the given moment."""
    _, names = _storage().listdir(str(tenant_id))
    for name in sorted(names):
        key = str(PurePosixPath(str(tenant_id), name))
        if _storage().get_modified_time(key) < moment:
            yield key


def delete_bytes(key: str) -> None:
    """Delete stored bytes permanently."""
    _storage().delete(key)


def _storage() -> Storage:
    return storages[STORAGE_ALIAS]
