"""Finds recurring edits of an agent's drafts, and, at a person's request, proposes a rule or a skill change from one (R138).

The input is the cases of lessons, which were masked when recorded. They include no conversation off the record and no member's
conversation with an assistant.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from django.utils import timezone

from apps.desk.models import Draft
from apps.desk.rules import Grounding
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid
from apps.governance.governed_write import authorize
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.kill_switches.models import KillSwitch
from apps.learning.lessons.actions import mark_proposed, record_cluster, reopen_cluster
from apps.learning.lessons.edit_categories import (
    DISCARDED,
    discard_category,
    edit_category,
    has_grown_enough,
    insert_into_runbook,
)
from apps.learning.lessons.edit_clustering import EDITS_READ, MIN_SUPPORT, Cluster, DraftEdit, EditKind, cluster_edits
from apps.learning.lessons.lesson_journal import lock_lessons, record_cluster_cases
from apps.learning.lessons.models import EditCluster, LessonCase
from apps.learning.lessons.rules import LessonSource
from apps.personas.actions import propose_rules
from apps.skills.models import Skill
from apps.skills.proposals import propose_revision, revision_of
from apps.tenants.models import Agent

LOOKBACK: Final = timedelta(days=90)
MAX_EVIDENCE_DRAFTS: Final = 50


def update_edit_clusters(agent_id: int, *, actor: Actor) -> int:
    """Group the edits and discards of the last 90 days, at most a thousand. Return the number of newly counted drafts.

    Does nothing while learning is frozen, or if a person or another worker has changed a cluster meanwhile; the next case
    starts it again.
    """
    with acting_as(actor):
        if (
            KillSwitch.objects.visible_to(actor)
            .on()
            .of_kinds(KillSwitch.Kind.FREEZE_LEARNING)
            .reaching(agent_id, "")
            .exists()
        ):
            return 0
        known = _clusters_by_key(agent_id, actor)
        cases = _cases(agent_id)
        reasons = _discard_reasons(cases, actor)
    found = _group_cases(cases, reasons, list(known))
    with acting_as(actor):
        lock_lessons(agent_id)
        standing = _clusters_by_key(agent_id, actor)
        if list(standing) != list(known):
            return 0
        return sum(_count_cases(agent_id, cluster, habit, standing, actor) for cluster, habit in found)


def propose_cluster_rule(
    cluster: EditCluster, *, actor: Actor, rule: str = "", read_at: int | None = None, reason: str = ""
) -> EditCluster:
    """Propose a rule for the agent with the drafts as evidence; a pending proposal of new rules is extended.

    The rule is a fixed sentence of the product or this person's text, never text of a draft or a customer.
    """
    text = _rule_text(cluster, rule, actor)
    with acting_as(actor):
        agent = Agent.objects.visible_to(actor).get(pk=cluster.agent_id)
        lines, (rationale, evidence) = _merge_pending_rules(agent, text, actor), _rationale_and_evidence(cluster)
        proposal = propose_rules(agent, actor=actor, lines=lines, rationale=rationale, evidence=evidence)
        return mark_proposed(cluster, actor=actor, proposal_id=proposal.pk, read_at=read_at, reason=reason)


def propose_skill_change(
    cluster: EditCluster, *, actor: Actor, rule: str = "", read_at: int | None = None, reason: str = ""
) -> EditCluster:
    """Propose the rule as a change of the one skill that all the drafts used; the live version of the skill stays unchanged."""
    text = _rule_text(cluster, rule, actor)
    with acting_as(actor):
        skill = shared_skill(cluster, actor=actor)
        if skill is None:
            raise Conflict("These drafts do not all use the same approved skill. Propose a rule instead.")
        waiting = revision_of(skill, actor)
        text = " ".join(text.split())
        words: dict[str, str] = dict(waiting.words) if waiting else {}
        body = words.get("body", skill.body)
        if text in body:
            raise Conflict(f"The skill “{skill.title}” or its pending version contains this line already.")
        rationale, evidence = _rationale_and_evidence(cluster)
        values = {**words, "body": insert_into_runbook(body, cluster.category, text)}
        proposal = propose_revision(skill, actor=actor, values=values, rationale=rationale, evidence=evidence)
        return mark_proposed(cluster, actor=actor, proposal_id=proposal.pk, read_at=read_at, reason=reason)


def shared_skill(cluster: EditCluster, *, actor: Actor) -> Skill | None:
    """Return the agent's approved skill that was read before each of the drafts was written; None unless it is the only one."""
    with acting_as(actor):
        cases = LessonCase.objects.filter(pk__in=cluster.members.values("case_id"))
        drafts = Draft.objects.visible_to(actor).filter(pk__in=cases.values("source_id"))
        read = [_skill_ids(facts) for facts in drafts.values_list("facts", flat=True)]
        shared = frozenset.intersection(*read) if read else frozenset()
        live = Skill.objects.visible_to(actor).approved().for_agent(cluster.agent_id).filter(pk__in=shared)[:2]
        return live[0] if len(live) == 1 else None


