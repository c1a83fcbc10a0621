"""Conditional requests (RFC 9110): `If-Match` for writes to a known version, `If-None-Match` for cached reads.

The ETag of a row contains its version and a hash of its whole representation. A 304 depends on the hash as well; a write compares
only the version.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Model
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from apps.api.protocol.exceptions import PreconditionFailed
from apps.api.protocol.serializers import WRITE_RESPONSE_FIELDS
from apps.governance.models import Governed

IF_MATCH: Final = "If-Match"
IF_NONE_MATCH: Final = "If-None-Match"
_TAG_PATTERN: Final = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAG_LIST_PATTERN: Final = re.compile(rf"(?:[ \t]*,)*[ \t]*{_TAG_PATTERN}(?:[ \t]*,(?:[ \t]*{_TAG_PATTERN})?)*[ \t]*")
_SINGLE_TAG: Final = re.compile(_TAG_PATTERN)
_HASH_CHARACTERS: Final = 16


@dataclass(frozen=True, slots=True)
class ETagList:
    """The value of the header: any row (`*`), or these tags as sent, with quotes and `W/`."""

    is_any: bool
    named: frozenset[str]

    def has(self, tag: str) -> bool:
        """Return whether the header names a tag, by weak comparison: an equal representation counts."""
        return self.is_any or tag in {each.removeprefix("W/") for each in self.named}

    def has_version(self, version: int | None, *, weakly: bool = False) -> bool:
        """Return whether one of the tags has this version. The strong comparison ignores weak tags."""
        tags = {each.removeprefix("W/") for each in self.named if weakly or not each.startswith("W/")}
        return self.is_any or str(version) in {tag.strip('"').partition("-")[0] for tag in tags}


def etag_of(version: int, shown: Mapping[str, Any], beside: Collection[str] = ()) -> str:
    """Return the ETag of a row's representation, without the fields in `beside`, which are computed separately from the row."""
    hashed_fields = {
        name: value for name, value in shown.items() if name not in WRITE_RESPONSE_FIELDS and name not in beside
    }
    return f'"{version}-{hashlib.sha256(JSONRenderer().render(hashed_fields)).hexdigest()[:_HASH_CHARACTERS]}"'


def matches_if_none_match(request: Request, tag: str) -> bool:
    """Return whether the client already has exactly this representation."""
    tags = _read_tags(request, IF_NONE_MATCH)
    return tags is not None and tags.has(tag)


def check_if_match(request: Request, row: Model) -> int | None:
    """Refuse a request whose preconditions the row does not satisfy. Return the version that the header requires, if any."""
    version: int | None = getattr(row, "version", None)
    none = None if request.method in SAFE_METHODS else _read_tags(request, IF_NONE_MATCH)
    if none is not None and none.has_version(version, weakly=True):
        raise PreconditionFailed(
            f"The row matches {IF_NONE_MATCH}, so nothing was done. Read the row again and decide on that.", version
        )
    match = _read_tags(request, IF_MATCH)
    if match is None or match.is_any:
        return None
    if not match.has_version(version):
        raise version_mismatch(version)
    if isinstance(row, Governed):
        row.expected_version = version
    return version


def version_mismatch(version: int | None) -> PreconditionFailed:
    """Return the refusal of a request that names another version of the row."""
    now = "it has no versions" if version is None else f"it is now at version {version}"
    return PreconditionFailed(
        f"The row does not match {IF_MATCH}: {now}. Read it again and decide on that version.", version
    )


def _read_tags(request: Request, header: str) -> ETagList | None:
    header_value = request.headers.get(header)
    if header_value is None:
        return None
    if header_value.strip() == "*":
        return ETagList(is_any=True, named=frozenset())
    if not _TAG_LIST_PATTERN.fullmatch(header_value):
        raise ValidationError({header: ['Send * or quoted tags as the header `ETag` gave them, such as "3-5f2c".']})
    return ETagList(is_any=False, named=frozenset(_SINGLE_TAG.findall(header_value)))
