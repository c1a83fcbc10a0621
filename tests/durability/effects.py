"""What somebody else's system did, as it says itself; knows no Django, for that system knows none."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Effects:
    """Every effect by its key: keyed ones after it knew doubles apart, unsafe ones each time it was called."""

    keyed: Mapping[str, int] = field(default_factory=dict)
    unsafe: Mapping[str, int] = field(default_factory=dict)
