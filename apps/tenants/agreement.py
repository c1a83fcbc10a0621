"""Which management command is which act."""

from collections import defaultdict
from collections.abc import Iterator

from django.core.management import get_commands, load_command_class

from apps.governance.actors import Role
from apps.governance.agreements import Surface, join
from apps.governance.policy import POLICY, Act


def offers() -> dict[Act, list[str]]:
    """Each act with the commands that perform it."""
    found: dict[Act, list[str]] = defaultdict(list)
    for name, app in sorted(get_commands().items()):
        if app.startswith("apps."):
            for act in getattr(load_command_class(app, name), "acts", ()):
                found[act].append(name)
    return found


def departures() -> Iterator[str]:
    """Commands that do what the policy gives the system no right to."""
    for act, names in offers().items():
        if Role.SYSTEM not in POLICY[act].allowed:
            yield f"{', '.join(names)} acts as the system, which may not {act.value}."


join(Surface("commands", offers, departures))
