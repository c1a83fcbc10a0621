"""What every governed row is, before any model: whose words it carries, and that only acts may write it."""

from typing import TYPE_CHECKING, Any, ClassVar

from django.db import models
from django_fsm import FSMField, FSMModelMixin

from apps.governance.guard import refuse_ungoverned


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
