"""What became of the approved skills of a tenant, read in few statements however many, and which a person may retire."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from apps.conversations.repeat_contacts import TAKES_UP
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.runtime.explain.skill_reads import GAVE_APPROVED
from apps.skills.models import Skill
from apps.skills.retirement_rules import Figures, Newer, Share, Suggestion, suggestions
from apps.text_analysis.procedure_similarity import Draft, Shelf, tools_in
from apps.tools.models import ServerTool

# Of each agent's conversations so many are compared, however long its history; those that began last.
LATEST: Final = 1_000
# Calls of agents that run elsewhere count as use, and are in no turn of ours to compare. With an offset PostgreSQL looks up what
# came after one conversation by its keys; without it, a table of all of the tenant's is made first.
_FIGURES: Final = f"""
WITH live AS MATERIALIZED (
    SELECT id, tenant_id, agent_id, approved_at, retained_until FROM skills_skill
     WHERE tenant_id = app_tenant() AND status = 'approved' AND quarantined_at IS NULL AND id = ANY (%(skills)s)
), fetched AS MATERIALIZED (
    SELECT step.arguments ->> 'skill_id' AS skill, turn.conversation_id, max(step.started_at) AS at
      FROM runtime_toolstep AS step JOIN runtime_turn AS turn ON turn.tenant_id = step.tenant_id AND turn.id = step.turn_id
     WHERE step.tenant_id = app_tenant() AND {GAVE_APPROVED}
       AND step.started_at > %(now)s - interval '90 days'
     GROUP BY skill, turn.conversation_id
), latest AS MATERIALIZED (
    SELECT thread.* FROM (SELECT DISTINCT agent_id FROM live) AS agent CROSS JOIN LATERAL (
        SELECT known.* FROM conversations_conversation AS known
         WHERE known.tenant_id = app_tenant() AND known.agent_id = agent.agent_id AND known.origin = 'live'
           AND known.parent_id IS NULL AND known.member_user_id IS NULL
         ORDER BY known.id DESC LIMIT %(most)s) AS thread
), ended AS MATERIALIZED (
    SELECT thread.id, thread.agent_id,
           thread.status = 'abandoned' OR thread.outcome = 'unsolved'
           OR EXISTS (SELECT 1 FROM desk_escalation AS question
                       WHERE question.tenant_id = thread.tenant_id AND question.conversation_id = thread.id OFFSET 0)
           OR EXISTS (SELECT 1 FROM conversations_conversation AS later CROSS JOIN LATERAL (SELECT thread.*) AS earlier
                       WHERE {TAKES_UP} OFFSET 0) AS badly
      FROM latest AS thread
     WHERE thread.status <> 'open' AND NOT thread.off_the_record
       AND coalesce(thread.resolved_at, thread.updated_at) > %(now)s - interval '90 days'
), totals AS (
    SELECT agent_id, count(*) AS ended, count(*) FILTER (WHERE badly) AS badly FROM ended GROUP BY agent_id
), mine AS (
    SELECT fetched.skill, count(*) AS fetched_90, count(*) FILTER (WHERE fetched.at > %(now)s - interval '30 days')
               AS fetched_30, count(ended.id) AS ended, count(*) FILTER (WHERE ended.badly) AS badly
      FROM fetched LEFT JOIN ended ON ended.id = fetched.conversation_id GROUP BY fetched.skill
)
SELECT live.id, live.approved_at, used.last_used_at, live.retained_until,
       coalesce(mine.fetched_30, 0), coalesce(mine.fetched_90, 0),
       (SELECT count(*) FROM (
           SELECT thread.created_at FROM conversations_conversation AS thread
            WHERE thread.tenant_id = live.tenant_id AND thread.agent_id = live.agent_id AND thread.origin = 'live'
              AND thread.parent_id IS NULL AND thread.member_user_id IS NULL
            ORDER BY thread.id DESC LIMIT %(most)s) AS since
         WHERE since.created_at > greatest(live.approved_at, used.last_used_at)),
       coalesce(mine.ended, 0), coalesce(mine.badly, 0),
       coalesce(totals.ended, 0) - coalesce(mine.ended, 0), coalesce(totals.badly, 0) - coalesce(mine.badly, 0)
  FROM live LEFT JOIN skills_skilluse AS used ON used.tenant_id = live.tenant_id AND used.skill_id = live.id
  LEFT JOIN mine ON mine.skill = live.id::text LEFT JOIN totals ON totals.agent_id = live.agent_id
 ORDER BY live.id
