"""The base of governed models: `Governed`, its taint, and the guard that refuses writes outside a governed write.

The guard covers every write path of Django (`save`, `update`, `create`, related managers, the admin's delete). The database's
grants and row security cover whatever bypasses the models.
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

_is_write_open: ContextVar[bool] = ContextVar("governed_write_open", default=False)

Row = TypeVar("Row", bound=models.Model)


@contextmanager
def governed_write_open() -> Iterator[None]:
    """Let writes pass the guard inside this block. Only `governed_write` uses it."""
    token = _is_write_open.set(True)
    try:
        yield
    finally:
        _is_write_open.reset(token)


def refuse_ungoverned(model: type[models.Model]) -> None:
    """Raise `UngovernedWrite`, and log it, if no governed write is open."""
    if not _is_write_open.get():
        refusal = UngovernedWrite(
            f"{model._meta.verbose_name} is governed: write it through a function of its actions.py."
        )
        record_refusal(refusal, current_actor(), subject=RefusalSubject(model._meta.label_lower))
        raise refusal


def refuse_unless_acting(actor: Actor | None) -> None:
    """Raise `MissingActor` unless the current transaction runs as this actor; PostgreSQL would silently return no rows."""
    if actor is None:
        raise MissingActor("Name the actor whose rows to read.")
    if current_actor() != actor:
        raise MissingActor("Read inside `with acting(actor)`: PostgreSQL shows no row otherwise.")


class GovernedQuerySet(models.QuerySet[Row]):
    """A queryset with a filter for the rows that an actor may see. It refuses writes outside a governed write."""

    def visible_to(self, actor: Actor) -> Self:
        """Return the rows of the actor's tenant. Raises `MissingActor` unless the current transaction runs as this actor."""
        refuse_unless_acting(actor)
        return self.filter(tenant_id=actor.tenant_id)

    def create(self, **kwargs: Any) -> Row:
        """Create a row; refused outside a governed write."""
        refuse_ungoverned(self.model)
        return super().create(**kwargs)

    def bulk_create(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> list[Row]:
        """Create rows; refused outside a governed write."""
        refuse_ungoverned(self.model)
        return super().bulk_create(objs, *args, **kwargs)

    def bulk_update(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> int:
        """Update the given rows; refused outside a governed write."""
        refuse_ungoverned(self.model)
        return super().bulk_update(objs, *args, **kwargs)

    def update(self, **kwargs: Any) -> int:
        """Update all matching rows; refused outside a governed write."""
        refuse_ungoverned(self.model)
        return super().update(**kwargs)

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete all matching rows; refused outside a governed write."""
        refuse_ungoverned(self.model)
        return super().delete()

    def _raw_delete(self, using: str | None) -> int:
        # Django's deletion collector, which the admin uses, calls this method and never `delete()`.
        refuse_ungoverned(self.model)
        return super()._raw_delete(using)


class Taint(models.TextChoices):
    """The source of a row's text, in ascending order: a text from two sources has the later taint of the two."""

    OPERATOR = "operator"
    AGENT = "agent"
    TOOL = "tool"
    CUSTOMER = "customer"
    IMPORT = "import"

    @classmethod
    def joined(cls, *taints: str) -> "Taint":
        """Return the taint of a row that combines these sources: the latest of them in the enum."""
        return max(map(cls, taints), key=list(cls).index)


class StateField(FSMField):
    """A state field that only transitions may change.

    Migrations see a plain text field, because every copy would register listeners on all models.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, protected=True, **kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """Return a plain text column for migrations, without the state machine."""
        name, _, arguments, options = super().deconstruct()
        del options["protected"]
        return name, "django.db.models.CharField", arguments, options

    if TYPE_CHECKING:
        # Any: the package is untyped, and `FSMField` is declared as the text that rows hold in it.
        def __get__(self, row: Any, owner: Any) -> Any: ...
        def __set__(self, row: Any, value: Any) -> None: ...


class Governed(FSMModelMixin, models.Model):
    """A row of a tenant that only governed writes may change. The database stamps its version and time of change."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    version = models.PositiveIntegerField(default=1, editable=False)
    taint = models.CharField(max_length=20, choices=Taint.choices, default=Taint.OPERATOR, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now_add=True)

    # The part before the dot in the names of this model's acts, such as `skill` in `skill.approve`.
    noun: ClassVar[str] = ""
    # Fields that change records do not copy, because the database stamps them or they are secret.
    unrecorded: ClassVar[frozenset[str]] = frozenset({"version", "updated_at", "created_at"})
    # Fields that triggers fill in; they are read back after each write.
    stamped: ClassVar[tuple[str, ...]] = ()
    # Foreign keys that the row's label names, such as its agent. They are loaded before the label is stored.
    named_after: ClassVar[tuple[str, ...]] = ()
    # Change records outlive an erasure, so a row whose label is a customer's address is named by its id in them.
    named_by_customer: ClassVar[bool] = False
    # The version that the next act on this object expects, if a surface received it outside the act's values (If-Match).
    expected_version: int | None = None

    class Meta:
        abstract = True
        # Related managers write through the base manager, so it must be the guarded one.
        base_manager_name = "objects"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the row; refused outside a governed write."""
        refuse_ungoverned(type(self))
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the row; refused outside a governed write."""
        refuse_ungoverned(type(self))
        return super().delete(*args, **kwargs)

    @property
    def stored_label(self) -> str:
        """The row's label for change records and proposals, which keep it."""
        for name in self.named_after:
            getattr(self, name)
        return str(self)[:200]

    @property
    def proposal_label(self) -> str:
        """The row's label in a proposal about it."""
        return self.stored_label

    @property
    def of_agent(self) -> str:
        """The end of a label: the agent's key if the agent is loaded, because writing a label must not query the database."""
        agent = self._state.fields_cache.get("agent")
        return f" of agent {agent}" if agent else ""

    @property
    def agent_concerned(self) -> int | None:
        """The id of the agent whose grants apply to the row; None for a row of the whole tenant."""
        agent_id: int | None = getattr(self, "agent_id", None)
        return agent_id
