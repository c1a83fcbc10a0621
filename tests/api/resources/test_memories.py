"""Memory and profiles over REST: written freely, the author stamped by who acts (R023, R078-R081, R084-R087)."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.proposals.actions import reject_proposal
from apps.memory.actions import amend_memory
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import ReceivedTexts
from apps.tenants.actions import create_agent
from tests.support.drivers.rest_client import RestClient, agent_client, person_client
from tests.support.worlds.world import World, make_memory, make_profile, make_world

PROFILE = {"end_user_key": "slack:U12345", "preferences": "Prefers email."}


def test_agent_writes_its_own_memory(bot: RestClient) -> None:
    # R023, R078, R079
    made = bot.post("memories/", {"body": "Most customers are in the EU."})
    assert (made.status, made.body["agent_key"], made.body["updated_by"]) == (201, "support", "agent")
    changed = bot.patch(f"memories/{made.body['id']}/", {"body": "Half of them are."})
    assert (changed.status, changed.body["body"], changed.body["version"]) == (200, "Half of them are.", 2)


def test_person_is_named_as_author(world: World, operator: RestClient) -> None:
    # R080, R081
    memory = make_memory(world)
    answer = operator.patch(f"memories/{memory.pk}/", {"body": "By hand."})
    assert answer.body["updated_by"] == f"operator:{world.operator_user.pk}"
    profile = make_profile(world)
    answer = operator.patch(f"profiles/{profile.pk}/", {"notes": "By hand."})
    assert answer.body["updated_by"] == f"operator:{world.operator_user.pk}"


@pytest.mark.parametrize("who", ["bot", "operator"])
def test_author_cannot_be_forged(world: World, request: pytest.FixtureRequest, who: str) -> None:
    # R080, R087
    asker: RestClient = request.getfixturevalue(who)
    author = "agent" if who == "bot" else f"operator:{world.operator_user.pk}"
    made = asker.post("memories/", {"agent_key": "support", "body": "x", "updated_by": "operator:999"})
    assert (made.body["updated_by"], made.body["ignored_fields"]) == (author, ["updated_by"])
    made = asker.post("profiles/", {**PROFILE, "updated_by": "operator:999", "last_seen_at": "2020-01-01T00:00:00Z"})
    assert (made.body["updated_by"], made.body["ignored_fields"]) == (author, ["last_seen_at", "updated_by"])
    alone = asker.patch(f"profiles/{made.body['id']}/", {"updated_by": "operator:999"})
    assert (alone.status, alone.code) == (403, "nothing_permitted")


def test_second_memory_of_an_agent_is_rejected(world: World, bot: RestClient) -> None:
    # R081
    make_memory(world)
    assert bot.post("memories/", {"body": "x"}).code == "conflict"


def test_agent_has_no_other_agents_memory(world: World, bot: RestClient, operator: RestClient) -> None:
    # R008, R010
    create_agent("sales", "Sales", actor=world.system)
    made = operator.post("memories/", {"agent_key": "sales", "body": "Only sales knows."})
    assert bot.get(f"memories/{made.body['id']}/").status == 404
    assert bot.patch(f"memories/{made.body['id']}/", {"body": "x"}).status == 404
    assert list(bot.post("memories/", {"agent_key": "sales", "body": "x"}).body["errors"]) == ["agent_key"]
    assert bot.get("memories/?agent_key=sales").body["results"] == []


def test_stale_memory_is_refused(world: World, bot: RestClient, operator: RestClient) -> None:
    memory = make_memory(world)
    operator.patch(f"memories/{memory.pk}/", {"body": "By hand."})
    answer = bot.put(f"memories/{memory.pk}/", {"body": "From an old read.", "version": 1})
    assert (answer.status, answer.body["current_version"]) == (409, 2)


def test_memory_cannot_be_deleted(world: World, bot: RestClient) -> None:
    assert bot.delete(f"memories/{make_memory(world).pk}/").status == 405
    assert bot.delete(f"profiles/{make_profile(world).pk}/").status == 405


def test_profile_is_found_by_its_end_user(world: World, bot: RestClient) -> None:
    # R084, R085, R009
    made = bot.post("profiles/", PROFILE)
    assert (made.status, made.body["end_user_key"]) == (201, "slack:U12345")
    make_profile(world, "http:abc123")
    [found] = bot.get("profiles/?end_user_key=slack:U12345").body["results"]
    assert found["id"] == made.body["id"]


@pytest.mark.parametrize("key", ["U12345", "slack:", "Slack:U1", "slack:U 1", "", "slack:" + "x" * 200])
def test_end_user_key_names_its_channel(bot: RestClient, key: str) -> None:
    # R009
    answer = bot.post("profiles/", {**PROFILE, "end_user_key": key})
    assert (answer.status, list(answer.body["errors"])) == (400, ["end_user_key"])


def test_second_profile_of_an_end_user_is_rejected(bot: RestClient) -> None:
    assert bot.post("profiles/", PROFILE).status == 201
    assert bot.post("profiles/", PROFILE).code == "conflict"


def test_writing_a_profile_sees_the_customer(world: World, bot: RestClient) -> None:
    # R086
    profile = make_profile(world)
    answer = bot.patch(f"profiles/{profile.pk}/", {"notes": "Called twice."})
    assert answer.body["last_seen_at"] > profile.last_seen_at.isoformat().replace("+00:00", "Z")
    assert answer.body["preferences"] == "Prefers email."


def test_put_of_a_profile_wants_both_texts(world: World, bot: RestClient) -> None:
    profile = make_profile(world)
    assert list(bot.put(f"profiles/{profile.pk}/", {"notes": "x"}).body["errors"]) == ["preferences"]
    assert bot.put(f"profiles/{profile.pk}/", {"notes": "x", "preferences": ""}).body["preferences"] == ""


@pytest.mark.django_db
def test_lines_that_wait_for_a_person_are_answered_as_accepted_with_where_they_wait() -> None:
    world = make_world(memory_review=MemoryReview.ALL)
    memory = make_memory(world, "Refunds take a week.")
    answer = agent_client(world).patch(f"memories/{memory.pk}/", {"body": "Refunds take a week.\nMondays are busy."})
    assert answer.status == 202
    assert answer.body["notice"]
    waits = person_client(world.operator_user).get(answer.headers["Location"]).body
    assert "Mondays are busy." in str(waits["content"])


@pytest.mark.django_db
def test_a_line_that_was_turned_down_before_is_not_answered_as_waiting_beside_another_that_waits() -> None:
    # Z-19
    world = make_world(memory_review=MemoryReview.TAINTED)
    memory, line, other = make_memory(world, ""), "Orders over fifty euros ship free.", "Refunds are paid in cash."
    amend_memory(memory, actor=world.bot, body=line, heard=ReceivedTexts((line,)))
    with acting_as(world.operator):
        rejected = Proposal.objects.visible_to(world.operator).open().get()
    reject_proposal(rejected, actor=world.operator, reason="Untrue.")
    amend_memory(memory, actor=world.bot, body=other, heard=ReceivedTexts((other,)))
    answer = agent_client(world).patch(f"memories/{memory.pk}/", {"body": line})
    assert (answer.status, "Location" in answer.headers) == (200, False)
    assert answer.body["notice"].startswith("A person turned this down before, so it is not saved")


@pytest.mark.django_db
@pytest.mark.parametrize("review", MemoryReview)
def test_a_text_that_does_not_fit_says_what_to_merge_and_waits_for_nobody(review: MemoryReview) -> None:
    world = make_world(memory_review=review)
    bot = agent_client(world)
    long = "\n".join(f"- Fact {number} of the trade, told at length." for number in range(700))
    answer = bot.post("memories/", {"body": long})
    assert (answer.status, answer.body["code"]) == (400, "invalid")
    assert "20,000 are the most, so nothing was saved. Merge, shorten or delete lines" in answer.body["detail"]
    assert "The longest lines are" in answer.body["errors"]["body"][0]
    assert bot.get("proposals/").body["results"] == []
