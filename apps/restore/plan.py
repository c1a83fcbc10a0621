"""The plan of a restore: the acts that restore a row, an agent or a tenant, and the rows that stay unchanged, with reasons."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from apps.governance.actors import Actor
from apps.governance.audit.row_history import record_of_version, records_at
from apps.governance.authorization import may
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotPermitted, TextErased
from apps.governance.models import Governed
from apps.learning.lessons.models import LearningVersion
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.restore import row_plans
from apps.restore.excluded_lines import drop_excluded_lines
from apps.restore.models import Checkpoint
from apps.restore.plan_steps import PastRow, RestoreStep, RowPair, UnchangedNote, past_row_of
from apps.restore.row_plans import agents_with_restored_version, plan_learning_version
from apps.restore.skill_plans import CurrentSkills, plan_skill
from apps.schedules.models import Schedule
from apps.skills.models import Skill
from apps.tenants.models import Agent, InvokableAgent, TenantSettings

PlanItems = Iterator[RestoreStep | UnchangedNote]

# The nouns in the order in which they are restored.
PLANNERS_BEFORE_SKILLS: Mapping[type[Governed], Callable[[RowPair[Any]], PlanItems]] = {
    TenantSettings: row_plans.plan_settings,
    Agent: row_plans.plan_agent,
    Persona: row_plans.plan_persona,
    PersonaOverlay: row_plans.plan_overlay,
    IdentityCard: row_plans.plan_identity_card,
    StandingRule: row_plans.plan_rule,
    AgentMemory: row_plans.plan_memory,
    MemoryBlock: row_plans.plan_memory_block,
    InvokableAgent: row_plans.plan_invokable,
    CustomerProfile: row_plans.plan_profile,
}
# Schedules follow the skills that they name.
PLANNERS_AFTER_SKILLS: Mapping[type[Governed], Callable[[RowPair[Any]], PlanItems]] = {
    Schedule: row_plans.plan_schedule
}
RESTORABLE = frozenset({*PLANNERS_BEFORE_SKILLS, Skill, *PLANNERS_AFTER_SKILLS, LearningVersion})
TENANT_WIDE = frozenset({TenantSettings, CustomerProfile})


@dataclass(frozen=True, slots=True)
class MomentTarget:
    """An agent, or the tenant if None, as it was at a moment.

    Customer profiles are personal data and are restored only on request.
    """

    moment: datetime
    agent: Agent | None = None
    with_profiles: bool = False

    @property
    def said(self) -> str:
        """Return a description of the target and the moment."""
        owner = f"Agent {self.agent.key}" if self.agent else "The tenant"
        return f"{owner} as at {self.moment.isoformat(timespec='seconds')}"


@dataclass(frozen=True, slots=True)
class RowTarget:
    """One row as it was after one version."""

    model: type[Governed]
    row_id: int
    version: int

    @property
    def said(self) -> str:
        """Return a description of the row and the version."""
        return f"{str(self.model._meta.verbose_name).capitalize()} {self.row_id} as in version {self.version}"


Target = MomentTarget | RowTarget


def checkpoint_target(checkpoint: Checkpoint, *, with_profiles: bool) -> MomentTarget:
    """Return the target of a checkpoint; profiles belong to the tenant and to no agent."""
    return MomentTarget(checkpoint.moment, checkpoint.agent, with_profiles and checkpoint.agent is None)


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The ordered acts of a restore, the rows that stay unchanged, and the permissions that the actor lacks.

    A plan changes nothing by itself.
    """

    target: Target
    steps: tuple[RestoreStep, ...] = ()
    notes: tuple[UnchangedNote, ...] = ()
    missing_permissions: tuple[str, ...] = ()
    sha256: str = field(default="")


