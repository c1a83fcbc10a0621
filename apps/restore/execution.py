"""Carries out a restore plan: all selected steps in one transaction, or none."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, GovernanceError, Invalid, NotPermitted
from apps.governance.governed_write import write_reason
from apps.restore.actions import make_checkpoint
from apps.restore.models import Checkpoint
from apps.restore.plan import MomentTarget, RestorePlan, Target, make_restore_plan, missing_rights
from apps.restore.plan_steps import RestoreStep


class StalePlan(GovernanceError):
    """Something changed after the plan was shown, so the plan no longer is what the person saw."""

    code = "stale_plan"

    def __init__(self, present: RestorePlan) -> None:
        super().__init__(
            "Something changed since this plan was made. Nothing was done; look at the new plan and decide again."
        )
        self.present = present


def carry_out_restore(
    target: Target, *, actor: Actor, shown_sha256: str, only: Collection[str] | None = None, reason: str = ""
) -> tuple[RestorePlan, Checkpoint | None]:
    """Carry out the shown plan by writing new versions. For an agent or a tenant, create a checkpoint first, so it can be undone.

    `only` names the rows to restore; by default all are restored. `reason` is added to the reason of every change. Open sessions
    keep their prompt.
    """
    with acting_as(actor):
        present = make_restore_plan(target, actor=actor)
        if present.sha256 != shown_sha256:
            raise StalePlan(present)
        present = _select_steps(present, only, actor)
        _refuse_impossible_plan(present)
        checkpoint = _make_checkpoint_before(target, actor, reason)
        decided_on: set[tuple[str, int]] = set()
        for step in present.steps:
            with write_reason(*_reason_and_evidence(step, target, checkpoint, reason)):
                step.carry(actor=actor, read_at=_version_decided_on(step, decided_on))
            decided_on.add((step.subject_type, step.subject_id))
    return present, checkpoint


def _select_steps(present: RestorePlan, only: Collection[str] | None, actor: Actor) -> RestorePlan:
    """Return the plan reduced to the steps of the selected rows. Unknown rows are refused."""
    if only is None:
        return present
    if unknown := sorted(set(only) - {step.key for step in present.steps}):
        sentence = f"This plan does not contain {', '.join(unknown)}. Choose among the rows that it shows."
        raise Invalid(sentence, {"only": [sentence]})
    if present.steps and not only:
        raise Conflict("No row was chosen. Tick the rows to restore. Nothing was done.")
    steps = tuple(step for step in present.steps if step.key in only)
    return replace(present, steps=steps, missing_permissions=tuple(missing_rights(steps, actor)))


def _refuse_impossible_plan(present: RestorePlan) -> None:
    if present.missing_permissions:
        raise NotPermitted(
            f"This restore needs rights that you lack: {'; '.join(present.missing_permissions)}. Nothing was done."
            " Ask an admin of the tenant for them, or to restore it."
        )
    if not present.steps:
        raise Conflict("Nothing that can be restored has changed since then. Nothing was done.")


def _make_checkpoint_before(target: Target, actor: Actor, reason: str) -> Checkpoint | None:
    if not isinstance(target, MomentTarget):
        return None
    # The checkpoint's moment precedes every act of the restore, so it names the state before the restore.
    moment = timezone.now()
    agent_id = target.agent.pk if target.agent else None
    name = f"Before restoring to {target.moment.isoformat(timespec='seconds')}"
    return make_checkpoint(
        name,
        actor=actor,
        agent_id=agent_id,
        moment=moment,
        reason=" ".join(filter(None, (f"{target.said} was restored.", reason))),
    )


def _reason_and_evidence(
    step: RestoreStep, target: Target, checkpoint: Checkpoint | None, reason: str
) -> tuple[str, dict[str, Any]]:
    moment = target.moment.isoformat() if isinstance(target, MomentTarget) else None
    evidence: dict[str, Any] = {"restores": {**step.restores, **({"moment": moment} if moment else {})}}
    if checkpoint is not None:
        evidence["checkpoint_id"] = checkpoint.pk
    own_reason = step.reason or f"Did not exist yet; restores the state at {moment}."
    return " ".join(filter(None, (own_reason, reason))), evidence


def _version_decided_on(step: RestoreStep, decided_on: set[tuple[str, int]]) -> int | None:
    """Return the plan's version of a row for the first act on it; None for new rows, and for later acts (the row is locked)."""
    is_made = step.version == 0
    return None if is_made or (step.subject_type, step.subject_id) in decided_on else step.version
