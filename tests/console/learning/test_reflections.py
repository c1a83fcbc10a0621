"""The page of a day: what an agent would remember of it, in the words that wait."""

import json

from django.test import Client

from apps.governance.database.actor_transaction import acting
from apps.governance.models import Proposal
from tests.support.drivers.console_client import page_of, words_of
from tests.support.drivers.conversation import reply
from tests.support.factories.reflections import look_back, make_day
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World

OPEN = "The shop opens at nine."


def test_the_page_shows_the_lines_and_leads_to_who_decides(world: World, operator: Client, standin: StandIn) -> None:
    # R119
    make_day(world)
    standin.play(reply(json.dumps({"skills": [], "memories": [{"text": OPEN, "conversations": [1, 2]}]})))
    day = look_back(world, standin.backend)
    page = operator.get(page_of(day))
    shown = words_of(page)
    assert f"What it would remember, with what waits already {OPEN}" in shown
    assert f"New memory lines of agent {world.agent}" in shown
    with acting(world.operator):
        assert page_of(Proposal.objects.get(pk=day.proposal_ids[0])) in page.content.decode()
