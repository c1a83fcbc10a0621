"""Where the bytes of attachments lie: a private folder or bucket, a prefix per tenant, keys that nobody can guess."""

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
# What a download becomes is the downloader's business; it must not begin to run here.
BUCKET_URL_SECONDS = 60


def store_bytes(tenant_id: int, content: bytes) -> str:
    """Store bytes before any row names them; what no row comes to name is swept later."""
    return _storage().save(f"{tenant_id}/{secrets.token_hex(24)}", ContentFile(content))


def read_bytes(key: str) -> bytes | None:
    """The stored bytes; None if they are gone."""
    try:
        with _storage().open(key) as stored:
            content: bytes = stored.read()
    except FileNotFoundError:
        return None
    return content


def signed_bucket_url(file: Attachment) -> str:
    """A signed address at the bucket, for a minute; empty where this process serves the bytes itself."""
    if not settings.ATTACHMENTS_S3_BUCKET:
        return ""
    given = {
        "ResponseContentDisposition": content_disposition(file.name),
        "ResponseContentType": file.media_type,
        "ResponseCacheControl": "private, no-store",
    }
    return str(_storage().url(file.key, parameters=given, expire=BUCKET_URL_SECONDS))  # type: ignore[call-arg]  # S3Storage's


def content_disposition(name: str) -> str:
    """Always a download, never shown in place; the plain name for old clients, the whole one for all others."""
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_. ") else "_" for letter in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def tenants_with_files() -> list[int]:
    """The tenants under whose prefix something lies."""
    try:
        folders, _ = _storage().listdir("")
    except FileNotFoundError:
        return []
    return sorted(int(folder) for folder in folders if folder.isdigit())


def keys_stored_before(tenant_id: int, moment: datetime) -> Iterator[str]:
    """The keys of a tenant that were stored before a moment."""
    _, names = _storage().listdir(str(tenant_id))
    for name in sorted(names):
        key = str(PurePosixPath(str(tenant_id), name))
        if _storage().get_modified_time(key) < moment:
            yield key


def delete_bytes(key: str) -> None:
    """Remove bytes for good."""
    _storage().delete(key)


def _storage() -> Storage:
    return storages[STORAGE_ALIAS]
