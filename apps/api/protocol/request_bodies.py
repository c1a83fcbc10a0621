"""Request bodies: the JSON parser with its limits, strict field types, and the `RequestBody` serializers that views read.

A body is a JSON object of known fields; text is taken as it was sent. Fields that the actor may not write are stripped and
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
    """JSON that ends: neither endless nor nested without end."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """REST framework reads the stream itself, past Django's own limit on bodies."""
        sent = stream.read(BODY_BYTES + 1)
        if len(sent) > BODY_BYTES:
            raise BodyTooLarge(f"The body has more than {BODY_BYTES} bytes. Send less.")
        try:
            return super().parse(BytesIO(sent), media_type, parser_context)
        except RecursionError as deep:
            raise ParseError("The body is nested too deeply.") from deep


class StrictTextField(serializers.CharField):
    """Words as they were sent: nothing is trimmed, and a number is no text. Empty is the model's business."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"trim_whitespace": False, "allow_blank": True, **options})

    def to_internal_value(self, data: Any) -> str:
        """Refuse what is not a string; REST framework would turn numbers into one."""
        if not isinstance(data, str):
            raise ValidationError("This is text: send a JSON string.")
        return super().to_internal_value(data)


class StrictIntegerField(serializers.IntegerField):
    """A whole number from 1, written as one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": 1, "max_value": LARGEST_ROW_ID, **options})

    def to_internal_value(self, data: Any) -> int:
        """Refuse a number in quotes, a fraction and a truth value."""
        if not isinstance(data, int) or isinstance(data, bool):
            raise ValidationError("This is a whole number: send it without quotes.")
        return super().to_internal_value(data)


class StrictBooleanField(serializers.BooleanField):
    """True or false, written as one."""

    def to_internal_value(self, data: Any) -> bool:
        """Refuse a word or a number; REST framework would read them as one."""
        if not isinstance(data, bool):
            raise ValidationError("This is true or false: send it without quotes.")
        return data


@dataclass(frozen=True, slots=True)
class ParsedBody:
    """What is left of a body for this actor, and the names of what was stripped."""

    values: dict[str, Any]
    ignored: tuple[str, ...]

    def only(self, *names: str) -> dict[str, Any]:
        """Those of the named values that were sent."""
        return {name: self.values[name] for name in names if name in self.values}

    @property
    def read_at(self) -> int | None:
        """The version the sender decided on, if it said."""
        version: int | None = self.values.get("version")
        return version

    @property
    def reason(self) -> str:
        """Why, if the sender said."""
        reason: str = self.values.get("reason", "")
        return reason


class RequestBody(serializers.Serializer[Any]):
    """A request's body. A field nobody knows is refused, for a typing error would lose what was written."""

    # What an answer shows besides; sent back, it is stripped and said.
    shown: ClassVar[frozenset[str]] = frozenset()
    # What it is for: a field that one of these acts governs is gated by those that do.
    acts: ClassVar[tuple[Act, ...]] = ()
    # What a PUT has to bring whole.
    whole: ClassVar[tuple[str, ...]] = ()
    # Whether a body without any value asks for something already.
    bare: ClassVar[bool] = False
    # Fields that go.
    deprecated: ClassVar[Mapping[str, Deprecation]] = {}
    # What says how to write rather than what.
    about: ClassVar[frozenset[str]] = frozenset({"version", "reason"})

    @classmethod
    def read(cls, request: Request, actor: Actor, row: Governed | None = None, **beside: str) -> ParsedBody:
        """The values this actor may write to this row, or to a new one, checked; refused if none are left.

        What came beside the body wins over it.
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
            raise ValidationError({name: [f"There is no such field. You may send: {known}."] for name in unknown})
        return data

    @classmethod
    def gates(cls, name: str) -> tuple[Act, ...]:
        """The acts any one of which lets the field be written."""
        return tuple(act for act in cls.acts if name in POLICY[act].fields)

    def _may_write(self, name: str, actor: Actor, row: Governed | None) -> bool:
        if name not in self.fields:
            return False
        gates = self.gates(name)
        if not gates or any(may(actor, act, name, row) for act in gates):
            return True
        # Whoever may do none of the acts is refused by the act itself, with its own sentence.
        return not any(may(actor, act, row=row) for act in self.acts)

    def _refuse_missing(self, request: Request, actor: Actor, data: Mapping[str, Any], row: Governed | None) -> None:
        if request.method != "PUT":
            return
        missing = [name for name in self.whole if name not in data and self._may_write(name, actor, row)]
        if missing:
            raise ValidationError({name: ["PUT replaces the whole; send this too, or use PATCH."] for name in missing})

    def _refuse_empty(self, actor: Actor, ignored: tuple[str, ...]) -> None:
        if self.bare or set(self.validated_data) - self.about:
            return
        if not ignored:
            names = ", ".join(sorted(set(self.fields.keys()) - self.about))
            raise ValidationError(f"Send at least one of: {names}.")
        raise NothingPermitted(
            f"Nothing of this may be written here by an {actor.role.value}: {', '.join(ignored)}. Nothing was changed.",
            ignored,
        )


class RequiredVersionBody(RequestBody):
    """A yes to exactly what was read, which therefore has to be named."""

    about = frozenset[str]()

    version = StrictIntegerField(help_text="The version whose words were read.")


class OptionalVersionBody(RequestBody):
    """What the address says, to the row as it was read."""

    bare = True

    version = StrictIntegerField(required=False, help_text="The row's version that was read.")


class DecisionBody(OptionalVersionBody):
    """A decision on the row as it was read, and why."""

    reason = StrictTextField(required=False)


class ReasonedDecisionBody(OptionalVersionBody):
    """A decision that is worth nothing without its reason."""

    bare = False
    about = frozenset({"version"})

    reason = StrictTextField()


@contextmanager
def rename_error_fields(**names: str) -> Iterator[None]:
    """Let a refusal name the fields as they were sent: the action's name first, then the body's."""
    try:
        yield
    except Invalid as refusal:
        raise Invalid(
            str(refusal), {names.get(name, name): reasons for name, reasons in refusal.fields.items()}
        ) from refusal
