"""Request bodies: the JSON parser with its limits, strict field types, and the `RequestBody` serializers that views read.

A body is a JSON object of known fields; text is taken exactly as sent. Fields that the actor may not write are stripped and
reported in the response (Z-14). `rename_error_fields` maps an action's field names back to the body's names in a refusal.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any, ClassVar

from rest_framework import serializers
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from apps.api.protocol.deprecation import Deprecation, note_deprecated_use
from apps.api.protocol.exceptions import BodyTooLarge
from apps.governance.actors import Actor
from apps.governance.errors import Invalid, NothingPermitted
from apps.governance.governed_write import may
from apps.governance.models import Governed
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.row_ids import LARGEST_ROW_ID

BODY_BYTES = 1_000_000


class BoundedJSONParser(JSONParser):
    """Parses JSON with limits on size and depth."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Read the stream with a size limit, because REST framework's reading bypasses Django's own limit."""
        sent = stream.read(BODY_BYTES + 1)
        if len(sent) > BODY_BYTES:
            raise BodyTooLarge(f"The body has more than {BODY_BYTES} bytes. Send a smaller one.")
        try:
            return super().parse(BytesIO(sent), media_type, parser_context)
        except RecursionError as deep:
            raise ParseError("The body is nested too deeply.") from deep


class StrictTextField(serializers.CharField):
    """Text exactly as sent: it is not trimmed, and a number is refused. The model decides whether it may be empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"trim_whitespace": False, "allow_blank": True, **options})

    def to_internal_value(self, data: Any) -> str:
        """Refuse values that are not strings; REST framework would convert numbers."""
        if not isinstance(data, str):
            raise ValidationError("Send a JSON string.")
        return super().to_internal_value(data)


class StrictIntegerField(serializers.IntegerField):
    """An integer of at least 1, sent as a JSON number."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": 1, "max_value": LARGEST_ROW_ID, **options})

    def to_internal_value(self, data: Any) -> int:
        """Refuse a number in quotes, a fraction and a boolean."""
        if not isinstance(data, int) or isinstance(data, bool):
            raise ValidationError("Send a whole number, without quotes.")
        return super().to_internal_value(data)


class StrictBooleanField(serializers.BooleanField):
    """A JSON boolean."""

    def to_internal_value(self, data: Any) -> bool:
        """Refuse strings and numbers; REST framework would read them as booleans."""
        if not isinstance(data, bool):
            raise ValidationError("Send true or false, without quotes.")
        return data


@dataclass(frozen=True, slots=True)
class ParsedBody:
    """The values of a body that this actor may write, and the names of the stripped fields."""

    values: dict[str, Any]
    ignored: tuple[str, ...]

    def only(self, *names: str) -> dict[str, Any]:
        """Return those of the named values that the body contains."""
        return {name: self.values[name] for name in names if name in self.values}

    @property
    def read_at(self) -> int | None:
        """Return the row version on which the sender based the write, if the body names it."""
        version: int | None = self.values.get("version")
        return version

    @property
    def reason(self) -> str:
        """Return the reason, if the body gives one."""
        reason: str = self.values.get("reason", "")
        return reason


class RequestBody(serializers.Serializer[Any]):
    """A request's body. Unknown fields are refused, because a misspelled name would silently lose a value."""

    # Response fields that a client may send back. They are stripped, and named in `ignored_fields`.
    shown: ClassVar[frozenset[str]] = frozenset()
    # The acts of this body. Writing a field that is governed by one of them requires a grant for such an act.
    acts: ClassVar[tuple[Act, ...]] = ()
    # Fields that a PUT must contain.
    whole: ClassVar[tuple[str, ...]] = ()
    # Whether a body without values is valid.
    bare: ClassVar[bool] = False
    # Deprecated fields.
    deprecated: ClassVar[Mapping[str, Deprecation]] = {}
    # Fields that describe the write instead of being written.
    about: ClassVar[frozenset[str]] = frozenset({"version", "reason"})

    @classmethod
    def read(cls, request: Request, actor: Actor, row: Governed | None = None, **beside: str) -> ParsedBody:
        """Return the checked values that this actor may write to this row, or to a new one. Refuses if none remain.

        Values in `beside` come from outside the body and take precedence.
        """
        body = cls()
        data = {**body._require_object(request.data), **beside}
        note_deprecated_use(request, (deprecation for name, deprecation in cls.deprecated.items() if name in data))
        ignored = tuple(sorted(name for name in data if not body._may_write(name, actor, row)))
        body._refuse_missing(request, actor, data, row)
        body = cls(data={name: value for name, value in data.items() if name not in ignored})
        body.is_valid(raise_exception=True)
        body._refuse_empty(actor, ignored)
        return ParsedBody(dict(body.validated_data), ignored)

    def _require_object(self, data: Any) -> Mapping[str, Any]:
        if not isinstance(data, Mapping):
            raise ValidationError("Send a JSON object.")
        unknown = sorted(set(data) - set(self.fields) - self.shown)
        if unknown:
            known = ", ".join(self.fields)
            raise ValidationError({name: [f"There is no such field. Known fields: {known}."] for name in unknown})
        return data

    @classmethod
    def gates(cls, name: str) -> tuple[Act, ...]:
        """Return the acts of which any single one allows writing the field."""
        return tuple(act for act in cls.acts if name in POLICY[act].fields)

    def _may_write(self, name: str, actor: Actor, row: Governed | None) -> bool:
        if name not in self.fields:
            return False
        gates = self.gates(name)
        if not gates or any(may(actor, act, name, row) for act in gates):
            return True
        # An actor who may perform none of the acts is refused by the act itself, with its own message.
        return not any(may(actor, act, row=row) for act in self.acts)

    def _refuse_missing(self, request: Request, actor: Actor, data: Mapping[str, Any], row: Governed | None) -> None:
        if request.method != "PUT":
            return
        missing = [name for name in self.whole if name not in data and self._may_write(name, actor, row)]
        if missing:
            raise ValidationError(
                {name: ["PUT replaces the whole row. Send this field too, or use PATCH."] for name in missing}
            )

    def _refuse_empty(self, actor: Actor, ignored: tuple[str, ...]) -> None:
        if self.bare or set(self.validated_data) - self.about:
            return
        if not ignored:
            names = ", ".join(sorted(set(self.fields.keys()) - self.about))
            raise ValidationError(f"Send at least one of: {names}.")
        raise NothingPermitted(
            f"The role {actor.role.value} may write none of these fields here: {', '.join(ignored)}. Nothing was changed.",
            ignored,
        )


class RequiredVersionBody(RequestBody):
    """An approval of exactly the version that was read, which the body must name."""

    about = frozenset[str]()

    version = StrictIntegerField(help_text="The version that was read.")


class OptionalVersionBody(RequestBody):
    """The act that the address names, on the row as it was read."""

    bare = True

    version = StrictIntegerField(required=False, help_text="The row's version that was read.")


class DecisionBody(OptionalVersionBody):
    """A decision on the row as it was read, with an optional reason."""

    reason = StrictTextField(required=False)


class ReasonedDecisionBody(OptionalVersionBody):
    """A decision that requires a reason."""

    bare = False
    about = frozenset({"version"})

    reason = StrictTextField()


@contextmanager
def rename_error_fields(**names: str) -> Iterator[None]:
    """Rename the fields of a refusal: each argument maps an action's field name to the body's field name."""
    try:
        yield
    except Invalid as refusal:
        raise Invalid(
            str(refusal), {names.get(name, name): reasons for name, reasons in refusal.fields.items()}
        ) from refusal
