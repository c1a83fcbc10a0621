"""Optional reads of a prompt: if one fails, it is logged by name and its part of the prompt is left out (R044)."""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, transaction

logger = logging.getLogger(__name__)

Read = TypeVar("Read")


def read_or_omit(name: str, read: Callable[[], Read], missing: Read) -> Read:
    """Return the value read, or `missing` if the read fails."""
    try:
        with transaction.atomic():
            return read()
    except DatabaseError:
        logger.exception("prompt slot omitted", extra={"slot": name})
        return missing