def make_restore_plan(target: Target, *, actor: Actor) -> RestorePlan:
    """Return what the restore would do now on behalf of this actor. Only people may read the history that the plan needs."""
    if not actor.is_person:
        raise NotPermitted("Only people can restore earlier versions; ask an operator or an admin.")
    with acting_as(actor):
        found = list(_plan_row(target, actor) if isinstance(target, RowTarget) else _plan_moment(target, actor))
    steps = tuple(each for each in found if isinstance(each, RestoreStep))
    notes = tuple(each for each in found if isinstance(each, UnchangedNote))
    return RestorePlan(target, steps, notes, tuple(missing_rights(steps, actor)), _plan_sha256(target, steps))


def _plan_moment(target: MomentTarget, actor: Actor) -> PlanItems:
    keys = dict(Agent.objects.visible_to(actor).values_list("pk", "key"))
    models = [model for model in RESTORABLE_IN_ORDER if _is_in_scope(model, target)]
    for model in models:
        pairs, notes = _read_row_pairs(model, target, actor, keys)
        yield from notes
        yield from _plan_pairs(model, pairs)


def _plan_pairs(model: type[Governed], pairs: list[RowPair[Any]]) -> PlanItems:
    bring = _planner_of(model, pairs)
    yield from drop_excluded_lines(model, pairs)
    for pair in pairs:
        yield from bring(pair)


def _planner_of(model: type[Governed], pairs: list[RowPair[Any]]) -> Callable[[RowPair[Any]], PlanItems]:
    """Return the function that plans a noun's rows; for skills and learning versions it also depends on other rows."""
    if model is Skill:
        return partial(plan_skill, shelf=_current_skills(pairs))
    if model is LearningVersion:
        return partial(plan_learning_version, come_back=agents_with_restored_version(pairs))
    return PLANNERS[model]


def _current_skills(pairs: Iterable[RowPair[Skill]]) -> CurrentSkills:
    now = tuple(pair.now for pair in pairs if pair.now)
    approved = (pair.then.row.pk for pair in pairs if pair.then and pair.then.row.status == Skill.Status.APPROVED)
    return CurrentSkills(now, frozenset(approved))


RESTORABLE_IN_ORDER: tuple[type[Governed], ...] = (
    *PLANNERS_BEFORE_SKILLS,
    Skill,
    *PLANNERS_AFTER_SKILLS,
    LearningVersion,
)
PLANNERS: Mapping[type[Governed], Callable[[RowPair[Any]], PlanItems]] = {
    **PLANNERS_BEFORE_SKILLS,
    **PLANNERS_AFTER_SKILLS,
}


def _is_in_scope(model: type[Governed], target: MomentTarget) -> bool:
    if model is CustomerProfile:
        return target.with_profiles and target.agent is None
    return target.agent is None or model not in TENANT_WIDE


def _read_row_pairs(
    model: type[Governed], target: MomentTarget, actor: Actor, keys: Mapping[int, str]
) -> tuple[list[RowPair[Any]], list[UnchangedNote]]:
    of_agent: dict[str, Any] = {}
    if target.agent is not None and model is not Agent:
        of_agent = {"agent_id": target.agent.pk}
    found = records_at(model, target.moment, actor.tenant_id, **of_agent)
    then = {_identity_key(each.row): each for each in (past_row_of(model, record) for record in found.known)}
    standing: Any = model._default_manager  # Any: the governed manager of some noun
    now = {_identity_key(row): row for row in standing.visible_to(actor).filter(**of_agent).order_by("pk")}
    if target.agent is not None and model is Agent:
        then, now = _select_row(then, target.agent.pk), _select_row(now, target.agent.pk)
    erased = {record.subject_id for record in found.erased}
    kept = [row for row in now.values() if row.pk in erased]
    pairs = [
        RowPair(now.get(key), then.get(key), _row_label(now.get(key) or then[key].row, keys))
        for key in sorted({*now, *then})
        if not (key in now and now[key].pk in erased)
    ]
    return pairs, [UnchangedNote(_row_label(row, keys), WORDS_ERASED) for row in kept]


WORDS_ERASED = "Its text from that time was erased and cannot be restored. It stays as it is."


