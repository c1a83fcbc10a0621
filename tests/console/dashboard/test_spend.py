"""The page of what the model cost (R166)."""

from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Spend
from apps.tenants.actions import amend_agent, amend_settings, create_agent
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import list_of, page_of, page_text
from tests.support.worlds.world import World


def make_spend(world: World, cost: int, agent_id: int = 0, unpriced: int = 0) -> Spend:
    of = {"tenant_id": world.tenant.pk, "agent_id": agent_id or world.agent.pk, "day": "2026-11-02"}
    with acting_as(world.system):
        return Spend.objects.create(**of, calls=3, unpriced_calls=unpriced, cost_micro_usd=cost, input_tokens=75)


def test_a_day_is_shown_by_agent_and_beside_its_budgets(world: World, operator: Client) -> None:
    # R166
    assert "Nothing was spent yet" in page_text(operator.get(list_of(Spend)))
    sales = create_agent("sales", "Sales", actor=world.admin)
    row = make_spend(world, 1_500_000)
    make_spend(world, 500_000, sales.pk, unpriced=1)
    shown = page_text(operator.get(list_of(Spend)))
    assert "2 Nov 2026" in shown
    assert "$1.5000" in shown
    assert "$0.5000 and more" in shown
    page = page_text(operator.get(page_of(row)))
    assert "$2.0000" in page
    assert "no budget" in page
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, day_budget_micro_usd=2_000_000)
    amend_agent(world.agent, actor=world.admin, turn_budget_micro_usd=50_000)
    page = page_text(operator.get(page_of(row)))
    assert "The budget of this day is spent." in page
    assert "$0.0500" in page


def test_large_numbers_stand_with_their_thousands_apart(world: World, operator: Client) -> None:
    row = make_spend(world, 12_345_600_000)
    with acting_as(world.system):
        Spend.objects.update(calls=1_234, input_tokens=2_345_678, output_tokens=98_765)
    for page in (page_text(operator.get(list_of(Spend))), page_text(operator.get(page_of(row)))):
        for text in ("1,234", "2,345,678", "98,765", "$12,345.6000"):
            assert text in page


def test_what_learning_cost_stands_beside_and_waits_before_customers_do(world: World, operator: Client) -> None:
    row = make_spend(world, 1_000_000)
    assert "nothing" in page_text(operator.get(list_of(Spend)))
    with acting_as(world.system):
        Spend.objects.update(
            learning_calls=2, learning_cost_micro_usd=600_000, learning_input_tokens=900, learning_output_tokens=40
        )
    assert "$0.6000" in page_text(operator.get(list_of(Spend)))
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, day_budget_micro_usd=2_000_000)
    page = page_text(operator.get(page_of(row)))
    assert "$0.6000 for 2 calls, 900 prompt tokens, 40 answer tokens" in page
    assert "$1.6000" in page
    assert "Learning waits for the next day" in page
    assert "5 calls" in page
