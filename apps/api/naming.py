"""Names that a body has for what an action calls otherwise."""

from collections.abc import Iterator
from contextlib import contextmanager

from apps.governance.errors import Invalid


@contextmanager
def as_sent(**names: str) -> Iterator[None]:
    """Let a refusal name the fields as they were sent: the action's name first, then the body's."""
    try:
        yield
    except Invalid as refusal:
        raise Invalid(str(refusal), {names.get(name, name): said for name, said in refusal.fields.items()}) from refusal
