"""A query that reads an approved skill in a single round trip, because turns run it between two model calls."""

import json
from typing import Final

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import execute_as
from apps.governance.row_ids import LARGEST_ROW_ID
from apps.skills.models import Skill

# Row security restricts this to the rows that the actor may see; the conditions on tenant and status repeat it explicitly.
_APPROVED_SKILL_SQL = """
SELECT skill.id, skill.tenant_id, skill.version, skill.agent_id, skill.name, skill.title, skill.body, skill.attachments::text
  FROM skills_skill AS skill
 WHERE skill.tenant_id = app_tenant() AND skill.id = %(skill)s::bigint AND skill.status = 'approved'
   AND skill.quarantined_at IS NULL
"""
# In the order of the model's fields, because `from_db` expects the values of a partly loaded row in that order.
_FIELDS: Final = ("id", "tenant_id", "version", "agent_id", "name", "title", "body", "attachments")


def read_approved_skill(pk: int, *, actor: Actor) -> Skill | None:
    """Return the approved skill with this id if the actor may see it, else None (R095).

    The caller must also `authorize` the fetch.
    """
    if not 0 < pk <= LARGEST_ROW_ID:
        return None
    rows = execute_as(actor, _APPROVED_SKILL_SQL, {"skill": pk})
    return next((Skill.from_db("default", _FIELDS, (*row[:-1], json.loads(row[-1]))) for row in rows), None)
