"""Effects of an outside system, as it reports them; without Django, because that system does not use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Effects:
    """Every effect by its key: keyed ones once for each key, unsafe ones each time they were called.

    `told` lists the deliveries of a webhook in the order they came, with their conversations.
    """

    keyed: Mapping[str, int] = field(default_factory=dict)
    unsafe: Mapping[str, int] = field(default_factory=dict)
    told: Sequence[tuple[int, int]] = ()
