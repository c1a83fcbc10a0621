"""Examples by REST: people keep one of a lesson and retire it; an agent's token reaches none (Z-12)."""

from tests.support.drivers.rest_client import RestClient
from tests.support.factories.lessons import (
    DRAFT_TEXT,
    QUESTION,
    SENT_TEXT,
    make_answer_lesson,
    make_example,
    make_lesson,
)
from tests.support.worlds.world import World


def test_an_empty_bank_is_an_empty_list(world: World, operator: RestClient) -> None:
    assert operator.get("examples/").body["results"] == []


def test_a_lesson_is_kept_in_its_own_words_and_retired(world: World, operator: RestClient) -> None:
    lesson = make_lesson(world)
    made = operator.post("examples/", {"lesson_id": lesson.pk})
    assert made.status == 201
    values = {
        name: made.body[name]
        for name in ("agent_key", "lesson_id", "situation", "draft", "correction", "masked_counts")
    }
    assert values == {
        "agent_key": world.agent.key,
        "lesson_id": lesson.pk,
        "situation": QUESTION,
        "draft": DRAFT_TEXT,
        "correction": SENT_TEXT,
        "masked_counts": {},
    }
    assert (made.body["status"], made.body["approved_by"]) == ("approved", world.operator.label)
    assert operator.post("examples/", {"lesson_id": lesson.pk}).code == "conflict"
    address = f"examples/{made.body['id']}/"
    assert operator.post(f"{address}retire/", {"version": 7}).code == "stale"
    assert operator.post(f"{address}retire/", {"version": 1, "reason": "Old."}).body["status"] == "retired"
    assert operator.post(f"{address}retire/", {}).code == "illegal_transition"
    assert operator.patch(address, {"correction": "Pay me."}).status == 405


def test_words_of_a_persons_own_are_masked_or_refused_with_the_field(world: World, operator: RestClient) -> None:
    lesson = make_lesson(world)
    refused = operator.post("examples/", {"lesson_id": lesson.pk, "correction": "mia@example.com"})
    assert refused.code == "invalid"
    assert "It contains nothing but personal data" in str(refused.body)
    made = operator.post("examples/", {"lesson_id": lesson.pk, "correction": "Write to mia@example.com."})
    assert (made.body["correction"], made.body["masked_counts"]) == ("Write to [e-mail].", {"e-mail": 1})


def test_what_is_no_corrected_draft_is_no_example(world: World, operator: RestClient) -> None:
    assert operator.post("examples/", {"lesson_id": make_answer_lesson(world).pk}).code == "invalid"
    assert "no such lesson" in str(operator.post("examples/", {"lesson_id": 987654}).body)
    assert operator.post("examples/", {}).code == "invalid"


def test_examples_are_found_by_agent_and_state_and_by_no_agent(
    world: World, operator: RestClient, bot: RestClient
) -> None:
    example = make_example(world)
    make_example(world, "retired")
    assert [row["id"] for row in operator.get("examples/?status=approved").body["results"]] == [example.pk]
    assert len(operator.get(f"examples/?agent_key={world.agent.key}").body["results"]) == 2
    for way in (bot.get("examples/"), bot.get(f"examples/{example.pk}/"), bot.post("examples/", {"lesson_id": 1})):
        assert way.status in {403, 404}
