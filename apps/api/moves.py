"""Moves of a state machine asked for by the name of the state to reach."""

from django_fsm import Transition

from apps.api.refusals import NoSuchMove
from apps.governance.models import Governed


def refuse_unreachable(row: Governed, field: str, to: str) -> None:
    """Say which states can be reached instead, before anything is locked."""
    moves: list[Transition] = list(getattr(row, f"get_available_{field}_transitions")())
    allowed = sorted({str(move.target) for move in moves if move.custom.get("by_name", True)})
    if to not in allowed:
        name = row._meta.verbose_name
        instead = f"It can become {' or '.join(allowed)}." if allowed else "That is where it ends."
        raise NoSuchMove(f"A {name} that is {getattr(row, field)} cannot become {to}. {instead}", allowed)
