"""The guard: a governed row is written inside an act or not at all.

It catches the forgotten path (`save`, `update`, `create`, related managers, the admin's delete); the database's grants and
row security stand below it for whatever bypasses Python.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self, TypeVar

from django.db import models

from apps.governance.acting import acting_actor
from apps.governance.actors import Actor
from apps.governance.errors import MissingActor, UngovernedWrite
from apps.governance.refusals import Subject, note

_open: ContextVar[bool] = ContextVar("door_open", default=False)

Row = TypeVar("Row", bound=models.Model)


@contextmanager
def door_open() -> Iterator[None]:
    """Let writes through; only the door itself enters here."""
    token = _open.set(True)
    try:
        yield
    finally:
        _open.reset(token)


def refuse_ungoverned(model: type[models.Model]) -> None:
    """Refuse a write that no act stands behind."""
    if not _open.get():
        refusal = UngovernedWrite(
            f"{model._meta.verbose_name} is governed: write it through a function of its actions.py."
        )
        note(refusal, acting_actor(), subject=Subject(model._meta.label_lower))
        raise refusal


def refuse_unless_acting(actor: Actor | None) -> None:
    """Refuse to read for nobody, or for another than the one acting: PostgreSQL would show no row, and nothing would look wrong."""
    if actor is None:
        raise MissingActor("Name the actor whose rows to read.")
    if acting_actor() != actor:
        raise MissingActor("Read inside `with acting(actor)`: PostgreSQL shows no row otherwise.")


class GovernedQuerySet(models.QuerySet[Row]):
    """Reads for everybody who may see the rows; writes only through the door."""

    def visible_to(self, actor: Actor) -> Self:
        """The rows of the actor's tenant. Fails closed without an actor, and unless the actor is the one acting."""
        refuse_unless_acting(actor)
        return self.filter(tenant_id=actor.tenant_id)

    def create(self, **kwargs: Any) -> Row:
        """Refused outside an act."""
        refuse_ungoverned(self.model)
        return super().create(**kwargs)

    def bulk_create(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> list[Row]:
        """Refused outside an act."""
        refuse_ungoverned(self.model)
        return super().bulk_create(objs, *args, **kwargs)

    def bulk_update(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> int:
        """Refused outside an act."""
        refuse_ungoverned(self.model)
        return super().bulk_update(objs, *args, **kwargs)

    def update(self, **kwargs: Any) -> int:
        """Refused outside an act."""
        refuse_ungoverned(self.model)
        return super().update(**kwargs)

    def delete(self) -> tuple[int, dict[str, int]]:
        """Refused outside an act."""
        refuse_ungoverned(self.model)
        return super().delete()

    def _raw_delete(self, using: str | None) -> int:
        # Django's collector, and with it the admin's delete, comes this way and never calls delete().
        refuse_ungoverned(self.model)
        return super()._raw_delete(using)
