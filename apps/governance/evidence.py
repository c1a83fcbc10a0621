"""What speaks for a proposal: the conversations it came up in, each counted once; pure."""

from collections.abc import Mapping
from typing import Any

CONVERSATION = "conversation_id"
CONVERSATIONS = "conversation_ids"
# How often it was asked for with no conversation named.
UNNAMED = "requests_without_conversation"


def joined(before: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence with that of one more time it was asked for."""
    named = [*new.get(CONVERSATIONS, []), *([new[CONVERSATION]] if new.get(CONVERSATION) else [])]
    known = list(dict.fromkeys([*before.get(CONVERSATIONS, []), *named]))
    unnamed = int(before.get(UNNAMED, 0)) + (not named)
    together = {**before, **new}
    for name, value in ((CONVERSATIONS, known), (UNNAMED, unnamed)):
        together.pop(name, None)
        if value:
            together[name] = value
    return together


def support(evidence: Mapping[str, Any]) -> int:
    """How many conversations ask for it, and how many times it was asked for with none named."""
    return len(evidence.get(CONVERSATIONS, [])) + int(evidence.get(UNNAMED, 0))
