"""The names of the built-in tools, the effects of tools, and the tools that a text names."""

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
# Tools of an assistant in a member's conversation.
LIST_WAITING: Final = "list_waiting"
LIST_PROPOSALS: Final = "list_proposals"
LIST_CONVERSATIONS: Final = "list_conversations"
READ_CONVERSATION: Final = "read_conversation"
FIND_SKILLS: Final = "find_skills"
READ_SPEND: Final = "read_spend"
SOUL_UPDATE: Final = "soul_update"
# Tools of an agent that maintains its skills; the names follow their sources (R101).
SKILL_SAVE: Final = "skill_save"
SKILL_LIST: Final = "skill_list"
SKILL_VIEW: Final = "skill_view"
SKILL_PATCH: Final = "skill_patch"
SKILL_DELETE: Final = "skill_delete"
# Tools of an agent that keeps a notebook.
LIST_NOTES: Final = "list_notes"
WRITE_NOTE: Final = "write_note"
FINISH_NOTE: Final = "finish_note"
# Tools that return a whole runbook, under either of their names.
SKILL_READING_TOOLS: Final = frozenset({GET_SKILL, SKILL_VIEW})
# Tools that find tools missing from the prompt.
ROUTING_TOOLS: Final = frozenset({LIST_RESOURCES, USE_RESOURCE, CALL_TOOL})
# Additional tools of an assistant in a conversation: they only read, and store nothing that another member could see.
ASSISTANT_TALK_TOOLS: Final = frozenset(
    {GET_SKILL, GET_SKILL_ATTACHMENT, LIST_SKILLS, RENDER_TABLE, RENDER_CHART, LIST_WAITING, LIST_PROPOSALS}
    | {LIST_CONVERSATIONS, READ_CONVERSATION, FIND_SKILLS, READ_SPEND, SOUL_UPDATE}
)
# These tools return the agent's own knowledge, so their results are no events of the conversation.
RECALL_TOOLS: Final = frozenset(
    {GET_SKILL, GET_SKILL_ATTACHMENT, LIST_SKILLS, SKILL_LIST, SKILL_VIEW, READ_MY_MEMORY, READ_CONTACT_MEMORY}
    | {LIST_NOTES, LIST_SCHEDULES}
)
# The arguments of these tools contain the previous text next to the new one.
PERSISTING_TOOLS: Final = frozenset(
    {UPDATE_MEMORY, UPDATE_MY_MEMORY, UPDATE_CUSTOMER_PROFILE, UPDATE_CONTACT_MEMORY, DRAFT_SKILL, SKILL_SAVE}
    | {SKILL_PATCH, SKILL_DELETE, PROPOSE_PERSONA_PATCH, PROPOSE_SCHEDULE, WITHDRAW_SCHEDULE, WRITE_NOTE}
    | {FINISH_NOTE}
)
# Tools that store the agent's own knowledge: a conversation that used only these did nothing for a customer.
SELF_KNOWLEDGE_TOOLS: Final = PERSISTING_TOOLS - {
    UPDATE_CUSTOMER_PROFILE,
    UPDATE_CONTACT_MEMORY,
    PROPOSE_SCHEDULE,
    WITHDRAW_SCHEDULE,
}
# Tools that agents use to write to each other.
AGENT_MESSAGING_TOOLS: Final = frozenset({DELEGATE, ENQUEUE_PARENT})


class ToolEffect(StrEnum):
    """The effect of calling a tool."""

    READS = "reads"
    WRITES = "writes"
    PAYS = "pays"


