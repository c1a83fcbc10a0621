"""What the model cost, read over REST (R166)."""

from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Spend
from apps.tenants.actions import amend_settings, create_agent
from apps.tenants.models import TenantSettings
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World


def make_spend(world: World, day: str, cost: int, agent_id: int = 0) -> Spend:
    with acting_as(world.system):
        return Spend.objects.create(
            tenant_id=world.tenant.pk,
            agent_id=agent_id or world.agent.pk,
            day=day,
            calls=2,
            unpriced_calls=1,
            cost_micro_usd=cost,
            input_tokens=10,
        )


def test_people_read_what_each_day_cost_beside_its_budget(world: World, operator: RestClient) -> None:
    # R166
    sales = create_agent("sales", "Sales", actor=world.admin)
    make_spend(world, "2026-11-20", 70)
    make_spend(world, "2026-11-21", 50)
    make_spend(world, "2026-11-21", 30, sales.pk)
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, day_budget_micro_usd=1000)
    rows = operator.get("spend/").body["results"]
    assert [row["day"] for row in rows] == ["2026-11-21", "2026-11-21", "2026-11-20"]
    [row] = operator.get("spend/?day=2026-11-21&agent_key=sales").body["results"]
    assert (row["cost_micro_usd"], row["tenant_cost_micro_usd"], row["day_budget_micro_usd"]) == (30, 80, 1000)
    assert (row["calls"], row["unpriced_calls"], row["input_tokens"]) == (2, 1, 10)
    assert operator.get(f"spend/{row['id']}/").body == row
    assert operator.get("spend/?day=yesterday").status == 400


def test_agents_do_not_read_what_they_cost(world: World, bot: RestClient) -> None:
    row = make_spend(world, "2026-11-20", 70)
    assert bot.get("spend/").code == "not_permitted"
    assert bot.get(f"spend/{row.pk}/").status == 403
