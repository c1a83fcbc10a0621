"""The month's requests, rendered by the product and laid out as paths in a trie: one node for each prefix ever sent."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias

from apps.llm.cache_blocks import block_of, content_blocks, message_place
from apps.llm.cache_rules import CacheBlock, CacheRules, Prefix, extend_digest, start_digest
from apps.llm.model_backend import JsonObject, ModelRequest, SystemBlock, ToolDefinition
from apps.llm.prices import DEFAULT_CACHE_RULES
from apps.prompt.cache.breakpoints import PrefixScope
from apps.prompt.prompt_input import EventKind, PromptInput, SendMode, SkillInput, Slot, TurnEvent, TurnInput
from apps.prompt.rendering.data_fences import date_line
from apps.prompt.rendering.snapshot import render_snapshot
from apps.prompt.rendering.user_turn import render_user_turn
from apps.runtime.limits.turn_limits import history_window
from benchmarks.prompt_cache.month_simulation import Month, Round, SimulatedTalk, SimulatedTurn, moment
from benchmarks.prompt_cache.sample_texts import card, memory, passage, persona, profile, prose, skill, text_of, tool

IDLE_SECONDS: Final = 1800.0
MODEL: Final = "claude-sonnet-5"
Versions: TypeAlias = Mapping[str, int]


@dataclass(slots=True)
class Node:
    """One prefix: everything up to the end of one block."""

    prefix: Prefix
    label: str
    kind: str
    tokens: int
    reach: PrefixScope
    number: int
    children: dict[bytes, "Node"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One request; its writes are readable once its response begins. `versions` are those of the frozen slots."""

    at: float
    begins_at: float
    talk: SimulatedTalk
    versions: Versions
    window_start: int
    path: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class RequestPiece:
    """A block ready to be hashed, with its place in the request."""

    block: CacheBlock
    content_digest: bytes
    label: str
    reach: PrefixScope


Message: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class TracedSession:
    """The frozen part of a session: tools and slots, and the versions they were made from."""

    versions: Versions
    pieces: tuple[RequestPiece, ...]
    tools: tuple[ToolDefinition, ...]
    system: tuple[SystemBlock, ...]
    used_at: float


