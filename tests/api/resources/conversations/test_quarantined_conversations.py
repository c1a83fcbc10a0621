"""By REST: people put a conversation in quarantine, release it, and filter by it."""

import pytest

from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_conversation

pytestmark = pytest.mark.django_db


def test_rest_shows_and_filters_it(world: World, operator: RestClient, bot: RestClient) -> None:
    conversation, other = make_conversation(world), make_conversation(world)
    path = f"conversations/{conversation.pk}"
    assert bot.post(f"{path}/quarantine/", {"reason": "Odd."}).status == 403
    assert operator.post(f"{path}/quarantine/", {}).status == 400
    body = operator.post(f"{path}/quarantine/", {"reason": "Odd."}).body
    assert (body["quarantine_reason"], body["quarantined_by"]) == ("Odd.", world.operator.label)
    listed = {
        flag: [row["id"] for row in operator.get(f"conversations/?is_quarantined={flag}").body["results"]]
        for flag in ("true", "false")
    }
    assert (conversation.pk in listed["true"], other.pk in listed["true"]) == (True, False)
    assert (conversation.pk in listed["false"], other.pk in listed["false"]) == (False, True)
    assert operator.post(f"{path}/release/", {"reason": "Read."}).body["quarantined_at"] is None