def _skill_ids(facts: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    return frozenset(fact["record_id"] for fact in facts if fact["kind"] == Grounding.SKILL)


def _rule_text(cluster: EditCluster, rule: str, actor: Actor) -> str:
    authorize(actor, Act.EDIT_CLUSTER_PROPOSE, cluster.tenant_id, agent_id=cluster.agent_id)
    text = rule.strip() or cluster.rule
    if not text:
        raise Invalid("Read the drafts and write the rule in your own words.", {"rule": ["This may not be blank."]})
    return text


def _rationale_and_evidence(cluster: EditCluster) -> tuple[str, Mapping[str, Any]]:
    """Return the rationale of a proposal, and the drafts as its evidence."""
    cases = LessonCase.objects.filter(pk__in=cluster.members.values("case_id")).order_by("-pk")
    draft_ids = list(cases.values_list("source_id", flat=True)[:MAX_EVIDENCE_DRAFTS])
    rationale = f"{cluster.sentence}, {cluster.members.count()} times."
    return rationale, {"edit_cluster_id": cluster.pk, "draft_ids": draft_ids}


def _merge_pending_rules(agent: Agent, text: str, actor: Actor) -> Sequence[str]:
    """Return the lines of a pending proposal of new rules, since a second proposal would replace them."""
    rows = Proposal.objects.visible_to(actor).about(agent).unclosed()
    waiting = rows.filter(kind=Proposal.Kind.RULE_LINES).first()
    lines = [str(line) for line in waiting.content["lines"]] if waiting else []
    return lines if text in lines else [*lines, text]


def _clusters_by_key(agent_id: int, actor: Actor) -> Mapping[str, EditCluster]:
    """Return the agent's clusters by key, oldest first."""
    rows = EditCluster.objects.visible_to(actor).of_agent(agent_id).order_by("pk")
    return {row.key: row for row in rows}


def _cases(agent_id: int) -> Sequence[LessonCase]:
    wanted = [LessonSource.EDITED_DRAFT.value, LessonSource.DISCARDED_DRAFT.value]
    rows = LessonCase.objects.filter(
        agent_id=agent_id, source__in=wanted, happened_at__gte=timezone.now() - LOOKBACK, lesson__isnull=False
    ).exclude(conversation__quarantined_at__isnull=False)
    return list(rows.select_related("lesson").order_by("-pk")[:EDITS_READ])


def _discard_reasons(cases: Iterable[LessonCase], actor: Actor) -> Mapping[int, str]:
    """Return the reasons for which drafts were discarded, by draft id."""
    ids = [case.source_id for case in cases if case.source == LessonSource.DISCARDED_DRAFT]
    return dict(Draft.objects.visible_to(actor).filter(pk__in=ids).values_list("pk", "reason_code"))


def _group_cases(
    cases: Sequence[LessonCase], reasons: Mapping[int, str], known: Sequence[str]
) -> Sequence[tuple[Cluster, str]]:
    edits = [
        DraftEdit(case.pk, case.lesson.problem, case.lesson.correction)
        for case in cases
        if case.lesson and case.source == LessonSource.EDITED_DRAFT
    ]
    of_edits = cluster_edits(edits, known=[key for key in known if not key.startswith(DISCARDED)])
    return [*((each, edit_category(each)) for each in of_edits), *_discard_clusters(cases, reasons, known)]


def _discard_clusters(
    cases: Sequence[LessonCase], reasons: Mapping[int, str], known: Sequence[str]
) -> Iterable[tuple[Cluster, str]]:
    """Yield one cluster per discard reason; the reason is its key."""
    by_habit: dict[str, list[int]] = defaultdict(list)
    for case in cases:
        if case.source == LessonSource.DISCARDED_DRAFT and case.source_id in reasons:
            by_habit[discard_category(reasons[case.source_id])].append(case.pk)
    for habit, ids in sorted(by_habit.items()):
        if len(ids) >= MIN_SUPPORT or habit in known:
            yield Cluster(habit, EditKind.REMOVED, "", "", tuple(sorted(ids))), habit


def _count_cases(agent_id: int, cluster: Cluster, habit: str, known: Mapping[str, EditCluster], actor: Actor) -> int:
    row = known.get(cluster.key) or record_cluster(agent_id, actor=actor, cluster=cluster, category=habit)
    new = record_cluster_cases(row, cluster.edit_ids, actor=actor)
    if row.status == EditCluster.Status.DISMISSED and has_grown_enough(row.members.count(), row.count_at_dismissal):
        reopen_cluster(row, actor=actor, reason="Three times as many drafts show it as when it was dismissed.")
    return new
