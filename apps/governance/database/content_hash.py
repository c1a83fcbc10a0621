"""The hash of `stored_text.content_sha256` as an SQL expression, so that lists can compare hashes without reading the texts."""

from typing import Any

from django.db.models import CharField, Func


class LengthPrefixed(Func):
    """The length of a text in bytes, a colon, and the text, as arguments of `concat`."""

    template = "octet_length(%(expressions)s), ':', %(expressions)s"
    arity = 1


class ContentSha256(Func):
    """The content hash of text columns, in this order."""

    template = "encode(sha256(convert_to(concat(%(expressions)s), 'UTF8')), 'hex')"

    def __init__(self, *columns: str, **extra: Any) -> None:
        super().__init__(*map(LengthPrefixed, columns), output_field=CharField(), **extra)
