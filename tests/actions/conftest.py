"""Fixtures of the acts and turns's tests."""

from tests.committing import committing
from tests.standing_in import standin, standing_in

__all__ = ["committing", "standin", "standing_in"]
