"""Validation of text for storage, and the hash that identifies a reviewed text."""

import hashlib

from django.core.exceptions import ValidationError


def validate_storable_text(value: str) -> None:
    """Refuse characters that PostgreSQL or UTF-8 cannot store: NUL and lone surrogates."""
    if "\x00" in value:
        raise ValidationError("The text contains a NUL character (U+0000). Remove it.")
    try:
        value.encode()
    except UnicodeEncodeError as refusal:
        raise ValidationError(
            f"The text has half a surrogate pair at position {refusal.start}. Remove it."
        ) from refusal


def content_sha256(*parts: str) -> str:
    """Return the hash of the texts in order, computed as the database's triggers do."""
    # Each part is preceded by its length, because a text could contain any separator.
    encoded = [part.encode() for part in parts]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in encoded)).hexdigest()


def storable_text(text: str) -> str:
    """Return the text without NUL, and with lone surrogates replaced.

    PostgreSQL cannot store either, and a model may write both.
    """
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "").encode(errors="replace").decode()
