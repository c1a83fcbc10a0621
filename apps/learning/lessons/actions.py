"""Governed writes on learning versions, edit clusters and examples. The system creates the first two; people decide about all.

Activating a version retires the active one in the same commit.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict

from django.db.models import Max
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted, refuse_blank
from apps.governance.governed_write import (
    assign_values,
    authorize,
    governed,
    governed_create,
    governed_remove,
    lock_row,
)
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.governance.stored_text import content_sha256
from apps.learning.lessons.edit_clustering import Cluster
from apps.learning.lessons.example_rules import ExampleTexts, UnfitExample, example_limit_refusal, vet_example
from apps.learning.lessons.lesson_journal import lock_lessons
from apps.learning.lessons.models import EditCluster, Example, LearningVersion, Lesson
from apps.learning.lessons.rules import ApplyMode, PrunableVersion, versions_to_prune
from apps.learning.lessons.version_copies import WITHDRAWN_WITH, copies_of, versions_of_agents
from apps.tenants.models import TenantSettings
from apps.text_analysis.pii.masking import PiiMasker


def propose_version(
    agent_id: int,
    *,
    actor: Actor,
    body: str,
    change_summary: str,
    lesson_ids: Sequence[int],
    pinned_ids: Collection[int],
) -> LearningVersion:
    """Store a new version for review, based on the active one; prune the oldest versions no longer needed (R148, R158)."""
    authorize(actor, Act.LEARNING_VERSION_PROPOSE, actor.tenant_id, agent_id=agent_id)
    with acting_as(actor):
        rows = LearningVersion.objects.visible_to(actor).of_agent(agent_id)
        version = LearningVersion(
            tenant_id=actor.tenant_id,
            agent_id=agent_id,
            number=(rows.aggregate(latest=Max("number"))["latest"] or 0) + 1,
            previous_version=rows.active().first(),
            body=body,
            change_summary=change_summary,
            lesson_ids=list(lesson_ids),
            taint=Taint.CUSTOMER,
        )
        governed_create(Act.LEARNING_VERSION_PROPOSE, version, actor=actor, evidence={"lesson_ids": list(lesson_ids)})
        for old in rows.filter(pk__in=_surplus_version_ids(list(rows), pinned_ids)).order_by("number"):
            prune_version(old, actor=actor)
    return version


def apply_version(version: LearningVersion, *, actor: Actor) -> LearningVersion:
    """Activate a version without review if the tenant's settings allow it; the database checks these settings too (R149)."""
    with acting_as(actor), governed(Act.LEARNING_VERSION_APPLY, version, actor=actor) as row:
        _refuse_unless_auto(actor)
        row.apply()
        _retire_active_version(row, actor)
    return version


def activate_version(
    version: LearningVersion, *, actor: Actor, read_at: int | None = None, reason: str = ""
) -> LearningVersion:
    """Activate a version on a person's behalf. Conversations that are already open keep their version (R146)."""
    with acting_as(actor):
        lock_lessons(version.agent_id)
        with governed(Act.LEARNING_VERSION_ACTIVATE, version, actor=actor, read_at=read_at, reason=reason) as row:
            row.activate()
            _retire_active_version(row, actor)
            _sign_approval(row, actor)
    return version


def restore_version(
    version: LearningVersion, *, actor: Actor, read_at: int | None = None, reason: str = ""
) -> LearningVersion:
    """Activate a retired version again on a person's behalf."""
    with acting_as(actor):
        lock_lessons(version.agent_id)
        with governed(Act.LEARNING_VERSION_RESTORE, version, actor=actor, read_at=read_at, reason=reason) as row:
            row.restore()
            _retire_active_version(row, actor)
            _sign_approval(row, actor)
    return version


def reject_version(
    version: LearningVersion, *, actor: Actor, read_at: int | None = None, reason: str = ""
) -> LearningVersion:
    """Reject a version. Each of its lessons is offered to a digest again once the lesson has another case."""
    with governed(Act.LEARNING_VERSION_REJECT, version, actor=actor, read_at=read_at, reason=reason) as row:
        row.reject()
    return version


