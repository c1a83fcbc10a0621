"""Fixtures of the kernel's tests."""

from tests.committing import committing
from tests.standing_in import standin, standing_in

__all__ = ["committing", "standin", "standing_in"]
