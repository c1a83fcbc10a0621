"""What an agent was told by customers and tools, as far as its own eyes reach: what its words are compared with (Z-25).

Comparing takes time that grows with what was said, so only so much of it is compared. Of an agent that was told more, nothing
counts as its own any more: all it writes is held to be a customer's, and people look at it. So nobody gains by waiting until
the words to copy are older than the bound; a busy agent pays with reviews.
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

# So many rows of a kind, and so many characters of a side. What a session replays of a conversation is less.
ROWS_HEARD: Final = 400
CHARACTERS_HEARD: Final = 60_000

_READ_RECEIVED_TEXTS: Final = load_query("apps/runtime/queries/read_received_texts.sql")
_HeardRow = tuple[str, list[str], str | None, str | None]  # its kind, what was said, by whom, and calls as JSON
_FOREIGN_TAINTS: Final = [Taint.TOOL.value, Taint.CUSTOMER.value, Taint.IMPORT.value]


def heard_texts(conversation: Conversation, *, actor: Actor) -> ReceivedTexts:
    """What an agent heard in a conversation, and in all it may see: in a turn, those of its customer."""
    return _read_heard(conversation.agent_id, actor, conversation.pk)


def heard_texts_of_agent(actor: Actor) -> ReceivedTexts | None:
    """The same for whoever asks outside a turn; people are not asked what they heard."""
    if actor.role is not Role.AGENT or actor.agent_id is None:
        return None
    return _read_heard(actor.agent_id, actor, None)


def taint_of_text(text: str, heard: ReceivedTexts | None) -> Taint:
    """Whose words a text carries: a person's, or an agent's own unless a line of it repeats somebody."""
    if heard is None:
        return Taint.OPERATOR
    if not heard.is_whole:
        return Taint.CUSTOMER
    return Taint.joined(Taint.AGENT, *(found.whose.value for found in find_derived_lines(split_lines(text), heard)))


def taint_of_file(name: str, content: bytes, heard: ReceivedTexts | None) -> Taint:
    """The same of a file. What cannot be compared, for it is no text or too long, is a customer's if the agent heard any."""
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
    # Ordered and each once: what is said is bounded from its first on.
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
    """What stands in rows that `visible_to` the actor; a test holds this against it."""
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
    """The first of the texts, up to a number of characters; the last is cut."""
    kept, left = [], CHARACTERS_HEARD
    for text in filter(None, texts):
        if left <= 0:
            break
        kept.append(text[:left])
        left -= len(text)
    return tuple(kept)