"""  # noqa: S608  # of constants


ANY: Final = "any"
_COMPARED: Final = ("tenant_id", "agent_id", "name", "title", "description", "body", "approved_at")


@dataclass(frozen=True, slots=True)
class Curated:
    """An approved skill with its figures, and why a person may retire it, if there is a reason."""

    skill_id: int
    figures: Figures
    suggestions: tuple[Suggestion, ...]


def curated(skill_ids: list[int], *, actor: Actor, now: datetime) -> dict[int, Curated]:
    """The figures of those skills that are approved, by their ids; what is no skill of the tenant is left out."""
    with acting(actor), connection.cursor() as cursor:
        cursor.execute(_FIGURES, {"skills": skill_ids, "now": now, "most": LATEST})
        rows = cursor.fetchall()
    newer = _newer([row[0] for row in rows], actor)
    return {row[0]: _curated(row, newer.get(row[0]), now) for row in rows}


def suggested(*, actor: Actor, now: datetime) -> dict[int, Curated]:
    """Every approved skill that the actor sees and a person may retire."""
    with acting(actor):
        live = Skill.objects.visible_to(actor).filter(status=Skill.Status.APPROVED, quarantined_at=None)
        ids = list(live.values_list("id", flat=True))
    return {skill_id: found for skill_id, found in curated(ids, actor=actor, now=now).items() if found.suggestions}


def suggested_for(reason: str, *, actor: Actor, now: datetime) -> list[int]:
    """The ids of those with this cause, or with `any`."""
    found = suggested(actor=actor, now=now).values()
    return [each.skill_id for each in found if reason == ANY or reason in {told.cause for told in each.suggestions}]


def _newer(skill_ids: list[int], actor: Actor) -> dict[int, Newer]:
    """Of these skills those that a later one of their agent covers, by the measure that tells a third draft from a new one."""
    with acting(actor):
        live = Skill.objects.visible_to(actor).approved()
        agents = live.filter(pk__in=skill_ids).values("agent_id")
        rows = list(live.filter(agent_id__in=agents).order_by("approved_at", "id").only(*_COMPARED))
        tools = list(ServerTool.objects.filter(tenant_id=actor.tenant_id).values_list("name", flat=True))
    by_agent: dict[int, list[Skill]] = defaultdict(list)
    for row in rows:
        by_agent[row.agent_id].append(row)
    wanted = frozenset(skill_ids)
    return {skill_id: found for own in by_agent.values() for skill_id, found in _covered(own, tools, wanted)}


def _covered(rows: list[Skill], tools: list[str], wanted: frozenset[int]) -> Iterator[tuple[int, Newer]]:
    shelf = Shelf.of(Draft(row.name, row.title, row.description, row.body, tools_in(row.body, tools)) for row in rows)
    for place, row in enumerate(rows):
        found = shelf.behind(place) if row.pk in wanted else None
        later = rows[found.place] if found else None
        if found and later and later.approved_at:
            yield row.pk, Newer(later.pk, later.title, later.approved_at, found.reason)


def _curated(row: tuple[Any, ...], newer: Newer | None, now: datetime) -> Curated:
    skill_id, approved_at, last_used_at, retained_until, days_30, days_90, since, *shares = row
    with_skill, without_skill = Share(*shares[:2]), Share(*shares[2:])
    figures = Figures(
        approved_at, last_used_at, retained_until, days_30, days_90, since, with_skill, without_skill, newer
    )
    return Curated(skill_id, figures, suggestions(figures, now))