class Renderer:
    """Turns the drawn month into requests."""

    def __init__(self, month: Month, rules: CacheRules = DEFAULT_CACHE_RULES) -> None:
        self._month = month
        self._run_kinds = rules.run_kinds
        self._root = Node(Prefix(start_digest(MODEL), 0, -1), "", "", 0, PrefixScope.WORKSPACE, -1)
        self._frozen: dict[tuple[object, ...], TracedSession] = {}
        self._skill_lines: dict[int, tuple[SkillInput, ...]] = {}
        self.nodes: list[Node] = []

    def calls(self) -> list[TracedCall]:
        """Every request of the month in the order it was sent."""
        calls = [call for talk in self._month.talks for call in self._calls(talk)]
        return sorted(calls, key=lambda call: (call.at, call.talk.talk_id))

    def requests(self, talk: SimulatedTalk) -> Iterator[tuple[float, ModelRequest]]:
        """Yield the same requests as the backend takes them, without marks."""
        for at, _, session, window, _ in self._sent_requests(talk):
            yield (
                at,
                ModelRequest(MODEL, 100, session.system, tuple(dict(message) for message, _ in window), session.tools),
            )

    def _calls(self, talk: SimulatedTalk) -> Iterator[TracedCall]:
        for at, begins_at, session, window, start in self._sent_requests(talk):
            pieces = [*session.pieces, *(piece for _, found in window for piece in found)]
            yield TracedCall(at, begins_at, talk, session.versions, start, self._path(pieces))

    def _sent_requests(self, talk: SimulatedTalk) -> Iterator[tuple[float, float, TracedSession, Sequence[Any], int]]:
        rng = Random(f"{self._month.setting.seed}/{talk.talk_id}")
        history: list[tuple[Message, tuple[RequestPiece, ...]]] = []
        session = None
        for turn in talk.turns:
            if session is None or turn.at - session.used_at > IDLE_SECONDS:
                session = self._session(talk, turn.at)
            asked = _history_entry(_customer_message(rng, talk, turn))
            window = history_window([message for message, _ in history])
            start = len(history) - len(window)
            loop = [*history[start:], asked]
            at = turn.at
            for round_ in turn.rounds:
                yield at, at + round_.model_seconds / 3, session, tuple(loop), start
                at += round_.model_seconds + round_.tool_seconds
                loop += [_history_entry(message) for message in _exchange(rng, round_)]
            yield at, at + turn.model_seconds / 3, session, tuple(loop), start
            answer: Message = {"role": "assistant", "content": [_text(prose(rng, turn.reply_characters))]}
            history = [*history[:start], *loop, _history_entry(answer)]
            session.used_at = turn.ends_at

    def _session(self, talk: SimulatedTalk, at: float) -> TracedSession:
        edits = self._month.edits
        versions = {
            "release": edits.version("release", 0, at),
            "profile": edits.version("profile", talk.customer_id, at),
            **{kind: edits.version(kind, talk.agent_id, at) for kind in ("memory", "persona", "skills", "rules")},
        }
        key = (talk.agent_id, talk.customer_id, *versions.values())
        if key not in self._frozen:
            self._frozen[key] = self._frozen_session(talk, versions)
        known = self._frozen[key]
        return TracedSession(versions, known.pieces, known.tools, known.system, at)

    def _frozen_session(self, talk: SimulatedTalk, versions: Versions) -> TracedSession:
        assembled = render_snapshot(self._prompt_input(talk, versions))
        tools = tuple(tool(number, versions["release"]) for number in range(self._month.setting.tools))
        system = tuple(SystemBlock(text) for text in assembled.blocks)
        pieces = [_piece("tools", each.wire, "tools", PrefixScope.WORKSPACE) for each in tools]
        reach = PrefixScope.WORKSPACE
        for part, block in zip(assembled.parts, system, strict=True):
            reach = max(reach, self._reach(part.slot, talk.agent_id))
            pieces.append(_piece("system", block.wire, part.slot.name.lower(), reach))
        return TracedSession(versions, tuple(pieces), tools, system, 0.0)

    def _reach(self, slot: Slot, agent_id: int) -> PrefixScope:
        if slot is Slot.PROFILE:
            return PrefixScope.CUSTOMER
        return PrefixScope.WORKSPACE if slot is Slot.CONTRACT and not _has_rules(agent_id) else PrefixScope.AGENT

    def _prompt_input(self, talk: SimulatedTalk, versions: Versions) -> PromptInput:
        agent_id = talk.agent_id
        rules = (passage("rules", agent_id, versions["rules"], characters=350),) if _has_rules(agent_id) else ()
        known = versions["profile"]
        return PromptInput(
            agent_key=f"agent-{agent_id}",
            order=self._month.setting.order,
            identity_card=card(agent_id),
            persona=persona(agent_id, versions["persona"]),
            agent_rules=rules,
            skills=self._skills(agent_id)[: self._base_skills(agent_id) + versions["skills"]],
            memory=memory(agent_id, versions["memory"]),
            profile=profile(talk.customer_id, known) if known else None,
            skills_guidance=True,
        )

    def _skills(self, agent_id: int) -> tuple[SkillInput, ...]:
        if agent_id not in self._skill_lines:
            count = self._base_skills(agent_id) + 30
            self._skill_lines[agent_id] = tuple(skill(agent_id, number) for number in range(count))
        return self._skill_lines[agent_id]

    def _base_skills(self, agent_id: int) -> int:
        return Random(f"skills/{agent_id}").randint(*self._month.setting.skills)

    def _path(self, pieces: Sequence[RequestPiece]) -> tuple[Node, ...]:
        node = self._root
        path = []
        for piece in pieces:
            found = node.children.get(piece.content_digest)
            node = found if found is not None else self._child_node(node, piece)
            path.append(node)
        return tuple(path)

    def _child_node(self, parent: Node, piece: RequestPiece) -> Node:
        block = piece.block
        run = block.kind == parent.kind and block.kind in self._run_kinds
        before = parent.prefix
        prefix = Prefix(
            extend_digest(before.digest, piece.content_digest),
            before.tokens + block.tokens,
            before.position + (not run),
        )
        node = Node(prefix, piece.label, block.kind, block.tokens, piece.reach, len(self.nodes))
        parent.children[piece.content_digest] = node
        self.nodes.append(node)
        return node


def _has_rules(agent_id: int) -> bool:
    return agent_id % 2 == 1


def _piece(place: str, wire: JsonObject, label: str, reach: PrefixScope) -> RequestPiece:
    block = block_of(place, wire)
    return RequestPiece(block, hashlib.sha256(block.content).digest(), label, reach)


def _history_entry(message: Message) -> tuple[Message, tuple[RequestPiece, ...]]:
    """Return a message with its blocks hashed, once for all requests that replay it."""
    place = message_place(message["role"], {})
    blocks = content_blocks(dict(message))
    return message, tuple(_piece(place, block, "messages", PrefixScope.CONVERSATION) for block in blocks)


def _customer_message(rng: Random, talk: SimulatedTalk, turn: SimulatedTurn) -> Message:
    event = TurnEvent(
        EventKind.MESSAGE,
        prose(rng, turn.message_characters),
        moment(turn.at),
        name=text_of("customer", talk.customer_id, characters=10),
        key=f"http:{talk.customer_id}",
    )
    mode = rng.choice((SendMode.AUTONOMOUS, SendMode.SUGGEST))
    given = TurnInput((event,), date_line(moment(turn.at)), send_mode=mode)
    return {"role": "user", "content": [_text(render_user_turn(given).text)]}


def _exchange(rng: Random, round_: Round) -> tuple[Message, Message]:
    ids = [f"toolu_{rng.getrandbits(64):016x}" for _ in range(round_.calls)]
    uses = [
        {
            "type": "tool_use",
            "id": each,
            "name": f"tool_{rng.randrange(4):02}",
            "input": {"argument_0": prose(rng, 40)},
        }
        for each in ids
    ]
    results = [
        {"type": "tool_result", "tool_use_id": each, "content": json.dumps(prose(rng, round_.result_characters))}
        for each in ids
    ]
    return {"role": "assistant", "content": uses}, {"role": "user", "content": results}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
