"""JSON Schemas of the fields that each act takes, derived from the policy and the model's validators.

Models and API clients use them.
"""

from collections.abc import Mapping
from typing import Any

from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models

from apps.governance.database_drift.role_grants import governed_models
from apps.governance.policy.policy_table import POLICY, Act

# Any: a JSON document may hold values of any type.
Schema = dict[str, Any]


def schema_of(act: Act, *, adding: bool | None = None) -> Schema:
    """Return the JSON Schema of the governed fields that the act takes. It lists only fields that callers may write."""
    rule = POLICY[act]
    making = not rule.changes if adding is None else adding
    fields = {field.name: field for field in _model(act)._meta.concrete_fields}
    names = [name for name in rule.fields if name in rule.writes(adding=making)]
    known = {name: fields[name] for name in names if name in fields}
    return {
        "type": "object",
        "properties": {name: property_of(known[name]) if name in known else _free_text() for name in names},
        "required": [name for name, field in known.items() if making and _is_required(field)],
        "additionalProperties": False,
    }


def property_of(field: "models.Field[Any, Any]") -> Schema:
    """Return the JSON Schema of one field, with its limits."""
    description: Schema = {"description": str(field.help_text)} if field.help_text else {}
    if isinstance(field, models.BooleanField):
        return {"type": "boolean", **description}
    if isinstance(field, models.JSONField):
        return description
    if isinstance(field, models.IntegerField | models.ForeignKey):
        return {"type": "integer", **_enum_of_choices(field), **description}
    return {"type": "string", **_length_limits(field), **_pattern(field), **_enum_of_choices(field), **description}


def _free_text() -> Schema:
    # This field exists only in a proposal; the row has no such column.
    return {"type": "string", "minLength": 1}


def _model(act: Act) -> type[models.Model]:
    return governed_models()[act.noun]


def _is_required(field: "models.Field[Any, Any]") -> bool:
    return not field.blank and not field.null and not field.has_default()


def _length_limits(field: "models.Field[Any, Any]") -> Mapping[str, int]:
    limits = [int(rule.limit_value) for rule in field.validators if isinstance(rule, MaxLengthValidator)]
    longest = {"maxLength": min(limits)} if limits else {}
    return longest if field.blank else {"minLength": 1, **longest}


def _pattern(field: "models.Field[Any, Any]") -> Mapping[str, str]:
    # JSON Schema uses ECMAScript regular expressions, in which `$` matches only at the very end of the text.
    patterns = [
        str(getattr(rule.regex, "pattern", rule.regex)) for rule in field.validators if isinstance(rule, RegexValidator)
    ]
    return {"pattern": patterns[0].replace(r"\Z", "$")} if patterns and not field.blank else {}


def _enum_of_choices(field: "models.Field[Any, Any]") -> Mapping[str, list[Any]]:
    return {"enum": [value for value, _ in field.choices]} if field.choices else {}
