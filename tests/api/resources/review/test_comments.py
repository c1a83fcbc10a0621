"""Comments by REST: people list, add and withdraw; an agent's token reaches none."""

from tests.support.drivers.rest_client import RestClient
from tests.support.factories.comments import make_comment, make_proposal
from tests.support.worlds.world import World


def test_without_comments_the_list_is_empty(world: World, operator: RestClient) -> None:
    assert operator.get("comments/").body["results"] == []


def test_a_comment_is_added_read_and_withdrawn(world: World, operator: RestClient) -> None:
    proposal = make_proposal(world)
    made = operator.post("comments/", {"proposal_id": proposal.pk, "text": "**Ask** finance."})
    assert (made.status, made.body["status"], made.body["author"]) == (201, "active", world.operator.label)
    assert (made.body["proposal_id"], made.body["agent_key"]) == (proposal.pk, world.agent.key)
    address = f"comments/{made.body['id']}/"
    assert operator.get(address).body["text"] == "**Ask** finance."
    assert operator.post(f"{address}withdraw/", {"version": 9}).code == "stale"
    gone = operator.post(f"{address}withdraw/", {"version": 1, "reason": "They said yes."})
    assert (gone.status, gone.body["status"], gone.body["text"]) == (200, "withdrawn", "")
    assert operator.post(f"{address}withdraw/", {}).code == "illegal_transition"
    assert operator.patch(address, {"text": "Otherwise."}).status == 405


def test_bad_input_names_its_field(world: World, operator: RestClient) -> None:
    proposal = make_proposal(world)
    unknown = operator.post("comments/", {"proposal_id": proposal.pk + 999, "text": "x"})
    assert (unknown.code, list(unknown.body["errors"])) == ("invalid", ["proposal_id"])
    long = operator.post("comments/", {"proposal_id": proposal.pk, "text": "x" * 4_001})
    assert "The comment has 4,001 characters; at most 4,000 are allowed." in long.body["errors"]["text"][0]
    assert operator.post("comments/", {"proposal_id": proposal.pk}).code == "invalid"


def test_comments_are_found_by_proposal_agent_and_state(world: World, operator: RestClient) -> None:
    comment = make_comment(world)
    for query, count in (
        (f"proposal_id={comment.proposal_id}", 1),
        (f"proposal_id={comment.proposal_id + 1}", 0),
        (f"agent_key={world.agent.key}", 1),
        ("status=withdrawn", 0),
    ):
        assert len(operator.get(f"comments/?{query}").body["results"]) == count, query


def test_an_agents_token_reaches_no_comment(world: World, bot: RestClient) -> None:
    comment = make_comment(world, "zanzibar")
    for answer in (
        bot.get("comments/"),
        bot.get(f"comments/{comment.pk}/"),
        bot.post("comments/", {"proposal_id": comment.proposal_id, "text": "Me too."}),
        bot.post(f"comments/{comment.pk}/withdraw/", {}),
    ):
        assert answer.code == "not_permitted"
    assert "zanzibar" not in str(bot.get(f"proposals/{comment.proposal_id}/").body)
