"""Registry of the surfaces and the acts that each one offers, for `docs/policy.md` and `sync_policy --check`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from django.utils.module_loading import autodiscover_modules

from apps.governance.policy.policy_table import Act


@dataclass(frozen=True, slots=True)
class SurfaceConformance:
    """A surface, with functions that return where it offers each act, and a line for each departure from the policy."""

    name: str
    offers: Callable[[], Mapping[Act, Iterable[str]]]
    departures: Callable[[], Iterable[str]]


_surfaces_by_name: dict[str, SurfaceConformance] = {}


def register_surface(surface: SurfaceConformance) -> None:
    """Register a surface. Each surface's `policy_conformance.py` calls this once."""
    _surfaces_by_name[surface.name] = surface


def surfaces() -> tuple[SurfaceConformance, ...]:
    """Return all registered surfaces, sorted by name."""
    # Not discovered at start-up, because discovery imports every page and view.
    autodiscover_modules("policy_conformance")
    return tuple(_surfaces_by_name[name] for name in sorted(_surfaces_by_name))


def acts_by_surface() -> dict[Act, dict[str, list[str]]]:
    """Return, for each act, the surfaces that offer it and the places where they do."""
    found: dict[Act, dict[str, list[str]]] = {act: {} for act in Act}
    for surface in surfaces():
        for act, ways in surface.offers().items():
            found[act][surface.name] = sorted(set(ways))
    return found


def all_policy_violations() -> list[str]:
    """Return a line for each departure of a surface from the policy, prefixed with the surface's name."""
    return [f"{surface.name}: {line}" for surface in surfaces() for line in surface.departures()]
