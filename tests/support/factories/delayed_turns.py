"""Turns that wait because the tenant's budget of the day is spent."""

from django.utils import timezone

from apps.conversations.models import InboundEvent
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import ModelReply, ModelRequest
from apps.runtime.models import Spend, Turn
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.conversation import send_customer_message, turn_of
from tests.support.worlds.world import World

DAY_BUDGET = 1_000


class UncalledModel:
    """A model that a delayed turn must not call."""

    def complete(self, request: ModelRequest) -> ModelReply:
        raise AssertionError(f"a turn without budget called the model {request.model}")


def set_day_budget(world: World, micro_usd: int | None) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, day_budget_micro_usd=micro_usd)


def spend_day_budget(world: World) -> None:
    """Set a budget of the day, and spend it."""
    set_day_budget(world, DAY_BUDGET)
    with acting_as(world.system):
        Spend.objects.create(
            tenant=world.tenant, agent=world.agent, day=timezone.now().date(), cost_micro_usd=DAY_BUDGET, calls=1
        )


def delay_turn(world: World, text: str, **more: str) -> tuple[InboundEvent, Turn]:
    """Receive a message, and let a worker delay its turn."""
    event = send_customer_message(world, text, **more)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=UncalledModel())
    turn = turn_of(world, event)
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, "day_budget_spent")
    return event, turn
