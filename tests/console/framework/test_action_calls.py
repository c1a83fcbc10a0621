"""What a page sends to an action is what the action takes, by name."""

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import pytest

from apps.console.framework.forms import READ_AT
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.site import site
from apps.governance.policy.policy_table import POLICY

ROW = "row"
Call = tuple[Callable[..., Any], tuple[str, ...], set[str]]


def _calls() -> Iterator[tuple[str, Call]]:
    """Each action that a page calls, with what it is given by position, and by name."""
    for page in site._registry.values():
        if not isinstance(page, GovernedAdmin):
            continue
        declared = set(page.form.declared_fields) - {READ_AT}
        named = type(page).__name__
        if page.creates:
            yield f"{named} creates", (page.creates.call, (), declared | set(page.add_fields))
        for edit in page.amends:
            fields = set(page.fields or ())
            writable = POLICY[edit.act].writes(adding=False) & fields
            yield f"{named} {edit.act.value}", (edit.call, (ROW,), declared | writable | {READ_AT})
        for button in page.buttons:
            sent = set(button.form.base_fields)
            yield f"{named} {button.name}", (button.call, (ROW,), sent if button.takes_read_at else sent - {READ_AT})


CALLS = dict(_calls())


@pytest.mark.pure
@pytest.mark.parametrize("name", CALLS)
def test_an_action_takes_what_its_form_sends(name: str) -> None:
    call, positional, sent = CALLS[name]
    bound = signature(call).bind(*positional, actor=None, **dict.fromkeys(sent))
    assert len(bound.args) + len(bound.kwargs) == len((*positional, "actor", *sent))
