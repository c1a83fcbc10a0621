"""The page of a day: what an agent would remember of it, in the words that wait."""

import json

from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from tests.support.drivers.console_client import page_of, page_words
from tests.support.drivers.conversation import reply
from tests.support.factories.reflections import make_day, run_reflection
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World

OPENING_HOURS = "The shop opens at nine."


def test_the_page_shows_the_lines_and_leads_to_who_decides(world: World, operator: Client, standin: StandIn) -> None:
    # R119
    make_day(world)
    standin.play(reply(json.dumps({"skills": [], "memories": [{"text": OPENING_HOURS, "conversations": [1, 2]}]})))
    day = run_reflection(world, standin.backend)
    page = operator.get(page_of(day))
    shown = page_words(page)
    assert f"What it would remember, with what waits already {OPENING_HOURS}" in shown
    assert f"New memory lines of agent {world.agent}" in shown
    with acting_as(world.operator):
        assert page_of(Proposal.objects.get(pk=day.proposal_ids[0])) in page.content.decode()
