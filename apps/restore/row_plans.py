"""Restore steps for every noun except skills: a row is reworded, retired, revived or created again.

For learning versions, the version that was active at that time is activated again. A withdrawn version is never activated again.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from apps.governance.actors import Actor
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.learning.lessons.actions import restore_version, retire_version
from apps.learning.lessons.models import LearningVersion
from apps.memory.actions import amend_memory, amend_profile, write_block
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.personas.actions import (
    activate_persona,
    amend_persona,
    amend_rule,
    archive_persona,
    restore_rule,
    retire_rule,
    write_identity_card,
    write_overlay,
)
from apps.personas.models import CARD_FIELDS, IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.restore.plan_steps import RestoreStep, RowPair, UnchangedNote, Values, make_step, values_to_restore
from apps.schedules.actions import amend_schedule, pause_schedule, resume_schedule
from apps.schedules.models import Schedule
from apps.tenants.actions import allow_invokable, amend_agent, amend_invokable, amend_settings, withdraw_invokable
from apps.tenants.models import Agent, InvokableAgent, TenantSettings

PlanItems = Iterator[RestoreStep | UnchangedNote]


def plan_settings(pair: RowPair[TenantSettings]) -> PlanItems:
    """Plan the tenant's settings, which always exist."""
    yield from _plan_rewording(
        pair, Act.SETTINGS_AMEND, lambda values: partial(amend_settings, pair.standing, **values)
    )


def plan_agent(pair: RowPair[Agent]) -> PlanItems:
    """Plan an agent's settings. An agent always stays, because agents are never removed."""
    if pair.then is None:
        yield UnchangedNote(
            pair.label, "The agent was created since. It stays; text written for it since is removed from its prompt."
        )
    yield from _plan_rewording(pair, Act.AGENT_AMEND, lambda values: partial(amend_agent, pair.standing, **values))


def plan_persona(pair: RowPair[Persona]) -> PlanItems:
    """Plan a persona's text and status; a persona created later is archived."""
    now, then = pair.now, pair.then
    yield from _plan_rewording(
        pair, Act.PERSONA_AMEND, lambda values: partial(amend_persona, pair.standing, values=values)
    )
    was = then.row.status if then else Persona.Status.ARCHIVED
    if now and now.status != was:
        archives = was == Persona.Status.ARCHIVED
        act, carry = (Act.PERSONA_ARCHIVE, archive_persona) if archives else (Act.PERSONA_ACTIVATE, activate_persona)
        yield make_step(pair, act, {"status": was}, partial(carry, now), "Archive it" if archives else "Restore it")


def plan_overlay(pair: RowPair[PersonaOverlay]) -> PlanItems:
    """Plan an overlay; an overlay created later is emptied."""
    yield from _plan_rewording_or_emptying(
        pair, Act.OVERLAY_WRITE, {"text": ""}, lambda values: partial(write_overlay, pair.standing, text=values["text"])
    )


def plan_identity_card(pair: RowPair[IdentityCard]) -> PlanItems:
    """Plan an identity card; an identity card created later is emptied."""
    nothing: Values = dict.fromkeys(CARD_FIELDS, "")
    yield from _plan_rewording_or_emptying(
        pair,
        Act.IDENTITY_CARD_WRITE,
        nothing,
        lambda values: partial(write_identity_card, pair.standing, values=values),
    )


def plan_rule(pair: RowPair[StandingRule]) -> PlanItems:
    """Plan a rule's text, place and status; a rule created later is retired."""
    now, then = pair.now, pair.then
    yield from _plan_rewording(pair, Act.RULE_AMEND, lambda values: partial(amend_rule, pair.standing, values=values))
    was = then.row.status if then else StandingRule.Status.RETIRED
    if now and now.status != was:
        retires = was == StandingRule.Status.RETIRED
        act, carry = (Act.RULE_RETIRE, retire_rule) if retires else (Act.RULE_RESTORE, restore_rule)
        yield make_step(pair, act, {"status": was}, partial(carry, now), "Retire it" if retires else "Restore it")


def plan_memory(pair: RowPair[AgentMemory]) -> PlanItems:
    """Plan an agent's memory; a memory begun later is emptied. Restoring a text does not approve it."""

    def carry(values: Values) -> Callable[..., object]:
        return partial(
            amend_memory,
            pair.standing,
            body=values.get("body", _current_value(pair, "body")),
            words_of=_past_taint(pair),
        )

    yield from _plan_tainted_text(pair, Act.MEMORY_AMEND, {"body": ""}, carry)


def plan_memory_block(pair: RowPair[MemoryBlock]) -> PlanItems:
    """Plan a memory block; a block created later is emptied and unpinned from the prompt."""

    def carry(values: Values) -> Callable[..., object]:
        return partial(write_block, pair.standing, values=values, words_of=_past_taint(pair))

    yield from _plan_tainted_text(pair, Act.BLOCK_WRITE, {"body": "", "is_pinned": False}, carry)


def plan_profile(pair: RowPair[CustomerProfile]) -> PlanItems:
    """Plan a customer profile; a profile begun later is emptied."""

    def carry(values: Values) -> Callable[..., object]:
        return partial(amend_profile, pair.standing, values=values, words_of=_past_taint(pair))

    yield from _plan_tainted_text(pair, Act.PROFILE_AMEND, {"preferences": "", "notes": ""}, carry)


