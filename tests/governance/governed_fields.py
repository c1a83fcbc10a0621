"""Every governed field of the policy, as a matrix walks it: who may write it by which act, and another value for it."""

from collections.abc import Callable, Iterator
from typing import Any

from django.db import models
from django.utils import timezone
from django_fsm import FSMFieldMixin

from apps.governance.actors import Role
from apps.governance.authorization import noun_written_by
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database_drift.role_grants import governed_models
from apps.governance.models import ChangeRecord, Governed, Refusal
from apps.governance.policy.policy_table import POLICY, Act
from tests.support.worlds.lawful_acts import Scene

# The database stamps these, and nobody chooses the tenant.
AUTOMATIC_FIELDS = {"id", "tenant", "version", "created_at", "updated_at"}
# Where "Changed" is no value: what is, for a field of this name.
SAMPLES: dict[str, Any] = {
    "pii_patterns": "policy: POL-####",
    "timezone": "Europe/Berlin",
    "cron": "0 4 * * *",
    "channel": "slack",
    "url": "https://other.example/mcp",
    "base_url": "https://other.example",
    "locale": "de-DE",
    "channel_delay_notices": "sms: Changed.",
    "name": "changed",
    "digest": "0" * 64,
    "end_user_key": "http:other",
    "label": "Changed",
    "permissions": ["skill_draft"],
    "agent_ids": [1],
    "attachments": [{"name": "a.txt", "media_type": "text/plain", "sha256": "0" * 64, "size_bytes": 1, "key": "0/a"}],
}


def columns(model: type[Governed]) -> "list[models.Field[Any, Any]]":
    """Whatever somebody could try to write."""
    return [field for field in model._meta.concrete_fields if field.name not in AUTOMATIC_FIELDS]


def governed_fields(noun: str) -> set[str]:
    """The fields some act on the noun governs."""
    return {name for act in Act if act.noun == noun for name in POLICY[act].fields}


def changing_acts() -> Iterator[tuple[Act, type[Governed]]]:
    """Acts that change a standing row of their own noun."""
    found = governed_models()
    for act, rule in POLICY.items():
        if rule.changes and noun_written_by(act, Role.OPERATOR) == act.noun:
            yield act, found[act.noun]


def other_value(field: "models.Field[Any, Any]", now: Any) -> Any:
    """A value the field does not have now and its model would take."""
    if field.choices:
        return next(value for value, _ in field.choices if value != now)
    if isinstance(now, list) and now:
        return now[:-1]
    if field.name in SAMPLES:
        return SAMPLES[field.name]
    return next((make(now) for kind, make in _VALUE_MAKERS if isinstance(field, kind)), "Changed.")


_VALUE_MAKERS: tuple[tuple[type[Any], Callable[[Any], Any]], ...] = (
    (models.BooleanField, lambda now: not now),
    (models.DateTimeField, lambda _: timezone.now()),
    (models.IntegerField, lambda now: (now or 0) + 1),
    (models.ForeignKey, lambda now: (now or 0) + 1),
    (models.JSONField, lambda _: {"changed": True}),
)


def is_state(field: "models.Field[Any, Any]") -> bool:
    """Whether only a transition moves it."""
    return isinstance(field, FSMFieldMixin)


# Of the first the scene is about what shall change; the proposal it writes has no fields anybody chooses. The second is about an
# assistant, and what it writes is each member's own: tests/runtime/turns/test_assistant_turns.py asks who may.
OTHER_SUBJECT_ACTS = {Act.PROPOSAL_SUBMIT, Act.MEMBER_OVERLAY_WRITE}
CHANGING_ACTS = {act: model for act, model in changing_acts() if act not in OTHER_SUBJECT_ACTS}


def reload_row(scene: Scene, row: Governed) -> Any:  # Any: a row of any noun
    with acting_as(scene.world.operator):
        return type(row)._default_manager.get(pk=row.pk)


def records(scene: Scene) -> list[str]:
    with acting_as(scene.world.operator):
        return list(ChangeRecord.objects.order_by("id").values_list("act", flat=True))


def count_refusals(scene: Scene) -> int:
    with acting_as(scene.world.operator):
        return Refusal.objects.count()
