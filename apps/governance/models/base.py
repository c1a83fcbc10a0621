"""Base of governed models: `Governed` with its taint, and the guard that refuses a write outside an act.

The guard catches the forgotten path (`save`, `update`, `create`, related managers, the admin's delete). The database's grants and
row security cover whatever bypasses Python.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from django.db import models
from django_fsm import FSMField, FSMModelMixin

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import current_actor
from apps.governance.errors import MissingActor, UngovernedWrite
from apps.governance.refusal_log import RefusalSubject, record_refusal

_is_write_open: ContextVar[bool] = ContextVar("door_open", default=False)

Row = TypeVar("Row", bound=models.Model)


@contextmanager
def governed_write_open() -> Iterator[None]:
    """Let writes through; only the door itself enters here."""
    token = _is_write_open.set(True)
    try:
        yield
    finally:
        _is_write_open.reset(token)


def refuse_ungoverned(model: type[models.Model]) -> None:
    """Refuse a write that no act stands behind."""
    if not _is_write_open.get():
        refusal = UngovernedWrite(
            f"{model._meta.verbose_name} is governed: write it through a function of its actions.py."
        )
        record_refusal(refusal, current_actor(), subject=RefusalSubject(model._meta.label_lower))
        raise refusal


def refuse_unless_acting(actor: Actor | None) -> None:
    """Refuse to read for nobody, or for another than the one acting: PostgreSQL would show no row, and nothing would look wrong."""
    if actor is None:
        raise MissingActor("Name the actor whose rows to read.")
    if current_actor() != actor:
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


class Taint(models.TextChoices):
    """Whose words a row carries; the join of two is the later in this list."""

    OPERATOR = "operator"
    AGENT = "agent"
    TOOL = "tool"
    CUSTOMER = "customer"
    IMPORT = "import"

    @classmethod
    def joined(cls, *taints: str) -> "Taint":
        """Whose words a row carries that was made of several."""
        return max(map(cls, taints), key=list(cls).index)


class StateField(FSMField):
    """A state that only transitions move. Migrations see a plain text: there, each copy of a machine would listen to all models."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, protected=True, **kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """What stands in the table, and nothing of who moves it."""
        name, _, arguments, options = super().deconstruct()
        del options["protected"]
        return name, "django.db.models.CharField", arguments, options

    if TYPE_CHECKING:
        # Any: the package is untyped, and so is the text that a row has under such a field's name.
        def __get__(self, row: Any, owner: Any) -> Any: ...
        def __set__(self, row: Any, value: Any) -> None: ...


class Governed(FSMModelMixin, models.Model):
    """A tenant's row that only acts may write. Version and time of change are stamped by the database."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    version = models.PositiveIntegerField(default=1, editable=False)
    taint = models.CharField(max_length=20, choices=Taint.choices, default=Taint.OPERATOR, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now_add=True)

    # What the acts on these rows are named after in the policy.
    noun: ClassVar[str] = ""
    # Fields no change record keeps a copy of: stamped by the database, or secret.
    unrecorded: ClassVar[frozenset[str]] = frozenset({"version", "updated_at", "created_at"})
    # Fields that triggers fill in, read back after each write.
    stamped: ClassVar[tuple[str, ...]] = ()
    # Rows named by a customer's address are called by their number in records, which outlive an erasure.
    named_by_customer: ClassVar[bool] = False
    # The version that the next act on this row in hand has to find, where a surface was told one beside the act's own words.
    expected_version: int | None = None

    class Meta:
        abstract = True
        # Related managers write through the base manager; it must be the guarded one.
        base_manager_name = "objects"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refused outside an act."""
        refuse_ungoverned(type(self))
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refused outside an act."""
        refuse_ungoverned(type(self))
        return super().delete(*args, **kwargs)

    @property
    def agent_concerned(self) -> int | None:
        """The agent the row belongs to, whose grants decide; None where it is the whole tenant's."""
        agent_id: int | None = getattr(self, "agent_id", None)
        return agent_id
