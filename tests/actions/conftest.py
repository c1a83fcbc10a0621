"""Fixtures of the acts and turns's tests."""

from tests.committing import committing
from tests.standing_in import standin, standing_in
from tests.tool_fixtures import asked_server, reaching, served

__all__ = ["asked_server", "committing", "reaching", "served", "standin", "standing_in"]