def retire_version(
    version: LearningVersion, *, actor: Actor, read_at: int | None = None, reason: str = ""
) -> LearningVersion:
    """Retire the active version, so that new conversations have none."""
    with governed(Act.LEARNING_VERSION_RETIRE, version, actor=actor, read_at=read_at, reason=reason) as row:
        row.retire()
    return version


def withdraw_version(
    version: LearningVersion,
    *,
    actor: Actor,
    reason: str,
    read_at: int | None = None,
    staying_version_ids: Collection[int] = (),
) -> LearningVersion:
    """Withdraw a version from all turns, including those of conversations that began with it. It can never be activated again.

    Versions that repeat one of its bullets are withdrawn, or rejected if they are pending, in the same commit; versions that are
    named as staying are left as they are.
    """
    refuse_blank(reason, "Say what is wrong with it.")
    authorize(actor, Act.LEARNING_VERSION_WITHDRAW, version.tenant_id, agent_id=version.agent_id)
    with acting_as(actor):
        # No digest adds another copy before the commit, and no version is activated meanwhile.
        lock_lessons(version.agent_id)
        others = versions_of_agents([version.agent_id])[version.agent_id]
        copies = [copy.version for copy in copies_of(version, others)]
        _refuse_unknown_copies(staying_version_ids, copies)
        going = [copy for copy in copies if copy.pk not in staying_version_ids]
        going_ids, staying_ids = [copy.pk for copy in going], sorted(staying_version_ids)
        evidence = {"withdrawn_copy_ids": going_ids, "staying_version_ids": staying_ids} if copies else {}
        act = Act.LEARNING_VERSION_WITHDRAW
        with governed(act, version, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
            row.withdraw()
        for copy in going:
            _withdraw_copy(copy, version, actor=actor, reason=reason)
    return version


def _withdraw_copy(copy: LearningVersion, original: LearningVersion, *, actor: Actor, reason: str) -> None:
    # A colleague may have decided on it meanwhile.
    lock_row(copy, None)
    if not copy.is_usable:
        return
    is_pending = copy.status == LearningVersion.Status.PENDING
    act = Act.LEARNING_VERSION_REJECT if is_pending else Act.LEARNING_VERSION_WITHDRAW
    evidence = {WITHDRAWN_WITH: original.pk}
    why = f"It repeats a bullet of version {original.number}, which is withdrawn: {reason}"
    with governed(act, copy, actor=actor, evidence=evidence, reason=why) as row:
        row.reject() if is_pending else row.withdraw()


def _refuse_unknown_copies(named_ids: Collection[int], copies: Sequence[LearningVersion]) -> None:
    if unknown := sorted(set(named_ids) - {copy.pk for copy in copies}):
        raise Invalid(
            "Not every version that is to stay has a bullet of this one.",
            {
                "staying_version_ids": [
                    f"Version {each} has none of its bullets, or no agent can read it. Leave it out."
                    for each in unknown
                ]
            },
        )


def prune_version(version: LearningVersion, *, actor: Actor) -> LearningVersion:
    """Prune an old version; its change records keep its text."""
    governed_remove(Act.LEARNING_VERSION_PRUNE, version, actor=actor)
    return version


def record_cluster(agent_id: int, *, actor: Actor, cluster: Cluster, category: str) -> EditCluster:
    """Record a recurring edit for people to decide about."""
    row = EditCluster(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        key=cluster.key,
        key_sha256=content_sha256(cluster.key),
        category=category,
        removed_text=cluster.removed,
        added_text=cluster.added,
        taint=Taint.CUSTOMER,
    )
    return governed_create(Act.EDIT_CLUSTER_FIND, row, actor=actor, evidence={"case_ids": list(cluster.edit_ids)})


def mark_proposed(
    cluster: EditCluster, *, actor: Actor, proposal_id: int, read_at: int | None = None, reason: str = ""
) -> EditCluster:
    """Link a cluster to the proposal made from it; the proposal is reviewed separately."""
    with governed(Act.EDIT_CLUSTER_PROPOSE, cluster, actor=actor, read_at=read_at, reason=reason) as row:
        row.propose()
        row.proposal_id = proposal_id
        _sign_decision(row, actor)
    return cluster


def dismiss_cluster(cluster: EditCluster, *, actor: Actor, reason: str, read_at: int | None = None) -> EditCluster:
    """Dismiss a cluster until three times as many drafts contain the edit."""
    refuse_blank(reason, "Say why there is nothing in it to learn.")
    with governed(Act.EDIT_CLUSTER_DISMISS, cluster, actor=actor, read_at=read_at, reason=reason) as row:
        row.dismiss()
        row.dismissal_reason, row.count_at_dismissal = reason, row.members.count()
        _sign_decision(row, actor)
    return cluster


def reopen_cluster(cluster: EditCluster, *, actor: Actor, read_at: int | None = None, reason: str = "") -> EditCluster:
    """Reopen a dismissed cluster."""
    with governed(Act.EDIT_CLUSTER_REOPEN, cluster, actor=actor, read_at=read_at, reason=reason) as row:
        row.reopen()
    return cluster


def add_example(lesson: Lesson, *, actor: Actor, words: ExampleTexts, firewall: PiiMasker) -> Example:
    """Store an example for all customers of the agent on this person's behalf; personal data is masked first (Z-12)."""
    vetted = vet_example(words, firewall)
    if isinstance(vetted, UnfitExample):
        raise Invalid("These texts cannot be used as an example yet.", vetted.reasons)
    example = Example(
        tenant_id=actor.tenant_id,
        agent_id=lesson.agent_id,
        lesson=lesson,
        masked_counts=dict(vetted.masked_counts),
        keywords=list(vetted.keywords),
        taint=Taint.CUSTOMER,
    )
    with acting_as(actor), governed(Act.EXAMPLE_ADD, example, actor=actor, evidence={"lesson_id": lesson.pk}) as row:
        assign_values(row, Act.EXAMPLE_ADD, asdict(vetted.words))
        _sign_approval(row, actor)
        lock_lessons(lesson.agent_id)
        if refusal := example_limit_refusal(
            Example.objects.visible_to(actor).of_agent(lesson.agent_id).approved().count()
        ):
            raise Conflict(refusal)
    return example


def retire_example(example: Example, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Example:
    """Retire an example for turns that begin later. Earlier turns keep it in their history."""
    with governed(Act.EXAMPLE_RETIRE, example, actor=actor, read_at=read_at, reason=reason) as row:
        row.retire()
    return example


def _sign_decision(row: EditCluster, actor: Actor) -> None:
    row.decided_by, row.decided_at = actor.label, timezone.now()


def _retire_active_version(version: LearningVersion, actor: Actor) -> None:
    rows = LearningVersion.objects.visible_to(actor).of_agent(version.agent_id)
    if active := rows.active().exclude(pk=version.pk).first():
        retire_version(active, actor=actor, reason=f"Version {version.number} takes its place.")


def _refuse_unless_auto(actor: Actor) -> None:
    settings = TenantSettings.objects.visible_to(actor).get()
    if settings.learning_apply_mode != ApplyMode.AUTO:
        raise NotPermitted(
            "In this tenant, a person has to approve what agents learn. Activate the version in the console."
        )


def _sign_approval(row: LearningVersion | Example, actor: Actor) -> None:
    row.approved_by, row.approved_at = actor.label, timezone.now()


def _surplus_version_ids(rows: Sequence[LearningVersion], pinned_ids: Collection[int]) -> tuple[int, ...]:
    status = LearningVersion.Status
    # Withdrawn versions are kept: they show what to remove from the history of conversations that read them.
    counted = [row for row in rows if row.status != status.WITHDRAWN]
    versions = [
        PrunableVersion(row.pk, row.number, row.status == status.ACTIVE, row.status == status.PENDING)
        for row in counted
    ]
    return versions_to_prune(versions, pinned_ids)
