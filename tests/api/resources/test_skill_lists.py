"""Skills read over REST: lines in lists, bodies one by one, and each fetch counted (R090, R091, R096)."""

import pytest

from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_skill


def test_agent_that_fetches_an_approved_skill_uses_it(world: World, bot: RestClient, operator: RestClient) -> None:
    # R096: neither a draft, nor a person's look, nor a list counts.
    skill, draft = make_skill(world, "approved"), make_skill(world)
    assert bot.get(f"skills/{skill.pk}/").body["use_count"] == 1
    assert bot.get(f"skills/{skill.pk}/").body["use_count"] == 2
    assert bot.ask("HEAD", f"skills/{skill.pk}/").status == 200
    assert operator.get(f"skills/{skill.pk}/").body["use_count"] == 2
    assert bot.get("skills/?status=approved").body["results"][0]["use_count"] == 2
    assert bot.get(f"skills/{draft.pk}/").body["use_count"] == 0
    assert operator.get(f"skills/{skill.pk}/").body["version"] == skill.version


def test_list_shows_lines_and_no_bodies(world: World, bot: RestClient) -> None:
    # R091
    make_skill(world, "approved")
    [line] = bot.get("skills/").body["results"]
    assert "body" not in line
    assert line["name"].startswith("issue-a-refund")


def test_lists_are_filtered_and_ordered(world: World, operator: RestClient) -> None:
    alpha = make_skill(world, name="alpha", title="Alpha", category="money")
    beta = make_skill(world, "approved", name="beta", title="Beta", description="Cancel a flight.")

    def names(query: str) -> list[str]:
        return [row["name"] for row in operator.get(f"skills/?{query}").body["results"]]

    assert names("") == ["beta", "alpha"]
    assert names("ordering=name") == ["alpha", "beta"]
    assert names("ordering=-name") == ["beta", "alpha"]
    assert names("status=approved") == [beta.name]
    assert names("category=money") == [alpha.name]
    assert names("name=alpha") == ["alpha"]
    assert names("search=FLIGHT cancel") == ["beta"]
    assert names("search=%25") == []
    assert names("agent_key=support") == ["beta", "alpha"]
    assert names("agent_key=sales") == []


def test_search_takes_ten_words_and_two_hundred_characters(world: World, operator: RestClient) -> None:
    words = [f"word{number}" for number in range(10)]
    skill = make_skill(world, description=" ".join(words))
    [row] = operator.get(f"skills/?search={'+'.join(words)}").body["results"]
    assert row["id"] == skill.pk
    assert operator.get(f"skills/?search={'a' * 200}").status == 200


@pytest.mark.parametrize("search", ["+".join("abcdefghijk"), "a" * 201, "a+" * 5000])
def test_search_for_more_words_than_anybody_types_is_refused(operator: RestClient, search: str) -> None:
    # Each word is three more conditions on every row.
    answer = operator.get(f"skills/?search={search}")
    assert (answer.status, answer.code) == (400, "invalid")
    assert answer.body["errors"] == {"search": ["Search for at most 10 words and 200 characters."]}


@pytest.mark.parametrize("ordering", ["", "&ordering=name", "&ordering=-updated_at"])
def test_pages_hold_every_row_once(world: World, operator: RestClient, ordering: str) -> None:
    wanted = {make_skill(world).pk for _ in range(7)}
    seen: list[int] = []
    page = operator.get(f"skills/?page_size=3{ordering}")
    for _ in range(3):
        seen += [row["id"] for row in page.body["results"]]
        if page.body["next"] is None:
            break
        page = operator.get("/" + page.body["next"].split("/", 3)[3])
    assert len(seen) == 7
    assert set(seen) == wanted
    assert page.body["previous"] is not None


@pytest.mark.slow
@pytest.mark.unmeasured
def test_page_is_never_longer_than_a_hundred(world: World, operator: RestClient) -> None:
    for _ in range(101):
        make_skill(world, actor=world.operator)
    assert len(operator.get("skills/").body["results"]) == 50
    assert len(operator.get("skills/?page_size=1000").body["results"]) == 100
