"""Declarations of what a console page can do (create, amend, buttons), and of its tabs and panels.

A button names its act, the function behind it, and the states in which the page shows it. A panel names a function of the noun's
module that reads values; its template only displays them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from django import forms
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from apps.console.framework.forms import READ_AT, DecisionForm
from apps.console.framework.row_counts import BoundedCount
from apps.governance.actors import Actor
from apps.governance.governed_write import may
from apps.governance.models import Governed
from apps.governance.policy.policy_table import POLICY, Act

Values = Mapping[str, Any]
# A journal row has no versions, so the version that was read is always current.
UNVERSIONED_READ_AT: Final = 1


class CreatedRow(Protocol):
    """The result of a creation: the row, or a value that knows the row's id."""

    @property
    def pk(self) -> Any:
        """The id of the row, for the address of its page."""


def no_prefill(request: HttpRequest) -> dict[str, Any]:
    """Return no values to begin with."""
    return {}


def always(row: Any) -> bool:
    """Return True in every state of the row."""
    return True


def no_initial_values(row: Any) -> dict[str, Any]:
    """Return no initial values."""
    return {}


@dataclass(frozen=True, slots=True)
class CreateAction:
    """How a row is made: `call` receives the actor and the form's values, each by its name.

    `explains` returns sentences for the help of fields, by field, as of now.
    """

    act: Act
    call: Callable[..., CreatedRow]
    takes: tuple[str, ...]
    answer_template: str = ""
    begins: Callable[[HttpRequest], dict[str, Any]] = no_prefill
    explains: Callable[[HttpRequest], dict[str, str]] = no_prefill

    def is_open_to(self, actor: Actor) -> bool:
        return may(actor, self.act)


def prefilled_values(creation: CreateAction | None, given: Mapping[str, Any], request: HttpRequest) -> dict[str, Any]:
    """Return the initial values of an add form: those of the address, and those of the creation."""
    return {**given, **(creation.begins(request) if creation else {})}


@dataclass(frozen=True, slots=True)
class EditAction:
    """How a row takes a form's values: `call` receives the row, the actor and the values, each by its name.

    `read_at` among them is the version that they were typed over.
    """

    act: Act
    call: Callable[..., Any]
    when: Callable[[Any], bool] = always

    def is_open_to(self, actor: Actor, row: Governed | None) -> bool:
        return may(actor, self.act, row=row)

    def writable(self, actor: Actor, row: Governed) -> frozenset[str]:
        """The governed fields of this row that this actor may change by this act."""
        return frozenset(name for name in POLICY[self.act].writes(adding=False) if may(actor, self.act, name, row))


