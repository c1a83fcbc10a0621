"""Usage figures of a tenant's approved skills, and suggestions which skills to retire. Uses a constant number of queries."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.skills.models import Skill
from apps.skills.retirement_rules import (
    BadOutcomeRate,
    NewerSkill,
    RetirementSuggestion,
    SkillFigures,
    suggest_retirement,
)
from apps.text_analysis.procedure_similarity import ProcedureIndex, ProcedureText, tools_in
from apps.tools.models import ServerTool

# The number of each agent's latest conversations that are examined.
MAX_CONVERSATIONS: Final = 1_000
_READ_SKILL_FIGURES: Final = load_query("apps/runtime/queries/read_skill_figures.sql")


ANY_REASON: Final = "any"
_COMPARED_FIELDS: Final = ("tenant_id", "agent_id", "name", "title", "description", "body", "approved_at")


@dataclass(frozen=True, slots=True)
class SkillCuration:
    """An approved skill with its usage figures and the reasons to retire it, if there are any."""

    skill_id: int
    figures: SkillFigures
    suggestions: tuple[RetirementSuggestion, ...]


def read_curations(skill_ids: list[int], *, actor: Actor, now: datetime) -> dict[int, SkillCuration]:
    """The figures of the approved skills among these ids, by id. Ids of other tenants are left out."""
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_READ_SKILL_FIGURES, {"skills": skill_ids, "now": now, "most": MAX_CONVERSATIONS})
        rows = cursor.fetchall()
    newer = _find_newer_skills([row[0] for row in rows], actor)
    return {row[0]: _build_curation(row, newer.get(row[0]), now) for row in rows}


def retirement_candidates(*, actor: Actor, now: datetime) -> dict[int, SkillCuration]:
    """The approved skills visible to the actor that have a reason to be retired, by id."""
    with acting_as(actor):
        live = Skill.objects.visible_to(actor).filter(status=Skill.Status.APPROVED, quarantined_at=None)
        ids = list(live.values_list("id", flat=True))
    return {
        skill_id: found for skill_id, found in read_curations(ids, actor=actor, now=now).items() if found.suggestions
    }


def candidate_ids(reason: str, *, actor: Actor, now: datetime) -> list[int]:
    """The ids of the skills that have this reason to be retired; `ANY_REASON` matches every reason."""
    found = retirement_candidates(actor=actor, now=now).values()
    return [
        each.skill_id
        for each in found
        if reason == ANY_REASON or reason in {suggestion.cause for suggestion in each.suggestions}
    ]


def _find_newer_skills(skill_ids: list[int], actor: Actor) -> dict[int, NewerSkill]:
    """For each skill, the agent's newer skill that covers it, by the similarity measure that also detects repeated drafts."""
    with acting_as(actor):
        live = Skill.objects.visible_to(actor).approved()
        agents = live.filter(pk__in=skill_ids).values("agent_id")
        rows = list(live.filter(agent_id__in=agents).order_by("approved_at", "id").only(*_COMPARED_FIELDS))
        tools = list(ServerTool.objects.filter(tenant_id=actor.tenant_id).values_list("name", flat=True))
    by_agent: dict[int, list[Skill]] = defaultdict(list)
    for row in rows:
        by_agent[row.agent_id].append(row)
    wanted = frozenset(skill_ids)
    return {skill_id: found for own in by_agent.values() for skill_id, found in _covering_skills(own, tools, wanted)}


def _covering_skills(rows: list[Skill], tools: list[str], wanted: frozenset[int]) -> Iterator[tuple[int, NewerSkill]]:
    shelf = ProcedureIndex.of(
        ProcedureText(row.name, row.title, row.description, row.body, tools_in(row.body, tools)) for row in rows
    )
    for place, row in enumerate(rows):
        found = shelf.behind(place) if row.pk in wanted else None
        later = rows[found.place] if found else None
        if found and later and later.approved_at:
            yield row.pk, NewerSkill(later.pk, later.title, later.approved_at, found.reason)


def _build_curation(row: tuple[Any, ...], newer: NewerSkill | None, now: datetime) -> SkillCuration:
    skill_id, approved_at, last_used_at, retained_until, days_30, days_90, since, *shares = row
    with_skill, without_skill = BadOutcomeRate(*shares[:2]), BadOutcomeRate(*shares[2:])
    figures = SkillFigures(
        approved_at, last_used_at, retained_until, days_30, days_90, since, with_skill, without_skill, newer
    )
    return SkillCuration(skill_id, figures, suggest_retirement(figures, now))
