"""Random interleavings of everything that anybody may try, lawful or not; after each step all the checks."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from apps.governance.actors import PEOPLE, Role
from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.refusal_log import recording_refusals
from apps.llm.model_backend import ModelBackend
from apps.restore.actions import make_checkpoint
from tests.random_acts.act_choice import ActChoice
from tests.random_acts.acts.proposals import PROPOSALS
from tests.random_acts.acts.registry import ACT_RUNNERS
from tests.random_acts.console_pages import ConsolePageVisits
from tests.random_acts.initial_queue import archive_a_persona, fill_queue
from tests.random_acts.invariants import CHECKS, ActStep, ObservedState, StepComparison, observe
from tests.random_acts.steps_outside_policy import (
    RAW_STATEMENTS,
    TOOL_ARGUMENTS,
    answer_customer,
    freeze_session,
    run_extraction,
    run_raw,
    run_restore,
    use_tool,
)
from tests.random_acts.superuser_observer import SuperuserObserver
from tests.random_acts.two_tenants import ACTOR_NAMES, ActingTenant, NoRowForAct, make_two_tenants

ACTS = st.sampled_from([act.value for act in ACT_RUNNERS])
ACTS_OF_AGENTS = st.sampled_from([act.value for act in ACT_RUNNERS if Role.AGENT in POLICY[act].allowed])
DECISIONS = st.sampled_from([act.value for act in PROPOSALS])
ANY_ACTOR = st.sampled_from(ACTOR_NAMES)
ANY_PERSON = st.sampled_from(ACTOR_NAMES[:3])
AGENTS = st.sampled_from(["agent", "second agent"])
SIDES = st.integers(0, 1)
ROW_PICKS = st.integers(0, 7)
RARELY_TRUE = st.sampled_from([False] * 7 + [True])


@dataclass
class RunTotals:
    """What the runs came to."""

    runs: int = 0
    steps: int = 0
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    sessions: int = 0

    @property
    def acts(self) -> set[str]:
        """The acts of the policy that were tried."""
        return {name for name in (*self.done, *self.refused) if name in set(Act)}


class RandomActsMachine(RuleBasedStateMachine):
    """Two tenants, from their beginning to wherever chance leads."""

    connection: ClassVar["psycopg.Connection[Any]"]
    backend: ClassVar[ModelBackend]
    told: ClassVar[RunTotals]

    def __init__(self) -> None:
        super().__init__()
        self.sides: tuple[ActingTenant, ActingTenant] = make_two_tenants()
        archive_a_persona(self.sides[0])
        for side in self.sides:
            fill_queue(side)
            make_checkpoint("Beginning", actor=side.world.operator)
        self.observer = SuperuserObserver(self.connection, [side.tenant_id for side in self.sides])
        self.seen: ObservedState = observe(self.observer)
        self.step: ActStep | None = None
        self.number = 0
        self.page_visits = ConsolePageVisits()
        self.told.runs += 1

    @rule(name=ACTS, who=ANY_ACTOR, side=SIDES, pick=ROW_PICKS, abroad=RARELY_TRUE, stale=RARELY_TRUE)
    def act(self, *, name: str, who: str, side: int, pick: int, abroad: bool, stale: bool) -> None:
        """Anybody tries any act of the policy, sometimes on the other tenant's row or on a version that is gone."""
        self._run_act(Act(name), who, side, pick, abroad=abroad, stale=stale)

    @rule(name=ACTS, who=ANY_PERSON, side=SIDES, pick=ROW_PICKS)
    def act_of_people(self, *, name: str, who: str, side: int, pick: int) -> None:
        """People do what mostly they may."""
        self._run_act(Act(name), who, side, pick, abroad=False, stale=False)

    @rule(name=ACTS_OF_AGENTS, who=AGENTS, side=SIDES, pick=ROW_PICKS)
    def act_of_agents(self, *, name: str, who: str, side: int, pick: int) -> None:
        """Agents do what they may, to rows of whichever agent."""
        self._run_act(Act(name), who, side, pick, abroad=False, stale=False)

    @rule(name=DECISIONS, who=ANY_PERSON, side=SIDES, pick=ROW_PICKS)
    def decide(self, *, name: str, who: str, side: int, pick: int) -> None:
        """People work through their inbox."""
        self._run_act(Act(name), who, side, pick, abroad=False, stale=False)

    @rule(statement=st.sampled_from(RAW_STATEMENTS), who=AGENTS, side=SIDES)
    def raw_sql(self, *, statement: str, who: str, side: int) -> None:
        """An agent writes past the product."""
        self.number += 1
        mine = self.sides[side]
        chosen = ActChoice(mine.actor(who), mine, mine, 0)
        step = ActStep(f"raw SQL by {who}", chosen.actor, leaked=run_raw(chosen, statement))
        self._count_step("raw SQL", step)

    @rule(work=st.sampled_from(["a session opens", "a turn", "an extraction"]), side=SIDES, pick=ROW_PICKS)
    def work(self, *, work: str, side: int, pick: int) -> None:
        """A session opens, a customer writes and is answered, or something is learned from what was resolved."""
        deeds: Mapping[str, Callable[[ActChoice], object]] = {
            "a session opens": freeze_session,
            "a turn": lambda chosen: answer_customer(chosen, self.backend),
            "an extraction": lambda chosen: run_extraction(chosen, self.backend),
        }
        self._try_step(work, "worker", side, pick, deeds[work], counted=False)

    @rule(tool=st.sampled_from(sorted(TOOL_ARGUMENTS)), who=AGENTS, side=SIDES, pick=ROW_PICKS, abroad=RARELY_TRUE)
    def call_tool(self, *, tool: str, who: str, side: int, pick: int, abroad: bool) -> None:
        """The model calls a tool in a turn."""
        self._try_step(f"tool {tool}", who, side, pick, lambda chosen: use_tool(chosen, tool), abroad=abroad)

    @rule(who=ANY_ACTOR, side=SIDES, pick=ROW_PICKS, abroad=RARELY_TRUE, stale=RARELY_TRUE)
    def restore(self, *, who: str, side: int, pick: int, abroad: bool, stale: bool) -> None:
        """Somebody brings back what was."""
        self._try_step("a restore", who, side, pick, run_restore, abroad=abroad, stale=stale, of_people=True)

    @invariant()
    def holds(self) -> None:
        """Everything that has to, after each step."""
        if self.step is None:
            return
        step, before, self.step = self.step, self.seen, None
        self.seen = observe(self.observer)
        self.told.sessions += len(self.seen.sessions.keys() - before.sessions.keys())
        records = self.observer.records_after(before.records)
        seen = StepComparison(step, before, self.seen, self.observer, self.sides, self.number, records)
        flaws = [f"{name}: {flaw}" for name, check in CHECKS.items() for flaw in check(seen)]
        flaws += [f"console pages: {flaw}" for flaw in self.page_visits.flaws(records, self.sides)]
        assert not flaws, "\n".join(flaws)

    def _run_act(self, act: Act, who: str, side: int, pick: int, *, abroad: bool, stale: bool) -> None:
        def try_it(chosen: ActChoice) -> object:
            if chosen.actor.role not in POLICY[act].allowed:
                chosen.is_barred = True
            with recording_refusals(chosen.actor, act):
                return ACT_RUNNERS[act](chosen)

        self._try_step(act.value, who, side, pick, try_it, abroad=abroad, stale=stale)

    def _try_step(
        self,
        name: str,
        who: str,
        side: int,
        pick: int,
        deed: Callable[[ActChoice], object],
        *,
        abroad: bool = False,
        stale: bool = False,
        counted: bool = True,
        of_people: bool = False,
    ) -> None:
        """Let them try, and keep how it ended. Only a sentence of the product may come back."""
        self.number += 1
        mine = self.sides[side]
        step = ActStep(f"{name} by {who}", refusals=counted)
        try:
            chosen = ActChoice(mine.actor(who), mine, self.sides[side ^ abroad], pick, stale)
            step.actor = chosen.actor
            chosen.is_barred = of_people and chosen.actor.role not in PEOPLE
            with recording_refusals(chosen.actor):
                deed(chosen)
        except NoRowForAct:
            return
        except GovernanceError as refusal:
            step.refusal = refusal
        step.must_refuse = _refusal_reason(chosen)
        self._count_step(name, step)

    def _count_step(self, name: str, step: ActStep) -> None:
        self.step = step
        self.told.steps += 1
        (self.told.refused if step.refusal else self.told.done)[name] += 1


def _refusal_reason(chosen: ActChoice) -> str:
    reasons = {
        "the policy does not allow it to them": chosen.is_barred,
        "the row is another tenant's": chosen.is_crossed,
        "they had read another version": chosen.is_stale,
    }
    return " and ".join(reason for reason, holds in reasons.items() if holds)
