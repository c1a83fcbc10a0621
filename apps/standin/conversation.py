"""Parses a model request as a conversation: the persona, the author of each text, and the calls made so far."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from apps.standin.requests import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apps.llm.model_backend import Json, JsonObject
    from apps.standin.requests import ParsedRequest, RequestMessage

CUSTOMER_HEADER = re.compile(r"^\[[^·\[\]]{1,60} · .{0,600}\]$")
OWNER_HEADER = re.compile(r"^\[\w+ instruction from your owner\b.{0,100}\]$")
AGENT_HEADER = re.compile(r"^\[Answer of another agent · .{0,600}\]$")
# The beginning of the owner's text for a colleague's answer to an escalation.
COLLEAGUE_ANSWER = re.compile(
    r"^A colleague answers a question that you handed over \([^()\n]{1,40}\)\. [^\n]{1,200}:$\n+", re.MULTILINE
)
SKILL_LINE = re.compile(r"^- (?P<name>\S.{0,200}?) \(id: (?P<skill_id>\d{1,18})\)(?: — (?P<description>.{0,600}))?$")


@dataclass(frozen=True, slots=True)
class IndexedSkill:
    """A skill as listed in the skill index."""

    name: str
    skill_id: int
    description: str


@dataclass(frozen=True, slots=True)
class PastCall:
    """A tool call of this conversation and its result."""

    tool_name: str
    arguments: JsonObject
    result: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class TurnTexts:
    """The texts of one user turn by author; `answers` come from colleagues and other agents and are for the customer."""

    customer: str
    owner: str
    answers: tuple[str, ...] = ()


class RequestConversation:
    """A model request parsed as a conversation."""

    def __init__(self, asked: ParsedRequest) -> None:
        self.system = asked.system_text
        self.tools: dict[str, JsonObject] = {}
        if asked.settings.get("tool_choice") != {"type": "none"}:
            self.tools = {str(tool.get("name")): _as_object(tool.get("input_schema")) for tool in asked.tools}
        self._messages = asked.messages

    @cached_property
    def turn(self) -> TurnTexts:
        return _parse_turn(self._messages[self._turn_start])

    @cached_property
    def customer_texts(self) -> tuple[str, ...]:
        """Return everything that the customer wrote, latest first."""
        turns = (_parse_turn(message) for message in reversed(self._messages) if _opens_turn(message))
        return tuple(turn.customer for turn in turns if turn.customer)

    @cached_property
    def is_first_reply(self) -> bool:
        return not any(
            text_of(block).strip()
            for message in self._messages[: self._turn_start]
            if message.role == "assistant"
            for block in message.blocks
        )

    @cached_property
    def calls(self) -> tuple[PastCall, ...]:
        return tuple(_past_calls(self._messages))

    @cached_property
    def turn_calls(self) -> tuple[PastCall, ...]:
        """Return the calls made since the customer last wrote."""
        return tuple(_past_calls(self._messages[self._turn_start :]))

    @cached_property
    def skills(self) -> tuple[IndexedSkill, ...]:
        found = (SKILL_LINE.match(line) for line in self.section("Skills").splitlines())
        return tuple(
            IndexedSkill(line["name"], int(line["skill_id"]), line["description"] or "") for line in found if line
        )

    @cached_property
    def remembered(self) -> str:
        """Return the agent's memory as plain text; unapproved lines are JSON in the prompt."""
        section = self.section("Remembered context")
        return "\n".join(json_strings(section)) or section

    def section(self, heading: str, level: int = 1) -> str:
        """Return a section of the system prompt, without its heading; empty if there is none."""
        return section_of(self.system, heading, level)

    @cached_property
    def _turn_start(self) -> int:
        starts = [index for index, message in enumerate(self._messages) if _opens_turn(message)]
        return starts[-1] if starts else 0


def section_of(text: str, heading: str, level: int = 1) -> str:
    title = f"{'#' * level} {heading}".lower()
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.strip().lower() == title]
    if not starts:
        return ""
    body = []
    for line in lines[starts[0] + 1 :]:
        hashes = len(line) - len(line.lstrip("#"))
        if line.strip() == "---" or (0 < hashes <= level and line[hashes : hashes + 1] == " "):
            break
        body.append(line)
    return "\n".join(body).strip()


def json_lines(text: str) -> Iterator[Json]:
    """Yield every line that is a JSON value: a string, an object or a list."""
    for line in text.splitlines():
        if line.strip()[:1] in {'"', "{", "["}:
            try:
                yield json.loads(line)
            except ValueError:
                continue


def json_strings(text: str) -> tuple[str, ...]:
    return tuple(value for value in json_lines(text) if isinstance(value, str))


def _opens_turn(message: RequestMessage) -> bool:
    kinds = {block.get("type") for block in message.blocks}
    return message.role == "user" and "text" in kinds and "tool_result" not in kinds


def _parse_turn(message: RequestMessage) -> TurnTexts:
    text = "\n".join(text_of(block) for block in message.blocks)
    customer: list[str] = []
    owner: list[str] = []
    agents: list[str] = []
    bucket: list[str] = []
    framed = False
    for line in text.splitlines():
        if AGENT_HEADER.match(line):
            bucket, framed = agents, True
        elif CUSTOMER_HEADER.match(line):
            bucket, framed = customer, True
        elif OWNER_HEADER.match(line):
            bucket, framed = owner, True
        else:
            bucket.append(line)
    if framed:
        instruction, *answered = COLLEAGUE_ANSWER.split("\n".join(owner))
        answers = (answer.strip() for answer in (*answered, *json_strings("\n".join(agents))))
        return TurnTexts(_unfenced("\n".join(customer)), _unfenced(instruction), tuple(filter(None, answers)))
    quoted = json_strings(text)
    return TurnTexts(quoted[-1] if quoted else text.strip(), "")


def _unfenced(text: str) -> str:
    quoted = json_strings(text)
    return "\n".join(quoted).strip() if quoted else text.strip()


def _past_calls(messages: tuple[RequestMessage, ...]) -> Iterator[PastCall]:
    blocks = [block for message in messages for block in message.blocks]
    results = {block.get("tool_use_id"): block for block in blocks if block.get("type") == "tool_result"}
    for block in blocks:
        if block.get("type") == "tool_use":
            result = results.get(block.get("id"), {})
            yield PastCall(
                tool_name=str(block.get("name")),
                arguments=_as_object(block.get("input")),
                result=_result_text(result.get("content")),
                is_error=result.get("is_error") is True,
            )


def _result_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(block) for block in content if isinstance(block, dict))
    return ""


def _as_object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
