"""The one writer of runs of the distiller: append-only, one row for each run."""

from dataclasses import asdict, dataclass

from apps.governance.actors import Actor
from apps.learning.distilling import Fact
from apps.learning.tier_clock import Due
from apps.learning.tier_models import TierRun
from apps.learning.used import used
from apps.llm.model_backend import Reply
from apps.tenants.models import Agent


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run: the text to store, or why there is none."""

    verdict: TierRun.Verdict
    body: str = ""
    facts: tuple[Fact, ...] = ()
    reasons: tuple[str, ...] = ()
    proposed_facts: tuple[Fact, ...] = ()
    reply: Reply | None = None


def write_run(agent: Agent, due: Due, outcome: Outcome, facts_before: int, *, actor: Actor) -> TierRun:
    """Say what became of a run, in the transaction that stores its text."""
    return TierRun.objects.create(
        tenant_id=actor.tenant_id,
        agent=agent,
        tier=due.tier.value,
        verdict=outcome.verdict,
        reasons=list(outcome.reasons),
        proposed_facts=[asdict(fact) for fact in outcome.proposed_facts],
        facts_before=facts_before,
        facts_after=len(outcome.facts),
        requested_by=due.requested_by,
        **used(outcome.reply, actor=actor),
    )
