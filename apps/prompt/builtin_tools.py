"""What tools a text names, and what they do: the one home of the house tools' names."""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

GET_SKILL: Final = "get_skill"
GET_SKILL_ATTACHMENT: Final = "get_skill_attachment"
LIST_SKILLS: Final = "list_skills"
UPDATE_MEMORY: Final = "update_memory"
UPDATE_CUSTOMER_PROFILE: Final = "update_customer_profile"
PROPOSE_PERSONA_PATCH: Final = "propose_persona_patch"
DRAFT_SKILL: Final = "draft_skill"
READ_MY_MEMORY: Final = "read_my_memory"
UPDATE_MY_MEMORY: Final = "update_my_memory"
READ_CONTACT_MEMORY: Final = "read_contact_memory"
UPDATE_CONTACT_MEMORY: Final = "update_contact_memory"
ESCALATE: Final = "escalate"
RENDER_TABLE: Final = "render_table"
RENDER_CHART: Final = "render_chart"
LIST_SCHEDULES: Final = "list_schedules"
PROPOSE_SCHEDULE: Final = "propose_schedule"
WITHDRAW_SCHEDULE: Final = "withdraw_schedule"
DELEGATE: Final = "delegate"
ENQUEUE_PARENT: Final = "enqueue_parent"
LIST_RESOURCES: Final = "list_resources"
USE_RESOURCE: Final = "use_resource"
CALL_TOOL: Final = "call_tool"
# Of an assistant, in a member's talk.
LIST_WAITING: Final = "list_waiting"
LIST_PROPOSALS: Final = "list_proposals"
LIST_CONVERSATIONS: Final = "list_conversations"
READ_CONVERSATION: Final = "read_conversation"
FIND_SKILLS: Final = "find_skills"
READ_SPEND: Final = "read_spend"
SOUL_UPDATE: Final = "soul_update"
# Of an agent that tends its skills, by the names the sources give them (R101).
SKILL_SAVE: Final = "skill_save"
SKILL_LIST: Final = "skill_list"
SKILL_VIEW: Final = "skill_view"
SKILL_PATCH: Final = "skill_patch"
SKILL_DELETE: Final = "skill_delete"
# Of an agent that keeps a notebook.
LIST_NOTES: Final = "list_notes"
WRITE_NOTE: Final = "write_note"
FINISH_NOTE: Final = "finish_note"
# What gives a runbook whole, by either name.
GIVING_SKILLS: Final = frozenset({GET_SKILL, SKILL_VIEW})
# What leads to tools that a prompt does not carry.
ROUTING: Final = frozenset({LIST_RESOURCES, USE_RESOURCE, CALL_TOOL})
# What an assistant has besides its own in a talk: it reads, and keeps nothing that another member would be shown.
IN_TALKS: Final = frozenset(
    {GET_SKILL, GET_SKILL_ATTACHMENT, LIST_SKILLS, RENDER_TABLE, RENDER_CHART, LIST_WAITING, LIST_PROPOSALS}
    | {LIST_CONVERSATIONS, READ_CONVERSATION, FIND_SKILLS, READ_SPEND, SOUL_UPDATE}
)
# What these give back an agent was told before: nothing of it happened in the conversation.
RECALLING: Final = frozenset(
    {GET_SKILL, GET_SKILL_ATTACHMENT, LIST_SKILLS, SKILL_LIST, SKILL_VIEW, READ_MY_MEMORY, READ_CONTACT_MEMORY}
    | {LIST_NOTES, LIST_SCHEDULES}
)
# What these are given holds, beside what is new, what stood there before.
KEEPING: Final = frozenset(
    {UPDATE_MEMORY, UPDATE_MY_MEMORY, UPDATE_CUSTOMER_PROFILE, UPDATE_CONTACT_MEMORY, DRAFT_SKILL, SKILL_SAVE}
    | {SKILL_PATCH, SKILL_DELETE, PROPOSE_PERSONA_PATCH, PROPOSE_SCHEDULE, WITHDRAW_SCHEDULE, WRITE_NOTE}
    | {FINISH_NOTE}
)
# By which an agent keeps what it knows for itself: called alone, nothing was done for a customer.
OF_ITSELF: Final = KEEPING - {UPDATE_CUSTOMER_PROFILE, UPDATE_CONTACT_MEMORY, PROPOSE_SCHEDULE, WITHDRAW_SCHEDULE}
# By which agents speak to each other.
BETWEEN_AGENTS: Final = frozenset({DELEGATE, ENQUEUE_PARENT})


