"""Finds the taint of an agent's text by comparing it with the texts of customers and tools that the agent may see (Z-25).

The comparison takes longer with more texts, so their number is limited. Above the limit, everything that the agent writes counts
as a customer's text and is reviewed by people. So an attacker gains nothing by waiting until the words to be copied are beyond
the limit. The cost is more reviews for a busy agent.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Final

from django.db import connection

from apps.conversations.models import Conversation
from apps.governance.actors import Actor, Role
from apps.governance.database.sql_files import load_query
from apps.governance.models import Taint
from apps.governance.models.base import refuse_unless_acting
from apps.prompt.builtin_tools import BUILTIN_TOOL_NAMES
from apps.prompt.memory_lines.line_diff import split_lines
from apps.prompt.text_reuse.derived_lines import ReceivedTexts, find_derived_lines

# The most rows of each kind, and the most characters from customers and from tools. A session replays less of a conversation.
ROWS_HEARD: Final = 400
CHARACTERS_HEARD: Final = 60_000

_READ_RECEIVED_TEXTS: Final = load_query("apps/runtime/queries/read_received_texts.sql")
_HeardRow = tuple[str, list[str], str | None, str | None]  # kind, texts, speaker, and tool calls as JSON
_FOREIGN_TAINTS: Final = [Taint.TOOL.value, Taint.CUSTOMER.value, Taint.IMPORT.value]


def heard_texts(conversation: Conversation, *, actor: Actor) -> ReceivedTexts:
    """The texts that an agent received in this conversation and in others visible to it: within a turn, the customer's others."""
    return _read_heard(conversation.agent_id, actor, conversation.pk)


def heard_texts_of_agent(actor: Actor) -> ReceivedTexts | None:
    """The texts that an agent received, for a call outside of a turn. None for people, whose texts are not compared."""
    if actor.role is not Role.AGENT or actor.agent_id is None:
        return None
    return _read_heard(actor.agent_id, actor, None)


def taint_of_text(text: str, heard: ReceivedTexts | None) -> Taint:
    """The taint of a text: operator if a person wrote it, else the agent's own unless a line repeats a customer or a tool."""
    if heard is None:
        return Taint.OPERATOR
    if not heard.is_whole:
        return Taint.CUSTOMER
    return Taint.joined(Taint.AGENT, *(found.whose.value for found in find_derived_lines(split_lines(text), heard)))


def taint_of_file(name: str, content: bytes, heard: ReceivedTexts | None) -> Taint:
    """The taint of a file. A binary file or one too long to compare counts as a customer's if the agent received any text."""
    if heard is None:
        return Taint.OPERATOR
    may_quote = bool(heard.customers or heard.tools) or not heard.is_whole
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return Taint.CUSTOMER if may_quote else Taint.AGENT
    too_long = len(text) > CHARACTERS_HEARD
    return Taint.CUSTOMER if may_quote and too_long else taint_of_text(f"{name}\n{text}", heard)


def _read_heard(agent_id: int, actor: Actor, conversation_id: int | None) -> ReceivedTexts:
    # Dicts drop repetitions and keep the order, so that the limit cuts off the last texts.
    customers: dict[str, None] = {}
    tools: dict[str, None] = {}
    names: dict[str, None] = {}
    counted: Counter[str] = Counter()
    for kind, texts, name, calls in _fetch_heard_rows(agent_id, actor, conversation_id):
        counted[kind] += 1
        if counted[kind] > ROWS_HEARD:
            continue
        customers |= dict.fromkeys(texts)
        if name:
            names[name] = None
        if calls:
            tools |= dict.fromkeys(
                call["result"] for call in json.loads(calls) if call["name"] not in BUILTIN_TOOL_NAMES
            )
    fits = all(rows <= ROWS_HEARD for rows in counted.values())
    fits = fits and all(sum(map(len, side)) <= CHARACTERS_HEARD for side in (customers, tools))
    return ReceivedTexts(_cut_texts(customers), _cut_texts(tools), tuple(names), fits)


def _fetch_heard_rows(agent_id: int, actor: Actor, conversation_id: int | None) -> list[_HeardRow]:
    """The texts of rows that are `visible_to` the actor. A test compares this query with `visible_to`."""
    refuse_unless_acting(actor)
    keys = None if actor.customer_key is None else ["", *([actor.customer_key] if actor.customer_is_proven else [])]
    given = {
        "tenant": actor.tenant_id,
        "agent": agent_id,
        "conversation": conversation_id,
        "member": actor.talks_as,
        "customers": keys,
        "foreign": _FOREIGN_TAINTS,
        "rows": ROWS_HEARD + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ_RECEIVED_TEXTS, given)
        rows: list[_HeardRow] = cursor.fetchall()
    return rows


def _cut_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """The first texts up to the limit of characters, the last of them cut."""
    kept, left = [], CHARACTERS_HEARD
    for text in filter(None, texts):
        if left <= 0:
            break
        kept.append(text[:left])
        left -= len(text)
    return tuple(kept)
