"""What somebody else's system did, as it says itself; knows no Django, for that system knows none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Effects:
    """Every effect by its key: keyed ones after it knew doubles apart, unsafe ones each time it was called.

    `told` is each delivery of a webhook in the order in which it came, with its conversation.
    """

    keyed: Mapping[str, int] = field(default_factory=dict)
    unsafe: Mapping[str, int] = field(default_factory=dict)
    told: Sequence[tuple[int, int]] = ()
