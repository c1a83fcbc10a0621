"""Look-ups that a turn can do without: a failing one is logged with its name and leaves its part out (R044)."""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, transaction

logger = logging.getLogger(__name__)

Read = TypeVar("Read")


def read_or_omit(name: str, read: Callable[[], Read], missing: Read) -> Read:
    """What is read, or what stands for nothing."""
    try:
        with transaction.atomic():
            return read()
    except DatabaseError:
        logger.exception("prompt slot omitted", extra={"slot": name})
        return missing
