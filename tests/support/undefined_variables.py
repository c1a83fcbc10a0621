"""A template of the product that names a variable which its context lacks fails its test; Django would show an empty text."""

import inspect

from django.template.base import FilterExpression, Node
from django.template.defaultfilters import default

from apps.launcher.data_folders import PROJECT

TEMPLATES = f"{PROJECT / 'templates'}/"


class UndefinedVariableError(Exception):
    """A template names a variable that its context lacks."""


class UndefinedVariable(str):
    """Django's `string_if_invalid`: an empty text, as in production, but an error for templates of the product.

    Django asks whether it is empty just after the lookup failed, and names the variable only if it is not. Templates of
    Django and its packages name variables that they may lack, so the node that asks is looked up: it knows its file.
    it stands in. A variable with the filter `default` may be missing: its template says what is shown then.
    """

    def __bool__(self) -> bool:
        frame = inspect.currentframe()
        asking = frame.f_back if frame else None
        expression = asking.f_locals.get("self") if asking else None
        if not isinstance(expression, FilterExpression) or _has_default(expression):
            return False
        while asking and not isinstance(asking.f_locals.get("self"), Node):
            asking = asking.f_back
        origin = asking.f_locals["self"].origin if asking else None
        if origin is not None and str(origin.name).startswith(TEMPLATES):
            raise UndefinedVariableError(f"{origin.template_name}: `{expression}` was not given.")
        return False


def _has_default(expression: FilterExpression) -> bool:
    return bool(expression.filters) and expression.filters[0][0] is default