def as_mapping(action: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt an action that takes the form's values as one mapping."""

    def call(row: Any, *, actor: Actor, read_at: int | None, **values: Any) -> Any:
        return action(row, actor=actor, values=values, read_at=read_at)

    return call


@dataclass(frozen=True, slots=True)
class Button:
    """A decision on a row's page: one form, one POST, one act.

    `call` is the action, or a function around it. It receives the row, the actor and the form's values, each by its name.
    `consequence` says what the decision means for customers, or is a function of the row that does. `folded` buttons open to their
    form first.
    """

    name: str
    label: str
    act: Act
    call: Callable[..., Any]
    # The message after the act, or a function that makes it from the result of the call.
    done: str | Callable[[Any], str]
    consequence: str | Callable[[Any], str] = ""
    form: type[DecisionForm] = DecisionForm
    initial: Callable[[Any], dict[str, Any]] = no_initial_values
    when: Callable[[Any], bool] = always
    tone: str = "plain"
    folded: bool = True
    leads_to: Callable[[Any], str] | None = None
    answer_template: str = ""
    # Whether the action takes the version that was read, and so refuses a row that changed since.
    takes_read_at: bool = True
    # The act changes rows that came of this one.
    on_others: bool = False
    # The page shows the button outside its list of decisions.
    beside: bool = False

    def is_open_to(self, actor: Actor, row: Model) -> bool:
        # A journal row is not governed; the action itself checks its owner.
        return may(actor, self.act, row=row if isinstance(row, Governed) else None)

    def perform(self, row: Any, actor: Actor, values: Values) -> Any:
        """Call the action with what the form sent."""
        named = {name: value for name, value in values.items() if name != READ_AT or self.takes_read_at}
        return self.call(row, actor=actor, **named)

    def said(self, made: Any) -> str:
        """Return the message for the person who decided."""
        return self.done if isinstance(self.done, str) else self.done(made)

    def consequence_of(self, row: Any) -> str:
        """Return what the decision on this row means for customers."""
        return self.consequence if isinstance(self.consequence, str) else self.consequence(row)

    def unbound(self, row: Any) -> DecisionForm:
        """Return the form as the page first shows it."""
        return self.form(initial=self._initial(row), auto_id=f"{self.name}_%s", label_suffix="")

    def bound(self, data: Values) -> DecisionForm:
        """Return the form as it was sent."""
        return self.form(data=data, auto_id=f"{self.name}_%s", label_suffix="")

    def shown_again(self, row: Any, refused: DecisionForm) -> DecisionForm:
        """Return the refused form with the typed values, bound to what the page shows now."""
        initial = self._initial(row)
        hidden = {bound.name: initial[bound.name] for bound in refused.hidden_fields() if bound.name in initial}
        refused.again(initial)
        refused.data = {**{name: _typed_value(refused, name) for name in refused.fields}, **hidden}
        return refused

    def _initial(self, row: Any) -> dict[str, Any]:
        return {READ_AT: row.version if isinstance(row, Governed) else UNVERSIONED_READ_AT, **self.initial(row)}


def _typed_value(form: DecisionForm, name: str) -> Any:
    """Return what was typed into a field; a field of several choices has a list."""
    field = form.fields[name]
    if isinstance(field, forms.MultipleChoiceField):
        return field.widget.value_from_datadict(form.data, form.files, name)
    return form.data.get(name)


@dataclass(frozen=True, slots=True)
class ButtonForm:
    """A button on a page, with the form it sends."""

    button: Button
    form: forms.BaseForm
    url: str
    consequence: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class RefusedDecision:
    """A decision that was refused, as it was sent, and the number of the row it was about."""

    row_id: Any
    button: Button
    form: DecisionForm

    def is_of(self, row: Model, button: Button) -> bool:
        """Return whether this button was refused on this row."""
        return self.button is button and self.row_id == row.pk


def button_forms(
    row: Any, buttons: Iterable[Button], actor: Actor, view: str, refused: RefusedDecision | None
) -> Iterator[ButtonForm]:
    """Yield the decisions that the actor may take now, and the refused one with everything that was typed."""
    for button in buttons:
        again = refused.form if refused and refused.is_of(row, button) else None
        if button.is_open_to(actor, row) and (again or button.when(row)):
            form = button.shown_again(row, again) if again else button.unbound(row)
            url = reverse(view, args=[row.pk, button.name])
            yield ButtonForm(button, form, url, button.consequence_of(row), refused=again is not None)


@dataclass(frozen=True, slots=True)
class Tabs:
    """The states that divide a list; `first` is the default tab."""

    field: str
    choices: tuple[tuple[str, str], ...]
    first: str = ""
    all_label: str = "All"


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab as the list shows it."""

    label: str
    count: BoundedCount
    url: str
    selected: bool = field(default=False)


@dataclass(frozen=True, slots=True)
class PanelReader:
    """The function that reads a page's values for one row."""

    read: Callable[[Any, HttpRequest], dict[str, Any]]


def _no_values(row: Any, request: HttpRequest) -> dict[str, Any]:
    return {}


NO_PANELS = PanelReader(_no_values)
