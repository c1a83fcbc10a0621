"""In the console: what a customer wrote is on the pages from the moment it is committed, whatever the turn's state."""

import pytest
from django.test import Client

from apps.desk.models import Escalation
from apps.governance.database.actor_transaction import acting_as
from apps.tenants.actions import amend_agent
from apps.tenants.delay_notices import DEFAULT_DELAY_NOTICE
from tests.support.drivers.console_client import list_of, page_of, page_words
from tests.support.factories.delayed_turns import delay_turn, spend_day_budget
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("notice", [DEFAULT_DELAY_NOTICE, ""])
def test_delayed_message_is_on_the_conversations_page_with_the_reason(
    world: World, operator: Client, notice: str
) -> None:
    amend_agent(world.agent, actor=world.admin, delay_notice=notice, title="Support")
    spend_day_budget(world)
    event, _ = delay_turn(world, "Where is my parcel?")
    words = page_words(operator.get(page_of(event.conversation)))
    assert "Nothing was said yet" not in words
    for shown in ("Where is my parcel?", "The answer is delayed. The budget of the day is spent.", notice):
        assert shown in words
    assert ("The customer got the delay notice" in words) is bool(notice)


def test_escalation_about_the_budget_shows_the_message_that_waits(world: World, operator: Client) -> None:
    spend_day_budget(world)
    amend_agent(world.agent, actor=world.admin, delay_notice="")
    delay_turn(world, "Where is my parcel?")
    with acting_as(world.operator):
        escalation = Escalation.objects.visible_to(world.operator).get()
    assert "Where is my parcel?" in page_words(operator.get(page_of(escalation)))
    assert "Where is my parcel?" in page_words(operator.get(list_of(Escalation)))
