"""Who tries, what, and where it stands; and the shapes that most acts have."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apps.governance.actors import Actor
from apps.governance.models import Governed
from apps.tenants.models import Agent
from tests.random_acts.two_tenants import ActingTenant, NoRowForAct


@dataclass
class ActChoice:
    """Who tries, where the row stands, and which one it is. `is_crossed` and `is_stale` say what makes it hopeless."""

    actor: Actor
    mine: ActingTenant
    there: ActingTenant
    pick: int
    stale: bool = False
    is_crossed: bool = False
    is_stale: bool = False
    is_barred: bool = False

    def row(self, model: Any, **equal: object) -> Any:  # Any: a governed model, and a row of it
        """One of the rows, whichever the number comes to."""
        self.is_crossed |= self.there is not self.mine
        rows = self.there.rows(model, **equal)
        if not rows:
            raise NoRowForAct(model.__name__)
        return rows[self.pick % len(rows)]

    def read_at(self, row: Governed) -> int | None:
        """The version they decide on: the present one, or none, or one that is gone."""
        if self.stale:
            self.is_stale = True
            return row.version + 7
        return row.version if self.pick % 2 else None

    @property
    def agent(self) -> Agent:
        """One of the agents over there."""
        self.is_crossed |= self.there is not self.mine
        return self.there.agents[self.pick % 2]

    @property
    def words(self) -> str:
        """New words of whoever tries."""
        return self.mine.words(self.actor)

    @property
    def name(self) -> str:
        """What nothing else is called."""
        return f"n{self.mine.tenant_id}x{next(self.mine.numbers)}"


ActRunner = Callable[[ActChoice], object]


def amend_row(model: Any, act: Callable[..., object], **equal: object) -> ActRunner:
    """An act on a standing row that needs no more than the row and the version that was read."""

    def deed(chosen: ActChoice) -> object:
        row = chosen.row(model, **equal)
        return act(row, actor=chosen.actor, read_at=chosen.read_at(row))

    return deed


def write_field(model: Any, act: Callable[..., object], name: str, **equal: object) -> ActRunner:
    """An act that puts new words into one field of a standing row."""

    def deed(chosen: ActChoice) -> object:
        row = chosen.row(model, **equal)
        return act(row, actor=chosen.actor, values={name: chosen.words}, read_at=chosen.read_at(row))

    return deed


def write_parameter(model: Any, act: Callable[..., object], name: str, **equal: object) -> ActRunner:
    """The same where the field has a parameter of its own."""

    def deed(chosen: ActChoice) -> object:
        row = chosen.row(model, **equal)
        return act(row, actor=chosen.actor, **{name: chosen.words}, read_at=chosen.read_at(row))

    return deed
