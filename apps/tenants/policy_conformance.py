"""The acts that management commands offer, and checks of these acts against the policy."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from django.core.management import get_commands, load_command_class

from apps.governance.actors import PEOPLE, Role
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.policy.surface_conformance import SurfaceConformance, register_surface

CommandsByAct = Mapping[Act, list[str]]


def acts_offered() -> dict[Act, list[str]]:
    """Return each act with the commands that perform it."""
    found: dict[Act, list[str]] = defaultdict(list)
    for declared in (offers_of("acts"), offers_of("acts_of_members")):
        for act, names in declared.items():
            found[act] += names
    return found


def offers_of(declaring: str) -> CommandsByAct:
    """Return the acts that commands declare in one attribute: `acts`, or `acts_of_members` for acts that need `--as`."""
    found: dict[Act, list[str]] = defaultdict(list)
    for name, app in sorted(get_commands().items()):
        if app.startswith("apps."):
            for act in getattr(load_command_class(app, name), declaring, ()):
                found[act].append(name)
    return found


def policy_violations() -> Iterator[str]:
    """Yield a sentence for each command that acts as the system or as a member although the policy forbids them the act."""
    for act, names in offers_of("acts").items():
        if Role.SYSTEM not in POLICY[act].allowed:
            yield f"{', '.join(names)} acts as the system, which may not {act.value}."
    for act, names in offers_of("acts_of_members").items():
        if not PEOPLE & POLICY[act].allowed:
            yield f"{', '.join(names)} acts as a member, and no member may {act.value}."


register_surface(SurfaceConformance("commands", acts_offered, policy_violations))
