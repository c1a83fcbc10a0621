"""Model spend of learning: the usage columns of its journals, the count per agent and day, and the budget check.

Each call is counted in the tenant's daily budget right after it. Once four fifths of that budget are spent, learning makes no
call; the rest is kept for replies to customers.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, TypedDict

from django.db import connection
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.llm.model_backend import BackendError, ErrorOwner, ModelBackend, ModelReply, ModelRequest
from apps.llm.prices import reply_cost_micro_usd
from apps.tenants.endpoints.price_overrides import tenant_rates


class ModelUsage(TypedDict):
    """The usage columns of every journal of learning."""

    model: str
    is_stand_in: bool
    input_tokens: int
    output_tokens: int
    cost_micro_usd: int | None


def usage_columns(reply: ModelReply | None, *, actor: Actor) -> ModelUsage:
    """Return the usage columns of an answer: `cost_micro_usd` is None if the price is unknown, and 0 if no model was called."""
    if reply is None:
        return {"model": "", "is_stand_in": False, "input_tokens": 0, "output_tokens": 0, "cost_micro_usd": 0}
    return {
        "model": reply.model,
        "is_stand_in": reply.is_stand_in,
        "input_tokens": reply.usage.prompt_tokens,
        "output_tokens": reply.usage.output_tokens,
        "cost_micro_usd": reply_cost_micro_usd(reply, tenant_rates(actor, timezone.now())),
    }


BUDGET_RETRY_SECONDS: Final = 900.0

_RECORD_LEARNING_SPEND: Final = load_query("apps/learning/queries/record_learning_spend.sql")


class LearningBudgetReserved(BackendError):
    """Four fifths of the tenant's daily budget are spent; the rest is kept for replies to customers."""

    code: ClassVar[str] = "day_budget_spent"
    who_acts: ClassVar[ErrorOwner] = ErrorOwner.OPERATOR

    def __init__(self) -> None:
        super().__init__(
            "Four fifths of the day's budget are spent; the rest is kept for customers. Learning continues tomorrow, or soon"
            " after the budget is raised.",
            retry_after_seconds=BUDGET_RETRY_SECONDS,
        )


@dataclass(frozen=True, slots=True)
class MeteredBackend:
    """A backend that counts each answer as learning spend of an agent, in a separate commit.

    Spend is therefore counted even if the result is discarded, for example because learning was frozen meanwhile. If a
    worker dies between the answer and the count, one call is not counted. Each worker overruns the budget by one call at most.
    """

    backend: ModelBackend
    agent_id: int
    actor: Actor

    def complete(self, request: ModelRequest) -> ModelReply:
        """Call the backend. Raises `LearningBudgetReserved` if the rest of the daily budget is reserved for customers."""
        with acting_as(self.actor), connection.cursor() as cursor:
            cursor.execute("SELECT is_learning_budget_reserved(app_tenant())")
            if cursor.fetchall()[0][0]:
                raise LearningBudgetReserved
        reply = self.backend.complete(request)
        record_learning_spend(usage_columns(reply, actor=self.actor), self.agent_id, actor=self.actor)
        return reply


def record_learning_spend(spent: ModelUsage, agent_id: int, *, actor: Actor) -> None:
    """Add the usage of one call to the agent's total for the day."""
    given = {
        "agent": agent_id,
        "cost": spent["cost_micro_usd"],
        "input": spent["input_tokens"],
        "output": spent["output_tokens"],
    }
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_RECORD_LEARNING_SPEND, given)