class Effect(StrEnum):
    """What calling a tool leaves behind."""

    READS = "reads"
    WRITES = "writes"
    PAYS = "pays"


HOUSE: Mapping[str, Effect] = MappingProxyType(
    {
        GET_SKILL: Effect.READS,
        GET_SKILL_ATTACHMENT: Effect.READS,
        LIST_SKILLS: Effect.READS,
        UPDATE_MEMORY: Effect.WRITES,
        UPDATE_CUSTOMER_PROFILE: Effect.WRITES,
        PROPOSE_PERSONA_PATCH: Effect.WRITES,
        DRAFT_SKILL: Effect.WRITES,
        ESCALATE: Effect.WRITES,
        RENDER_TABLE: Effect.READS,
        RENDER_CHART: Effect.READS,
        LIST_SCHEDULES: Effect.READS,
        PROPOSE_SCHEDULE: Effect.WRITES,
        WITHDRAW_SCHEDULE: Effect.WRITES,
        DELEGATE: Effect.WRITES,
        ENQUEUE_PARENT: Effect.WRITES,
        LIST_WAITING: Effect.READS,
        LIST_PROPOSALS: Effect.READS,
        LIST_CONVERSATIONS: Effect.READS,
        READ_CONVERSATION: Effect.READS,
        FIND_SKILLS: Effect.READS,
        READ_SPEND: Effect.READS,
        SOUL_UPDATE: Effect.WRITES,
        READ_MY_MEMORY: Effect.READS,
        UPDATE_MY_MEMORY: Effect.WRITES,
        READ_CONTACT_MEMORY: Effect.READS,
        UPDATE_CONTACT_MEMORY: Effect.WRITES,
        SKILL_SAVE: Effect.WRITES,
        SKILL_LIST: Effect.READS,
        SKILL_VIEW: Effect.READS,
        SKILL_PATCH: Effect.WRITES,
        SKILL_DELETE: Effect.WRITES,
        LIST_NOTES: Effect.READS,
        WRITE_NOTE: Effect.WRITES,
        FINISH_NOTE: Effect.WRITES,
    }
)
# Parts of the names that operators give to their own tools.
_PAYING: Final = frozenset(
    {"charge", "credit", "invoice", "pay", "payment", "payout", "purchase", "refund", "refunds", "transfer", "withdraw"}
)
_READING: Final = frozenset({"check", "count", "fetch", "find", "get", "list", "lookup", "read", "search", "show"})
_WRITING: Final = frozenset(
    {"add", "approve", "book", "cancel", "close", "create", "delete", "draft", "edit", "escalate", "grant", "issue"}
    | {"move", "open", "post", "propose", "reject", "remove", "reset", "revoke", "save", "schedule", "send"}
    | {"set", "submit", "update", "upload", "write"}
)
# Verbs that are no nouns: a name that begins so is a tool, whatever it ends in.
_ACTING: Final = (_READING | _WRITING | {"pay", "withdraw"}) - {
    "book",
    "check",
    "count",
    "issue",
    "open",
    "order",
    "post",
    "set",
}
# What ends so is a value somebody writes down, such as refund_policy or order_id, and no tool.
_VALUES: Final = frozenset(
    {"address", "amount", "card", "code", "count", "date", "email", "hours", "id", "key", "limit", "link", "method"}
    | {"name", "note", "number", "policy", "reason", "status", "time", "title", "total", "type", "url", "version"}
)
# Long runs are no names; the bound keeps the search linear.
_NAME: Final = re.compile(r"(?<![A-Za-z0-9_])[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,8}(?![A-Za-z0-9_])")


def tools_named(text: str) -> frozenset[str]:
    """Every word of a text that is written as tools are."""
    return frozenset(_NAME.findall(text))


def effect_of(name: str) -> Effect | None:
    """What a tool of this name does; None where the name says nothing, as that of a plain variable."""
    if name in HOUSE:
        return HOUSE[name]
    verb, *rest = name.split("_")
    if rest and rest[-1] in _VALUES and verb not in _ACTING:
        return None
    if verb in _READING:
        return Effect.READS
    if verb in _PAYING or (verb in _WRITING and _PAYING & set(rest)):
        return Effect.PAYS
    return Effect.WRITES if verb in _WRITING else None


def effects_in(text: str) -> frozenset[Effect]:
    """What the tools that a text names can do."""
    return frozenset(effect for name in tools_named(text) if (effect := effect_of(name)) is not None)
