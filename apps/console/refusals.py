"""The console's one translation of refusals: which status a page has, and which field a reason stands at."""

from collections.abc import Mapping

from django import forms

from apps.governance.errors import GovernanceError, Invalid

_STATUS: Mapping[str, int] = {
    "not_permitted": 403,
    "nothing_permitted": 403,
    "not_found": 404,
    "invalid": 422,
    "missing_actor": 403,
}


def status_of(refusal: GovernanceError) -> int:
    """The HTTP status of a page that shows this refusal; what is not listed conflicts with the present state."""
    return _STATUS.get(refusal.code, 409)


def explain(form: forms.BaseForm, refusal: GovernanceError) -> None:
    """Put a refusal into a form: at its fields where it names them, above the form otherwise."""
    fields = refusal.fields if isinstance(refusal, Invalid) else {}
    placed = {name: reasons for name, reasons in fields.items() if name in form.fields}
    for name, reasons in placed.items():
        form.add_error(name, list(reasons))
    if not placed:
        form.add_error(None, str(refusal))
