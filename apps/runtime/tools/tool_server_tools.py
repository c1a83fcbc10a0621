"""Tools of tool servers, as they come with a claim: the allowed tools, the server's address, and the results of calls."""

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
    """A tool's definition for the model, and the effect of a second call."""

    tool: ToolDefinition
    repeat_safety: ToolStep.RepeatSafety

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> "ToolDescription":
        """The description that a person allowed."""
        tool = ToolDefinition(definition["name"], definition["description"], definition["input_schema"])
        if definition["is_read_only"]:
            return cls(tool, ToolStep.RepeatSafety.READ_ONLY)
        return cls(
            tool, ToolStep.RepeatSafety.IDEMPOTENT if definition["is_idempotent"] else ToolStep.RepeatSafety.UNSAFE
        )


KNOWN_DESCRIPTIONS: Final = RecentValues[ToolDescription](most=2048, sent=256)


@dataclass(frozen=True, slots=True)
class ToolServerTool:
    """A tool of a tool server that an agent may call."""

    described: ToolDescription
    allowed_id: int
    sha256: str
    needs_approval: bool
    tenant_id: int
    # The name on its server.
    name: str
    server: SealedServer

    @property
    def definition(self) -> ToolDefinition:
        """The tool's definition, as the person who allowed it read it."""
        return self.described.tool

    @property
    def allowance(self) -> str:
        """The key of this permission. It changes when the permission is withdrawn and given again."""
        return f"{self.allowed_id} {self.sha256}"

    @property
    def repeat_safety(self) -> ToolStep.RepeatSafety:
        """The safety declared when a person allowed the tool; UNSAFE for a write with approvals, which allow one call each."""
        is_guarded_write = self.needs_approval and self.described.repeat_safety is not ToolStep.RepeatSafety.READ_ONLY
        return ToolStep.RepeatSafety.UNSAFE if is_guarded_write else self.described.repeat_safety

    def is_offered(self, *, off_the_record: bool) -> bool:
        """Whether a session offers the tool."""
        return not off_the_record or (self.repeat_safety is ToolStep.RepeatSafety.READ_ONLY and not self.needs_approval)

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        """Make the call. If the response is lost, a read had no effect, and the effect of any other call is unknown."""
        try:
            place = open_server_place(self.server, self.tenant_id, timeout_seconds)
            # Imported by name: the client takes a second to load. Workers have loaded it already.
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
    """The server tools of a claim; `known` are descriptions that this process has read before."""
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
    """The result as fenced data, cut if it is too long. The data cannot end its own fence."""
    whole = answer.text.encode(errors="replace")
    text = whole[:most_bytes].decode(errors="ignore")
    note = f"Cut: the result has {len(whole)} bytes, of which the first {most_bytes} are here."
    notes: JsonObject = {"note": note} if len(whole) > most_bytes else {}
    try:
        fenced_text = fence({"result": _clean_json(_parse_json(text), most_bytes), **notes})
    except (ValueError, RecursionError):
        # JSON with values that cannot be stored, such as infinity, is passed on as text.
        fenced_text = fence({"result": sanitize(text, most_bytes).text, **notes})
    return CallOutcome(fenced_text, is_error=answer.is_error)


def _parse_json(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


def _clean_json(value: Json, most: int) -> Json:
    """The value with all its texts and names cleaned. Escaped characters show only after JSON is parsed."""
    match value:
        case str():
            return sanitize(value, most).text
        case Mapping():
            return {sanitize(name, most).text: _clean_json(each, most) for name, each in value.items()}
        case Sequence():
            return [_clean_json(each, most) for each in value]
        case _:
            return value