BUILTIN_TOOL_NAMES: Mapping[str, ToolEffect] = MappingProxyType(
    {
        GET_SKILL: ToolEffect.READS,
        GET_SKILL_ATTACHMENT: ToolEffect.READS,
        LIST_SKILLS: ToolEffect.READS,
        UPDATE_MEMORY: ToolEffect.WRITES,
        UPDATE_CUSTOMER_PROFILE: ToolEffect.WRITES,
        PROPOSE_PERSONA_PATCH: ToolEffect.WRITES,
        DRAFT_SKILL: ToolEffect.WRITES,
        ESCALATE: ToolEffect.WRITES,
        RENDER_TABLE: ToolEffect.READS,
        RENDER_CHART: ToolEffect.READS,
        LIST_SCHEDULES: ToolEffect.READS,
        PROPOSE_SCHEDULE: ToolEffect.WRITES,
        WITHDRAW_SCHEDULE: ToolEffect.WRITES,
        DELEGATE: ToolEffect.WRITES,
        ENQUEUE_PARENT: ToolEffect.WRITES,
        LIST_WAITING: ToolEffect.READS,
        LIST_PROPOSALS: ToolEffect.READS,
        LIST_CONVERSATIONS: ToolEffect.READS,
        READ_CONVERSATION: ToolEffect.READS,
        FIND_SKILLS: ToolEffect.READS,
        READ_SPEND: ToolEffect.READS,
        SOUL_UPDATE: ToolEffect.WRITES,
        READ_MY_MEMORY: ToolEffect.READS,
        UPDATE_MY_MEMORY: ToolEffect.WRITES,
        READ_CONTACT_MEMORY: ToolEffect.READS,
        UPDATE_CONTACT_MEMORY: ToolEffect.WRITES,
        SKILL_SAVE: ToolEffect.WRITES,
        SKILL_LIST: ToolEffect.READS,
        SKILL_VIEW: ToolEffect.READS,
        SKILL_PATCH: ToolEffect.WRITES,
        SKILL_DELETE: ToolEffect.WRITES,
        LIST_NOTES: ToolEffect.READS,
        WRITE_NOTE: ToolEffect.WRITES,
        FINISH_NOTE: ToolEffect.WRITES,
    }
)
# Parts of the names that operators give to their own tools.
_PAYMENT_WORDS: Final = frozenset(
    {"charge", "credit", "invoice", "pay", "payment", "payout", "purchase", "refund", "refunds", "transfer", "withdraw"}
)
_READ_VERBS: Final = frozenset({"check", "count", "fetch", "find", "get", "list", "lookup", "read", "search", "show"})
_WRITE_VERBS: Final = frozenset(
    {"add", "approve", "book", "cancel", "close", "create", "delete", "draft", "edit", "escalate", "grant", "issue"}
    | {"move", "open", "post", "propose", "reject", "remove", "reset", "revoke", "save", "schedule", "send"}
    | {"set", "submit", "update", "upload", "write"}
)
# Verbs that are not also nouns: a name that begins with one is a tool, whatever its ending.
_UNAMBIGUOUS_VERBS: Final = (_READ_VERBS | _WRITE_VERBS | {"pay", "withdraw"}) - {
    "book",
    "check",
    "count",
    "issue",
    "open",
    "order",
    "post",
    "set",
}
# Names with these endings are values, not tools: refund_policy, order_id.
_VALUE_SUFFIXES: Final = frozenset(
    {"address", "amount", "card", "code", "count", "date", "email", "hours", "id", "key", "limit", "link", "method"}
    | {"name", "note", "number", "policy", "reason", "status", "time", "title", "total", "type", "url", "version"}
)
# Longer runs are not names; the bound keeps the search linear.
_TOOL_NAME: Final = re.compile(r"(?<![A-Za-z0-9_])[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,8}(?![A-Za-z0-9_])")


def tool_names_in(text: str) -> frozenset[str]:
    """Return every word of a text that has the form of a tool name."""
    return frozenset(_TOOL_NAME.findall(text))


def tool_effect(name: str) -> ToolEffect | None:
    """Return the effect of a tool with this name; None if the name does not show one, as for a plain variable."""
    if name in BUILTIN_TOOL_NAMES:
        return BUILTIN_TOOL_NAMES[name]
    verb, *rest = name.split("_")
    if rest and rest[-1] in _VALUE_SUFFIXES and verb not in _UNAMBIGUOUS_VERBS:
        return None
    if verb in _READ_VERBS:
        return ToolEffect.READS
    if verb in _PAYMENT_WORDS or (verb in _WRITE_VERBS and _PAYMENT_WORDS & set(rest)):
        return ToolEffect.PAYS
    return ToolEffect.WRITES if verb in _WRITE_VERBS else None


def tool_effects_in(text: str) -> frozenset[ToolEffect]:
    """Return the effects of the tools that a text names."""
    return frozenset(effect for name in tool_names_in(text) if (effect := tool_effect(name)) is not None)
