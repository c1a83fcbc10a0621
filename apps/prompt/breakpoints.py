"""Where the prompt cache is told to keep what it has read."""

from typing import Final, Literal, TypeAlias

from apps.prompt.values import Assembled

Lifetime: TypeAlias = Literal["5m", "1h"]

SHARED_LIFETIME: Final[Lifetime] = "5m"
PERSONAL_LIFETIME: Final[Lifetime] = "5m"


def marks(assembled: Assembled) -> tuple[Lifetime | None, ...]:
    """For each part the mark it carries: A on the last shared one, B on the last personal one."""
    shared = _last_marked(len(assembled.shared), SHARED_LIFETIME)
    return shared + _last_marked(len(assembled.personal), PERSONAL_LIFETIME)


def _last_marked(parts: int, lifetime: Lifetime) -> tuple[Lifetime | None, ...]:
    return (None,) * (parts - 1) + (lifetime,) * (parts > 0)
