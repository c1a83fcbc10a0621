"""Lines whose date has come: people wanted to look at them again, or they hold no more."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from django.db.models import Q

from apps.memory.models import MemoryLine


def due(now: datetime) -> Mapping[str, Q]:
    """Of the lines that stand, of memory or of a customer."""
    standing = Q(status=MemoryLine.Status.ACTIVE)
    return MappingProxyType(
        {"review": standing & Q(review_after__lte=now), "expired": standing & Q(valid_until__lte=now)}
    )
