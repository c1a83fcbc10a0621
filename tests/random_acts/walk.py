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
from apps.governance.policy.table import POLICY, Act
from apps.governance.refusal_log import noting
from apps.llm.model_backend import Backend
from apps.restore.actions import make_checkpoint
from tests.random_acts.act_choice import Chosen
from tests.random_acts.acts.proposals import PROPOSALS
from tests.random_acts.acts.registry import DEEDS
from tests.random_acts.initial_queue import lay_aside_a_persona, lay_out
from tests.random_acts.invariants import CHECKS, Look, Seen, Step, look
from tests.random_acts.steps_outside_policy import (
    ARGUMENTS,
    RAW,
    answer_customer,
    bring_back,
    freeze_session,
    learn,
    run_raw,
    use_tool,
)
from tests.random_acts.superuser_observer import Observer
from tests.random_acts.two_tenants import WHO, NothingToDo, Side, set_stage

ACTS = st.sampled_from([act.value for act in DEEDS])
ACTS_OF_AGENTS = st.sampled_from([act.value for act in DEEDS if Role.AGENT in POLICY[act].allowed])
DECISIONS = st.sampled_from([act.value for act in PROPOSALS])
ANYBODY = st.sampled_from(WHO)
PEOPLE_HERE = st.sampled_from(WHO[:3])
AGENTS = st.sampled_from(["agent", "second agent"])
SIDES = st.integers(0, 1)
PICKS = st.integers(0, 7)
SELDOM = st.sampled_from([False] * 7 + [True])


@dataclass
class Told:
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


