"""Memory blocks over REST: people write all of them, an agent the bodies of its own that are not read-only."""

import pytest

from apps.tenants.actions import amend_agent
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_block, make_neighbour


def test_person_gives_an_agent_a_block(operator: RestClient) -> None:
    # R159, Z-1
    made = operator.post("memory-blocks/", {"agent_key": "support", "label": "BusinessFacts", "is_pinned": True})
    assert (made.status, made.body["agent_key"], made.body["label"]) == (201, "support", "BusinessFacts")
    assert (made.body["body"], made.body["is_pinned"], made.body["is_read_only"]) == ("", True, False)
    changed = operator.patch(
        f"memory-blocks/{made.body['id']}/", {"body": "EU only.", "is_read_only": True, "version": 1}
    )
    assert (changed.status, changed.body["body"], changed.body["is_read_only"]) == (200, "EU only.", True)


def test_agent_gives_itself_no_block(bot: RestClient) -> None:
    # R159
    answer = bot.post("memory-blocks/", {"label": "Mine", "body": "x"})
    assert (answer.status, answer.code) == (403, "not_permitted")


def test_agent_keeps_a_body_up_to_date_and_the_rest_is_stripped(world: World, bot: RestClient) -> None:
    # R023, R159, Z-14
    block = make_block(world)
    sent = {"body": "Worldwide.", "is_pinned": False, "label": "Mine", "updated_by": "operator:1"}
    answer = bot.patch(f"memory-blocks/{block.pk}/", sent)
    assert (answer.status, answer.body["body"], answer.body["updated_by"]) == (200, "Worldwide.", "agent")
    assert (answer.body["label"], answer.body["is_pinned"], answer.body["taint"]) == ("BusinessFacts", True, "agent")
    assert answer.body["ignored_fields"] == ["is_pinned", "label", "updated_by"]
    assert bot.patch(f"memory-blocks/{block.pk}/", {"is_pinned": False}).code == "nothing_permitted"
    assert bot.put(f"memory-blocks/{block.pk}/", {"body": "Only this."}).body["body"] == "Only this."


def test_read_only_block_is_refused_to_its_agent_with_a_sentence(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    # R159
    block = make_block(world, is_read_only=True)
    answer = bot.patch(f"memory-blocks/{block.pk}/", {"body": "Mine."})
    assert (answer.status, answer.code) == (403, "not_permitted")
    assert answer.body["detail"] == "The block “BusinessFacts” is read-only. Ask an operator to change it."
    assert operator.patch(f"memory-blocks/{block.pk}/", {"body": "Ours."}).status == 200


def test_agent_has_no_other_agents_block(world: World, bot: RestClient, operator: RestClient) -> None:
    # R008, R014
    make_neighbour(world)
    made = operator.post("memory-blocks/", {"agent_key": "billing", "label": "Facts"})
    assert bot.get(f"memory-blocks/{made.body['id']}/").status == 404
    assert bot.patch(f"memory-blocks/{made.body['id']}/", {"body": "x"}).status == 404
    assert bot.get("memory-blocks/?label=Facts").body["results"] == []
    assert len(operator.get("memory-blocks/?label=Facts&agent_key=billing").body["results"]) == 1


def test_block_that_changed_meanwhile_is_stale(world: World, bot: RestClient, operator: RestClient) -> None:
    block = make_block(world)
    bot.patch(f"memory-blocks/{block.pk}/", {"body": "Worldwide."})
    answer = operator.patch(f"memory-blocks/{block.pk}/", {"is_pinned": False, "version": 1})
    assert (answer.status, answer.body["current_version"]) == (409, 2)


def test_put_of_a_block_wants_all_of_it(world: World, operator: RestClient) -> None:
    path = f"memory-blocks/{make_block(world).pk}/"
    assert set(operator.put(path, {"body": "x"}).body["errors"]) == {"label", "is_pinned", "is_read_only"}
    whole = {"body": "x", "label": "Facts", "is_pinned": False, "is_read_only": False}
    assert operator.put(path, whole).body["label"] == "Facts"
    assert operator.delete(path).status == 405


@pytest.mark.parametrize("is_pinned", ["true", 1, None, []])
def test_pinned_is_yes_or_no(operator: RestClient, is_pinned: object) -> None:
    answer = operator.post("memory-blocks/", {"agent_key": "support", "label": "Facts", "is_pinned": is_pinned})
    assert (answer.status, list(answer.body["errors"])) == (400, ["is_pinned"])


def test_agent_is_read_with_what_its_sessions_carry(world: World, bot: RestClient) -> None:
    # R056, R060, R129, R168, Z-5
    amend_agent(
        world.agent, actor=world.admin, flavour="assistant", max_session_age_seconds=3600, has_current_time=False
    )
    [agent] = bot.get("agents/").body["results"]
    assert (agent["flavour"], agent["max_session_age_seconds"], agent["has_current_time"]) == ("assistant", 3600, False)
    assert (agent["context_tier"], agent["skill_index"]) == (2, "lazy")
