"""Tools that other people's servers run, as a claim brings them: which an agent may call, where, and what came of a call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils.module_loading import import_string

from apps.llm.mcp_client.tool_server import Answer, Lost, ToolServerFailed
from apps.llm.model_backend import Json, JsonObject, Tool
from apps.prompt.rendering.data_fences import fence
from apps.prompt.sanitizer.clean import sanitize
from apps.runtime.models import ToolStep
from apps.runtime.prompt_snapshot.part_cache import Kept
from apps.runtime.tools.tool_server_refresh import place_of
from apps.runtime.tools.toolbox import Outcome

# What CLAIM says of it, beside `agent`: what it may call of what is in use and still described as it was allowed. A description
# comes without its words where they are known.
OTHERS: Final = """
    'others', (SELECT json_agg(json_build_object(
                   'id', allowed.id, 'sha256', allowed.sha256, 'needs_approval', allowed.needs_approval,
                   'definition', CASE WHEN allowed.sha256 <> ALL (%(known_tools)s) THEN allowed.definition END,
                   'name', tool.name, 'url', server.url, 'timeout_seconds', server.timeout_seconds,
                   'max_result_bytes', server.max_result_bytes, 'secret__ciphertext', secret.ciphertext) ORDER BY allowed.id)
                 FROM tools_agenttool AS allowed
                 JOIN tools_servertool AS tool
                   ON tool.tenant_id = allowed.tenant_id AND tool.id = allowed.tool_id AND tool.sha256 = allowed.sha256
                  AND tool.is_listed AND tool.validation_error = ''
                 JOIN tools_toolserver AS server
                   ON server.tenant_id = tool.tenant_id AND server.id = tool.server_id AND server.is_active
                 LEFT JOIN tenants_sealedsecret AS secret
                   ON secret.tenant_id = server.tenant_id AND secret.id = server.secret_id
                WHERE allowed.tenant_id = agent.tenant_id AND allowed.agent_id = agent.id),
    'approved', (SELECT json_object_agg(approval.call_sha256, approval.id) FROM tools_toolapproval AS approval
                  WHERE approval.tenant_id = agent.tenant_id AND approval.conversation_id = thread.id
                    AND approval.status = 'approved')"""


@dataclass(frozen=True, slots=True)
class Described:
    """A tool as the model sees it, and what a second call of it would do."""

    tool: Tool
    repeat_safety: ToolStep.RepeatSafety

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "Described":
        """A description as it was allowed."""
        tool = Tool(told["name"], told["description"], told["input_schema"])
        if told["is_read_only"]:
            return cls(tool, ToolStep.RepeatSafety.READ_ONLY)
        return cls(tool, ToolStep.RepeatSafety.IDEMPOTENT if told["is_idempotent"] else ToolStep.RepeatSafety.UNSAFE)


KEPT_TOOLS: Final = Kept[Described](most=2048, sent=256)


@dataclass(frozen=True, slots=True)
class OthersTool:
    """One tool of another's server that an agent may call."""

    described: Described
    allowed_id: int
    sha256: str
    needs_approval: bool
    tenant_id: int
    row: Mapping[str, Any] = field(repr=False)  # Any: a row's values by column

    @property
    def definition(self) -> Tool:
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

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> Outcome:
        """Make the call. Of a read that was lost nothing is left behind; of anything else nobody knows."""
        try:
            place = place_of(self.row, self.tenant_id, timeout_seconds)
            # Named, not imported: the client takes a second to load. Workers have it loaded.
            answer: Answer = await import_string("apps.runtime.worker.model_backends.called_elsewhere")(
                place, self.row["name"], arguments, key
            )
        except Lost as lost:
            is_unknown = self.repeat_safety is not ToolStep.RepeatSafety.READ_ONLY
            return Outcome(f"It gave no result. {lost}", is_error=True, is_unknown=is_unknown)
        except ToolServerFailed as refusal:
            return Outcome(f"Nothing was called. {refusal}", is_error=True)
        return framed(answer, place.max_result_bytes)


def others_tools(
    rows: Sequence[Mapping[str, Any]], known: Mapping[str, Described], tenant_id: int
) -> tuple[OthersTool, ...]:
    """What a claim brought; `known` are descriptions that this process had read before it."""
    return tuple(
        OthersTool(
            known.get(row["sha256"]) or KEPT_TOOLS.keep(tenant_id, row["sha256"], Described.of(row["definition"])),
            row["id"],
            row["sha256"],
            row["needs_approval"],
            tenant_id,
            row,
        )
        for row in rows
    )


def framed(answer: Answer, most_bytes: int) -> Outcome:
    """What came back as data that cannot end its own fence, cut where it is too long."""
    whole = answer.text.encode(errors="replace")
    text = whole[:most_bytes].decode(errors="ignore")
    note = f"Cut: the result has {len(whole)} bytes, of which the first {most_bytes} are here."
    notes: JsonObject = {"note": note} if len(whole) > most_bytes else {}
    try:
        told = fence({"result": _cleaned(_parsed(text), most_bytes), **notes})
    except (ValueError, RecursionError):
        # JSON that says what nothing can keep, such as a number without end: it is told as its words.
        told = fence({"result": sanitize(text, most_bytes).text, **notes})
    return Outcome(told, is_error=answer.is_error)


def _parsed(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


def _cleaned(value: Json, most: int) -> Json:
    """The same with its texts cleaned, names too: an escape is a hidden character only once it was read."""
    match value:
        case str():
            return sanitize(value, most).text
        case Mapping():
            return {sanitize(name, most).text: _cleaned(each, most) for name, each in value.items()}
        case Sequence():
            return [_cleaned(each, most) for each in value]
        case _:
            return value
