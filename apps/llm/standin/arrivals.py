from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Arrived:
    """An HTTP request, read whole."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def account(self) -> str:
        """Whose key it is: caches are not shared between accounts. Empty without a key."""
        return self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ").strip()
