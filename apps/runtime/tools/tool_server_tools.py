"""Tools that other people's servers run, as a claim brings them: which an agent may call, where, and what came of a call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.module_loading import import_string

from apps.llm.mcp_client.tool_server import OutcomeUnknown, ToolServerFailed, ToolServerResult
from apps.llm.model_backend import Json, JsonObject, ToolDefinition
from apps.prompt.rendering.data_fences import fence
from apps.prompt.sanitizer.clean import sanitize
from apps.runtime.models import ToolStep
from apps.runtime.prompt_snapshot.part_cache import RecentValues
from apps.runtime.tools.tool_server_refresh import SealedServer, open_server_place
from apps.runtime.tools.toolbox import CallOutcome


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool as the model sees it, and what a second call of it would do."""

    tool: ToolDefinition
    repeat_safety: ToolStep.RepeatSafety

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> "ToolDescription":
        """A description as it was allowed."""
        tool = ToolDefinition(definition["name"], definition["description"], definition["input_schema"])
        if definition["is_read_only"]:
            return cls(tool, ToolStep.RepeatSafety.READ_ONLY)
        return cls(
            tool, ToolStep.RepeatSafety.IDEMPOTENT if definition["is_idempotent"] else ToolStep.RepeatSafety.UNSAFE
        )


KNOWN_DESCRIPTIONS: Final = RecentValues[ToolDescription](most=2048, sent=256)


@dataclass(frozen=True, slots=True)
class ToolServerTool:
    """One tool of another's server that an agent may call."""

    described: ToolDescription
    allowed_id: int
    sha256: str
    needs_approval: bool
    tenant_id: int
    # As its server names it.
    name: str
    server: SealedServer

    @property
    def definition(self) -> ToolDefinition:
        """The tool as the person who allowed it read it."""
        return self.described.tool

    @property
    def allowance(self) -> str:
        """What tells this permission from every other, and from itself once it was withdrawn and given again."""
        return f"{self.allowed_id} {self.sha256}"

    @property
    def repeat_safety(self) -> ToolStep.RepeatSafety:
        """By what the server said of it when a person allowed it; a yes is to one call, though twice be as once."""
        is_guarded_write = self.needs_approval and self.described.repeat_safety is not ToolStep.RepeatSafety.READ_ONLY
        return ToolStep.RepeatSafety.UNSAFE if is_guarded_write else self.described.repeat_safety

    def is_offered(self, *, off_the_record: bool) -> bool:
        """Whether a session carries it."""
        return not off_the_record or (self.repeat_safety is ToolStep.RepeatSafety.READ_ONLY and not self.needs_approval)

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        """Make the call. Of a read that was lost nothing is left behind; of anything else nobody knows."""
        try:
            place = open_server_place(self.server, self.tenant_id, timeout_seconds)
            # Named, not imported: the client takes a second to load. Workers have it loaded.
            answer: ToolServerResult = await import_string("apps.runtime.worker.model_backends.call_server_tool")(
                place, self.name, arguments, key
            )
        except OutcomeUnknown as lost:
            is_unknown = self.repeat_safety is not ToolStep.RepeatSafety.READ_ONLY
            return CallOutcome(f"It gave no result. {lost}", is_error=True, is_unknown=is_unknown)
        except ToolServerFailed as refusal:
            return CallOutcome(f"Nothing was called. {refusal}", is_error=True)
        return frame_result(answer, place.max_result_bytes)


def build_server_tools(
    rows: Sequence[Mapping[str, Any]], known: Mapping[str, ToolDescription], tenant_id: int
) -> tuple[ToolServerTool, ...]:  # Any: JSON as PostgreSQL made it of rows
    """The server tools of a claim; `known` are descriptions that this process had read before it."""
    return tuple(
        ToolServerTool(
            described=known.get(row["sha256"])
            or KNOWN_DESCRIPTIONS.keep(tenant_id, row["sha256"], ToolDescription.of(row["definition"])),
            allowed_id=row["id"],
            sha256=row["sha256"],
            needs_approval=row["needs_approval"],
            tenant_id=tenant_id,
            name=row["name"],
            server=SealedServer(
                url=row["url"],
                timeout_seconds=row["timeout_seconds"],
                max_result_bytes=row["max_result_bytes"],
                ciphertext=row["ciphertext"],
            ),
        )
        for row in rows
    )


def frame_result(answer: ToolServerResult, most_bytes: int) -> CallOutcome:
    """What came back as data that cannot end its own fence, cut where it is too long."""
    whole = answer.text.encode(errors="replace")
    text = whole[:most_bytes].decode(errors="ignore")
    note = f"Cut: the result has {len(whole)} bytes, of which the first {most_bytes} are here."
    notes: JsonObject = {"note": note} if len(whole) > most_bytes else {}
    try:
        fenced_text = fence({"result": _clean_json(_parse_json(text), most_bytes), **notes})
    except (ValueError, RecursionError):
        # JSON that says what nothing can keep, such as a number without end: it is told as its words.
        fenced_text = fence({"result": sanitize(text, most_bytes).text, **notes})
    return CallOutcome(fenced_text, is_error=answer.is_error)


def _parse_json(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


def _clean_json(value: Json, most: int) -> Json:
    """The same with its texts cleaned, names too: an escape is a hidden character only once it was read."""
    match value:
        case str():
            return sanitize(value, most).text
        case Mapping():
            return {sanitize(name, most).text: _clean_json(each, most) for name, each in value.items()}
        case Sequence():
            return [_clean_json(each, most) for each in value]
        case _:
            return value
