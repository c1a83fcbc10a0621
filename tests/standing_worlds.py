"""Worlds that stand committed in the database of tests that roll back: making one takes longer than most tests."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from tests.settings import PREFIX


@dataclass
class Standing:
    """The worlds of this test process. Each test gets every one at most once, as it was when it was put up."""

    worlds: list[Any] = field(default_factory=list)
    lent: int = 0

    def put_up(self, worlds: Iterable[Any]) -> None:
        """Keep what was just committed."""
        self.worlds = list(worlds)

    def begin(self) -> None:
        """Another test begins: whatever the last one wrote was rolled back."""
        self.lent = 0

    def lend(self) -> Any | None:
        """The next world, or None where none is left or the test commits elsewhere."""
        here = connection.settings_dict["NAME"] == PREFIX and connection.in_atomic_block
        if not here or self.lent == len(self.worlds):
            return None
        self.lent += 1
        return deepcopy(self.worlds[self.lent - 1])


STANDING = Standing()
