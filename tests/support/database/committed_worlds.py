"""Worlds that are committed in the databases of tests that roll back: making one takes longer than most tests."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from django.db import connection


@dataclass
class CommittedWorlds:
    """The worlds of this test process. Each test gets every one at most once, in its original state."""

    worlds: dict[str, list[Any]] = field(default_factory=dict)
    lent: int = 0

    def put_up(self, database: str, worlds: Iterable[Any]) -> None:
        """Keep worlds that were just committed in this database."""
        self.worlds[database] = list(worlds)

    def begin(self) -> None:
        """Begin another test: the writes of the last one were rolled back."""
        self.lent = 0

    def lend(self) -> Any | None:
        """Return the next world, or None if none is left or the test commits elsewhere."""
        here = self.worlds.get(str(connection.settings_dict["NAME"]), [])
        if not connection.in_atomic_block or self.lent == len(here):
            return None
        self.lent += 1
        return deepcopy(here[self.lent - 1])


COMMITTED_WORLDS = CommittedWorlds()
