"""An agent's recent conversations, one line each: states, counts and names, no message text.

These lines are part of the prompt of every customer, and a model may rewrite them into lasting facts. Therefore they consist of
states, counts, and names chosen by people, and contain no text of a customer, an agent or a tool result.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.learning.distillation.tier_schedule import LogLine
from apps.learning.distillation.tier_text import EndedConversation, session_log_line

# More lines than fit the budget of the short tier.
MAX_CONVERSATIONS: Final = 400

_READ_SESSION_LOG: Final = load_query("apps/learning/distillation/queries/read_session_log.sql")


def read_session_log(agent_id: int, *, actor: Actor) -> tuple[LogLine, ...]:
    """Return the latest ended conversations, newest first, without those off the record (R169, R178)."""
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_READ_SESSION_LOG, {"agent": agent_id, "limit": MAX_CONVERSATIONS})
        return tuple(
            LogLine(at, session_log_line(_parse_conversation(json.loads(facts_json))))
            for at, facts_json in cursor.fetchall()
        )


def _parse_conversation(facts: Mapping[str, Any]) -> EndedConversation:
    names = {name: tuple(facts[name] or ()) for name in ("tools", "skills", "escalations")}
    return EndedConversation(**{**facts, **names})
