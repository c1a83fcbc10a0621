"""What a surface says of itself, so that the policy's page can tell where each act is offered and `--check` whether it agrees."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from django.utils.module_loading import autodiscover_modules

from apps.governance.policy.policy_table import Act


@dataclass(frozen=True, slots=True)
class SurfaceConformance:
    """A way in: in whose words it offers each act, and each place where it departs from the policy."""

    name: str
    offers: Callable[[], Mapping[Act, Iterable[str]]]
    departures: Callable[[], Iterable[str]]


_surfaces_by_name: dict[str, SurfaceConformance] = {}


def register_surface(surface: SurfaceConformance) -> None:
    """Called once by each surface's `policy_conformance.py`."""
    _surfaces_by_name[surface.name] = surface


def surfaces() -> tuple[SurfaceConformance, ...]:
    """Every surface there is, by name."""
    # Only who asks pays for importing every page and view.
    autodiscover_modules("policy_conformance")
    return tuple(_surfaces_by_name[name] for name in sorted(_surfaces_by_name))


def acts_by_surface() -> dict[Act, dict[str, list[str]]]:
    """For each act the surfaces that offer it, and how."""
    found: dict[Act, dict[str, list[str]]] = {act: {} for act in Act}
    for surface in surfaces():
        for act, ways in surface.offers().items():
            found[act][surface.name] = sorted(set(ways))
    return found


def all_policy_violations() -> list[str]:
    """Where a surface departs from the policy, in words that name the place."""
    return [f"{surface.name}: {line}" for surface in surfaces() for line in surface.departures()]
