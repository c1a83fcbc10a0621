"""Examples of request bodies for the OpenAPI document, derived from the bodies' own fields."""

from collections.abc import Mapping
from typing import Any, Final

from rest_framework import serializers

SHA256: Final = "0123456789abcdef" * 4
# Example values by field name. Other fields get an example that depends on their type.
EXAMPLES_BY_NAME: Final[Mapping[str, Any]] = {
    "agent_key": "support",
    "callee_key": "billing",
    "end_user_key": "http:abc123",
    "email": "kim@example.com",
    "conversation_key": "thread-1",
    "channel": "http",
    "idempotency_key": "5f2c7d7e-6d0b-4a54-9a0e-1f2d3c4b5a69",
    "name": "greet",
    "title": "Greet",
    "description": "How to greet.",
    "category": "manners",
    "body": "## Procedure\nSay hello.",
    "text": "My parcel arrived broken.",
    "cron": "0 9 * * 1",
    "skill": "greet",
    "model": "claude-sonnet-5-5",
    "url": "https://example.com/hook",
    "base_url": "https://example.com/v1",
    "timezone": "Europe/Berlin",
    "locale": "es-MX",
    "valid_from": "2026-01-01",
    "reason": "It was agreed.",
    "label": "BusinessFacts",
    "line": "Returns are free for 30 days.",
    "line_key": "line-2",
    "signature": "Kim, Support",
    "user_hash": SHA256,
    "content": {"text": "Be brief."},
    "target_id": 3,
    "version": 1,
    "action": "update",
    "id": 3,
    "if_match": '"1-5f2c7d7e6d0b4a54"',
    "names": ["terms.txt"],
}
EXAMPLES_BY_FIELD_TYPE: Final[tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], Any], ...]] = (
    (serializers.BooleanField, True),
    (serializers.IntegerField, 1),
    (serializers.DateTimeField, "2030-01-01T09:00:00Z"),
    (serializers.DateField, "2030-01-01"),
    (serializers.DictField, {}),
    (serializers.ListField, []),
    (serializers.FileField, "terms.txt"),
    (serializers.Field, "Some words."),
)
# A nested body has its own component name in the OpenAPI document.
NESTED_EXAMPLES: Final = {"items": [{"action": "update", "id": 3, "body": {"version": 1}}]}


def example_body(body: serializers.Serializer[Any]) -> dict[str, Any]:
    """Return an example body with every field, except optional fields without a useful example."""
    return {name: _example_value(name, field) for name, field in body.fields.items() if not field.read_only}


def _example_value(name: str, field: serializers.Field[Any, Any, Any, Any]) -> Any:
    if name in NESTED_EXAMPLES:
        return NESTED_EXAMPLES[name]
    if isinstance(field, serializers.ChoiceField):
        return next(iter(field.choices))
    if name.endswith("sha256"):
        return SHA256
    value = next(value for kind, value in EXAMPLES_BY_FIELD_TYPE if isinstance(field, kind))
    # A name may mean something else in another body, so the field's type decides.
    named = EXAMPLES_BY_NAME.get(name, value)
    return _fit_limits(named if isinstance(named, type(value)) else value, field)


def _fit_limits(value: Any, field: serializers.Field[Any, Any, Any, Any]) -> Any:
    most, least = getattr(field, "max_length", None), getattr(field, "min_value", None)
    if isinstance(value, str) and most is not None:
        return value[:most]
    return max(value, least) if isinstance(value, int) and not isinstance(value, bool) and least is not None else value