class Governance(RuleBasedStateMachine):
    """Two tenants, from their beginning to wherever chance leads."""

    connection: ClassVar["psycopg.Connection[Any]"]
    backend: ClassVar[Backend]
    told: ClassVar[Told]

    def __init__(self) -> None:
        super().__init__()
        self.sides: tuple[Side, Side] = set_stage()
        lay_aside_a_persona(self.sides[0])
        for side in self.sides:
            lay_out(side)
            make_checkpoint("Beginning", actor=side.world.operator)
        self.observer = Observer(self.connection, [side.tenant_id for side in self.sides])
        self.seen: Seen = look(self.observer)
        self.step: Step | None = None
        self.number = 0
        self.told.runs += 1

    @rule(name=ACTS, who=ANYBODY, side=SIDES, pick=PICKS, abroad=SELDOM, stale=SELDOM)
    def act(self, *, name: str, who: str, side: int, pick: int, abroad: bool, stale: bool) -> None:
        """Anybody tries any act of the policy, sometimes on the other tenant's row or on a version that is gone."""
        self._act(Act(name), who, side, pick, abroad=abroad, stale=stale)

    @rule(name=ACTS, who=PEOPLE_HERE, side=SIDES, pick=PICKS)
    def act_of_people(self, *, name: str, who: str, side: int, pick: int) -> None:
        """People do what mostly they may."""
        self._act(Act(name), who, side, pick, abroad=False, stale=False)

    @rule(name=ACTS_OF_AGENTS, who=AGENTS, side=SIDES, pick=PICKS)
    def act_of_agents(self, *, name: str, who: str, side: int, pick: int) -> None:
        """Agents do what they may, to rows of whichever agent."""
        self._act(Act(name), who, side, pick, abroad=False, stale=False)

    @rule(name=DECISIONS, who=PEOPLE_HERE, side=SIDES, pick=PICKS)
    def decide(self, *, name: str, who: str, side: int, pick: int) -> None:
        """People work through their inbox."""
        self._act(Act(name), who, side, pick, abroad=False, stale=False)

    @rule(statement=st.sampled_from(RAW), who=AGENTS, side=SIDES)
    def raw_sql(self, *, statement: str, who: str, side: int) -> None:
        """An agent writes past the product."""
        self.number += 1
        mine = self.sides[side]
        chosen = Chosen(mine.actor(who), mine, mine, 0)
        step = Step(f"raw SQL by {who}", chosen.actor, leaked=run_raw(chosen, statement))
        self._keep("raw SQL", step)

    @rule(work=st.sampled_from(["a session opens", "a turn", "an extraction"]), side=SIDES, pick=PICKS)
    def work(self, *, work: str, side: int, pick: int) -> None:
        """A session opens, a customer writes and is answered, or something is learned from what was resolved."""
        deeds: Mapping[str, Callable[[Chosen], object]] = {
            "a session opens": freeze_session,
            "a turn": lambda chosen: answer_customer(chosen, self.backend),
            "an extraction": lambda chosen: learn(chosen, self.backend),
        }
        self._try(work, "worker", side, pick, deeds[work], counted=False)

    @rule(tool=st.sampled_from(sorted(ARGUMENTS)), who=AGENTS, side=SIDES, pick=PICKS, abroad=SELDOM)
    def call_tool(self, *, tool: str, who: str, side: int, pick: int, abroad: bool) -> None:
        """The model calls a tool in a turn."""
        self._try(f"tool {tool}", who, side, pick, lambda chosen: use_tool(chosen, tool), abroad=abroad)

    @rule(who=ANYBODY, side=SIDES, pick=PICKS, abroad=SELDOM, stale=SELDOM)
    def restore(self, *, who: str, side: int, pick: int, abroad: bool, stale: bool) -> None:
        """Somebody brings back what was."""
        self._try("a restore", who, side, pick, bring_back, abroad=abroad, stale=stale, of_people=True)

    @invariant()
    def holds(self) -> None:
        """Everything that has to, after each step."""
        if self.step is None:
            return
        step, before, self.step = self.step, self.seen, None
        self.seen = look(self.observer)
        self.told.sessions += len(self.seen.sessions.keys() - before.sessions.keys())
        records = self.observer.records_after(before.records)
        seen = Look(step, before, self.seen, self.observer, self.sides, self.number, records)
        flaws = [f"{name}: {flaw}" for name, check in CHECKS.items() for flaw in check(seen)]
        assert not flaws, "\n".join(flaws)

    def _act(self, act: Act, who: str, side: int, pick: int, *, abroad: bool, stale: bool) -> None:
        def try_it(chosen: Chosen) -> object:
            if chosen.actor.role not in POLICY[act].allowed:
                chosen.is_barred = True
            with noting(chosen.actor, act):
                return DEEDS[act](chosen)

        self._try(act.value, who, side, pick, try_it, abroad=abroad, stale=stale)

    def _try(
        self,
        name: str,
        who: str,
        side: int,
        pick: int,
        deed: Callable[[Chosen], object],
        *,
        abroad: bool = False,
        stale: bool = False,
        counted: bool = True,
        of_people: bool = False,
    ) -> None:
        """Let them try, and keep how it ended. Only a sentence of the product may come back."""
        self.number += 1
        mine = self.sides[side]
        step = Step(f"{name} by {who}", refusals=counted)
        try:
            chosen = Chosen(mine.actor(who), mine, self.sides[side ^ abroad], pick, stale)
            step.actor = chosen.actor
            chosen.is_barred = of_people and chosen.actor.role not in PEOPLE
            with noting(chosen.actor):
                deed(chosen)
        except NothingToDo:
            return
        except GovernanceError as refusal:
            step.refusal = refusal
        step.must_refuse = _why(chosen)
        self._keep(name, step)

    def _keep(self, name: str, step: Step) -> None:
        self.step = step
        self.told.steps += 1
        (self.told.refused if step.refusal else self.told.done)[name] += 1


def _why(chosen: Chosen) -> str:
    reasons = {
        "the policy does not allow it to them": chosen.is_barred,
        "the row is another tenant's": chosen.is_crossed,
        "they had read another version": chosen.is_stale,
    }
    return " and ".join(reason for reason, holds in reasons.items() if holds)
