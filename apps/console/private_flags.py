"""What looks like somebody's in words that no person has approved and that would reach every customer."""

from collections.abc import Mapping

from apps.console.flags import Flag
from apps.governance.actors import Actor
from apps.tenants.pii_flags import private_in


def private_flags(texts: Mapping[str, str], actor: Actor) -> list[Flag]:
    """Field by field; the reviewer knows whether it is the house's own."""
    return [
        Flag(f"It holds what looks like somebody's ({found.kind}).", found.place.replace("_", " "), found.words)
        for found in private_in(texts, actor=actor)
    ]


def unapproved(body: str, approved: str) -> str:
    """The lines of a text that nobody has vouched for."""
    passed = frozenset(line.strip() for line in approved.splitlines())
    return "\n".join(line for line in body.splitlines() if line.strip() not in passed)
