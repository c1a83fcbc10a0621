"""Tables and charts that an agent shows with its reply."""

import pytest

from apps.api.resources.conversations.turn_results import message_result
from apps.console.conversations.transcripts import transcript
from apps.governance.database.actor_transaction import acting_as
from apps.prompt.tables_and_charts import CHART_KINDS
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import reply, run_turn, send_customer_message, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import make_world

pytestmark = pytest.mark.django_db


def render_tools(standin: StandIn) -> set[str]:
    return {each["name"] for each in standin.requests()[-1]["tools"] if each["name"].startswith("render_")}


def test_a_table_goes_with_the_reply_where_the_agent_may_show_some(standin: StandIn) -> None:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, may_show_tables_and_charts=True)
    wrong, right = tool("render_table", columns=["a"], rows=[[1, 2]]), tool("render_table", columns=["a"], rows=[[1]])
    standin.play(wrong, right, reply("One it is."))
    event = send_customer_message(world, "How many?")
    run_turn(world, event, standin.backend)
    assert render_tools(standin) == {"render_table", "render_chart"}
    sent_reply = message_result(event.pk, actor=world.bot).reply
    assert sent_reply is not None
    assert [(figure["kind"], figure["rows"]) for figure in sent_reply.figures] == [("table", [["1"]])]
    with acting_as(world.operator):
        lines = transcript(event.conversation)
    assert [figure["text"] for line in lines for figure in line.figures] == ["a\n1"]


@pytest.mark.parametrize("chart", CHART_KINDS)
def test_a_chart_goes_with_the_reply_as_data(standin: StandIn, chart: str) -> None:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, may_show_tables_and_charts=True)
    drawn = {"chart": chart, "labels": ["May", "June"], "series": [{"name": "Sold", "values": [1, 2]}]}
    standin.play(tool("render_chart", **drawn | {"labels": ["May"]}), tool("render_chart", **drawn), reply("It grows."))
    event = send_customer_message(world, "Does it grow?")
    run_turn(world, event, standin.backend)
    sent_reply = message_result(event.pk, actor=world.bot).reply
    assert sent_reply is not None
    [figure] = sent_reply.figures
    assert (figure["kind"], figure["chart"], figure["labels"]) == ("chart", chart, ["May", "June"])
    assert figure["series"] == [{"name": "Sold", "values": [1, 2]}]


def test_nothing_can_be_shown_by_sms_or_by_an_agent_that_may_not(standin: StandIn) -> None:
    world = make_world()
    standin.play(reply("Hello."))
    run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    assert render_tools(standin) == set()
    amend_agent(world.agent, actor=world.admin, may_show_tables_and_charts=True)
    standin.play(reply("Hello."))
    run_turn(
        world, send_customer_message(world, "Hello", thread="other", channel="sms", customer="sms:1"), standin.backend
    )
    assert render_tools(standin) == set()
