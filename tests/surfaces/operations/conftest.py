"""A database in which tests commit, for what a process says of it."""

from tests.committing import committing

__all__ = ["committing"]