def plan_invokable(pair: RowPair[InvokableAgent]) -> PlanItems:
    """Plan an agent handoff: it is allowed again, reworded or withdrawn."""
    now, then = pair.now, pair.then
    if now is None and then is not None:
        row = then.row
        values = {"agent_id": row.agent_id, "callee_id": row.callee_id, "role_hint": row.role_hint}
        values |= {"budget_micro_usd": row.budget_micro_usd}
        allow = partial(
            allow_invokable, row.agent_id, row.callee_id, role_hint=row.role_hint, budget_micro_usd=row.budget_micro_usd
        )
        yield make_step(pair, Act.INVOKABLE_ALLOW, values, _ignoring_version(allow), "Allow it to ask that agent again")
    elif then is None:
        yield make_step(
            pair,
            Act.INVOKABLE_WITHDRAW,
            {},
            partial(withdraw_invokable, pair.standing),
            "No longer allow it to ask that agent",
        )
    else:
        yield from _plan_rewording(
            pair,
            Act.INVOKABLE_AMEND,
            lambda values: partial(amend_invokable, pair.standing, **values),
        )


def plan_schedule(pair: RowPair[Schedule]) -> PlanItems:
    """Plan a schedule's text and whether it runs. A schedule created later is paused; a deprecated one stays deprecated."""
    now, was = pair.standing, pair.then.row.status if pair.then else Schedule.Status.DRAFT
    if now.status == Schedule.Status.DEPRECATED:
        if was != now.status:
            yield UnchangedNote(pair.label, "The schedule was deprecated since, which is permanent. Plan another one.")
        return
    yield from _plan_rewording(pair, Act.SCHEDULE_AMEND, lambda values: partial(amend_schedule, now, values=values))
    ran = was == Schedule.Status.APPROVED
    if now.status == Schedule.Status.APPROVED and not ran:
        pause = partial(pause_schedule, now)
        yield make_step(
            pair, Act.SCHEDULE_PAUSE, {"status": Schedule.Status.PAUSED}, pause, "Pause it: it did not run then"
        )
    elif now.status == Schedule.Status.PAUSED and ran:
        resume = partial(resume_schedule, now)
        yield make_step(pair, Act.SCHEDULE_RESUME, {"status": Schedule.Status.APPROVED}, resume, "Let it run again")


def _plan_rewording(pair: RowPair[Any], act: Act, carry: Callable[[Values], Callable[..., object]]) -> PlanItems:
    """Plan the earlier text of a row that exists now and existed then, if the text differs."""
    values = values_to_restore(pair.now, pair.then, act) if pair.now is not None and pair.then else {}
    if values:
        yield make_step(pair, act, values, carry(values))


def _plan_rewording_or_emptying(
    pair: RowPair[Any], act: Act, nothing: Values, carry: Callable[[Values], Callable[..., object]]
) -> PlanItems:
    """Plan the earlier text, or an empty text for a row created later."""
    yield from _plan_rewording(pair, act, carry)
    yield from _plan_emptying(pair, act, nothing, carry)


def _plan_emptying(
    pair: RowPair[Any], act: Act, nothing: Values, carry: Callable[[Values], Callable[..., object]]
) -> PlanItems:
    if pair.then is None:
        values = {name: value for name, value in nothing.items() if getattr(pair.now, name) != value}
        if values:
            yield make_step(pair, act, values, carry(values), "Empty it: it did not exist then")


def _plan_tainted_text(
    pair: RowPair[Any], act: Act, nothing: Values, carry: Callable[[Values], Callable[..., object]]
) -> PlanItems:
    """Plan text that has a source; an approval given later is taken back."""
    now, then = pair.now, pair.then
    if now is None or then is None:
        yield from _plan_emptying(pair, act, nothing, carry)
        return
    values = values_to_restore(now, then, act)
    if values:
        yield make_step(pair, act, values, carry(values))
    elif Taint.joined(now.taint, then.row.taint) != now.taint:
        yield make_step(pair, act, {"taint": then.row.taint}, carry({}), "Take back the approval given since")


def _past_taint(pair: RowPair[Any]) -> Taint | None:
    return Taint(pair.then.row.taint) if pair.then else None


def _current_value(pair: RowPair[Any], name: str) -> str:
    return str(getattr(pair.now, name))


def _ignoring_version(make: Callable[..., object]) -> Callable[..., object]:
    """Return a step for an act that creates a row, so that there is no version to check."""

    def carry(*, actor: Actor, read_at: int | None) -> object:  # noqa: ARG001  # the signature of every step
        return make(actor=actor)

    return carry


Status = LearningVersion.Status


def plan_learning_version(pair: RowPair[LearningVersion], *, come_back: frozenset[int]) -> PlanItems:
    """Plan one learning version. Restoring an earlier version of an agent automatically retires the active one."""
    now, then = pair.now, pair.then
    was_read = then is not None and then.row.status == Status.ACTIVE
    if now is None:
        if was_read:
            yield UnchangedNote(
                pair.label,
                "It was active then and was pruned since, as the oldest versions are. Its history still shows its text.",
            )
    elif was_read and now.status == Status.RETIRED:
        take_up = partial(restore_version, now)
        yield make_step(
            pair, Act.LEARNING_VERSION_RESTORE, {"status": Status.ACTIVE.value}, take_up, "Activate it again"
        )
    elif was_read and now.status == Status.WITHDRAWN:
        yield UnchangedNote(
            pair.label, "It was active then and was withdrawn since. Withdrawn versions are never activated again."
        )
    elif not was_read and now.status == Status.ACTIVE and now.agent_id not in come_back:
        retire = partial(retire_version, now)
        yield make_step(
            pair,
            Act.LEARNING_VERSION_RETIRE,
            {"status": Status.RETIRED.value},
            retire,
            "Retire it: it was not active then",
        )


def agents_with_restored_version(pairs: list[RowPair[Any]]) -> frozenset[int]:
    """Return the agents of which an earlier version would be restored."""
    read_then = (pair for pair in pairs if pair.then is not None and pair.then.row.status == Status.ACTIVE)
    return frozenset(pair.now.agent_id for pair in read_then if pair.now and pair.now.status == Status.RETIRED)
