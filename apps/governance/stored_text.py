"""What may be stored as text, and the hash a reviewed text is known by."""

import hashlib

from django.core.exceptions import ValidationError


def validate_storable_text(value: str) -> None:
    """Refuse what PostgreSQL or UTF-8 cannot hold: NUL and lone surrogates."""
    if "\x00" in value:
        raise ValidationError("The text contains a NUL character (U+0000). Remove it.")
    try:
        value.encode()
    except UnicodeEncodeError as refusal:
        raise ValidationError(
            f"The text has half a surrogate pair at position {refusal.start}. Remove it."
        ) from refusal


def content_sha256(*parts: str) -> str:
    """The hash of texts in order, as the database's triggers compute it."""
    # Each part with its length: no separator, which a text could hold, decides where one ends and the next begins.
    encoded = [part.encode() for part in parts]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in encoded)).hexdigest()


def storable_text(text: str) -> str:
    """Text without what PostgreSQL cannot hold, NUL and half a surrogate pair; a model may write either."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "").encode(errors="replace").decode()