def _select_row(rows: Mapping[tuple[int, ...], Any], row_id: int) -> dict[tuple[int, ...], Any]:
    return {key: row for key, row in rows.items() if key == (row_id,)}


def _identity_key(row: Governed) -> tuple[int, ...]:
    """Return the key that identifies a row over time: an agent handoff that was withdrawn and allowed again is the same row."""
    return (row.agent_id, row.callee_id) if isinstance(row, InvokableAgent) else (int(row.pk),)


def _plan_row(target: RowTarget, actor: Actor) -> PlanItems:
    if target.model not in RESTORABLE:
        sentence = (
            f"A {target.model._meta.verbose_name} cannot be restored to an older version; it is only ever added to."
        )
        raise Invalid(sentence, {"row": [sentence]})
    record = record_of_version(target.model._meta.label_lower, target.row_id, target.version)
    if not hasattr(record, "text"):
        raise TextErased(f"The text of version {target.version} was erased and cannot be restored.")
    keys = dict(Agent.objects.visible_to(actor).values_list("pk", "key"))
    then: PastRow[Any] = past_row_of(target.model, record)
    standing: Any = target.model._default_manager  # Any: the governed manager of some noun
    rows = list(standing.visible_to(actor).filter(**_filter_of_row(then.row)))
    now = next((row for row in rows if _identity_key(row) == _identity_key(then.row)), None)
    pair = RowPair(now, then, _row_label(now or then.row, keys))
    if target.model is Skill:
        others = [RowPair(row, None, "") for row in rows]
        yield from plan_skill(pair, _current_skills(others))
    else:
        yield from _plan_pairs(target.model, [pair])


def _filter_of_row(row: Governed) -> dict[str, Any]:
    """Return the filter for the rows to read. Skill names are unique within an agent, so all skills of the agent are read."""
    agent_id = getattr(row, "agent_id", None)
    return {"agent_id": agent_id} if agent_id and isinstance(row, Skill | InvokableAgent) else {"pk": row.pk}


def _row_label(row: Any, keys: Mapping[int, str]) -> str:
    kind = str(row._meta.verbose_name).capitalize()
    if isinstance(row, TenantSettings):
        return "The tenant's settings"
    if isinstance(row, Agent):
        return f"Agent {row.key}"
    if isinstance(row, CustomerProfile):
        return f"{kind} {row.pk}"
    if isinstance(row, LearningVersion):
        return f"{kind} {row.number} of agent {keys.get(row.agent_id, row.agent_id)}"
    owner = f"of agent {keys.get(row.agent_id, row.agent_id)}" if row.agent_id else "of the organisation"
    if isinstance(row, InvokableAgent):
        return f"Agent {keys.get(row.agent_id, row.agent_id)} asking agent {keys.get(row.callee_id, row.callee_id)}"
    name = (
        getattr(row, "name", "") or getattr(row, "key", "") or getattr(row, "label", "") or getattr(row, "line_key", "")
    )
    quoted = row.first_words if isinstance(row, StandingRule) else f"“{name}”" if name else ""
    return " ".join(filter(None, [kind, quoted, owner]))


def missing_rights(steps: Iterable[RestoreStep], actor: Actor) -> Iterator[str]:
    """Yield each permission that a step needs and the actor lacks, without duplicates."""
    needed = [(step.act, name, step.row) for step in steps for name in ("", *sorted(step.fields))]
    missing = {(act, name) for act, name, row in needed if not may(actor, act, name, row)}
    for act, name in sorted(missing):
        yield f"{act.value}, field {name}" if name else act.value


def _plan_sha256(target: Target, steps: Iterable[RestoreStep]) -> str:
    """Return the hash of what a person sees of a plan; if any part of it changes, the plan counts as another one."""
    shown = [
        [each.act, each.subject_type, each.subject_id, each.version, each.description, each.after] for each in steps
    ]
    body = json.dumps([target.said, shown], cls=DjangoJSONEncoder, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode()).hexdigest()
