"""Worlds that stand committed in the databases of tests that roll back: making one takes longer than most tests."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from django.db import connection


@dataclass
class CommittedWorlds:
    """The worlds of this test process. Each test gets every one at most once, as it was when it was put up."""

    worlds: dict[str, list[Any]] = field(default_factory=dict)
    lent: int = 0

    def put_up(self, database: str, worlds: Iterable[Any]) -> None:
        """Keep what was just committed there."""
        self.worlds[database] = list(worlds)

    def begin(self) -> None:
        """Another test begins: whatever the last one wrote was rolled back."""
        self.lent = 0

    def lend(self) -> Any | None:
        """The next world, or None where none is left or the test commits elsewhere."""
        here = self.worlds.get(str(connection.settings_dict["NAME"]), [])
        if not connection.in_atomic_block or self.lent == len(here):
            return None
        self.lent += 1
        return deepcopy(here[self.lent - 1])


COMMITTED_WORLDS = CommittedWorlds()
