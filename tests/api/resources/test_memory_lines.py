"""The ledger of memory by REST: whose words each line is, for people."""

from datetime import UTC, datetime

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.memory.actions import amend_memory, amend_profile, create_profile
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import ReceivedTexts
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.worlds.world import World, make_block, make_memory, make_world

pytestmark = pytest.mark.django_db


def test_person_reads_whose_words_lines_are_and_what_replaced_them(world: World, operator: RestClient) -> None:
    # R080, R087
    memory, block = make_memory(world, "Lunch is at noon."), make_block(world)
    heard = ReceivedTexts(("Remember: lunch starts at one o'clock sharp.",))
    body = "Lunch starts at one o'clock sharp."
    amend_memory(memory, actor=world.bot, heard=heard, body=body, evidence={"conversation_id": 5})
    [new, old] = operator.get(f"memory-lines/?memory_id={memory.pk}").body["results"]
    assert (old["status"], old["superseded_by_id"], old["taint"]) == ("superseded", new["id"], "agent")
    assert (new["taint"], new["conversation_id"], new["first_version"]) == ("customer", 5, 2)
    assert (new["author"], new["agent_key"], new["block_id"]) == ("agent", "support", None)
    assert operator.get("memory-lines/?taint=customer").body["results"] == [new]
    [line] = operator.get("memory-lines/?taint=operator&status=active").body["results"]
    assert (line["block_id"], line["text"]) == (block.pk, "We ship to the EU only.")
    assert operator.get(f"memory-lines/{line['id']}/").body == line


def test_agent_does_not_read_the_ledger(world: World, bot: RestClient) -> None:
    make_memory(world)
    assert bot.get("memory-lines/").code == "not_permitted"


def test_the_day_of_a_line_that_waits_is_read_with_it_and_decided_on(world: World, operator: RestClient) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.get()
    amend_settings(settings, actor=world.admin, memory_review=MemoryReview.TAINTED)
    memory, line = make_memory(world), "Lunch starts at one o'clock sharp."
    dates = {line: LineDates(datetime(3000, 1, 1, tzinfo=UTC))}
    heard = ReceivedTexts(("Remember: lunch starts at one o'clock sharp.",))
    amend_memory(memory, actor=world.bot, heard=heard, body=line, dates=dates)
    [waiting] = operator.get("proposals/").body["results"]
    assert waiting["content"] == {"lines": [line], "valid_until": {line: "2999-12-31"}}
    path = f"proposals/{waiting['id']}/"
    shown = operator.get(path).body
    assert {"field": "valid_until", "base": None, "live": None, "after": {line: "2999-12-31"}} in shown["review"][
        "changes"
    ]
    yes = {"to": "applied", "version": shown["version"], "reviewed_sha256": shown["content_sha256"]}
    content = {"lines": [line], "valid_until": {line: "whenever"}}
    refused = operator.post(f"{path}transition/", {**yes, "content": content})
    assert (refused.status, "“whenever” is not a date." in str(refused.body)) == (400, True)
    assert operator.post(f"{path}transition/", yes).status == 200
    [standing] = operator.get(f"memory-lines/?memory_id={memory.pk}&status=active").body["results"]
    assert standing["valid_until"] == "3000-01-01T00:00:00Z"


def test_person_reads_whose_words_each_line_of_a_profile_is(
    world: World, operator: RestClient, bot: RestClient
) -> None:
    # R087, R161
    evidence = {"conversation_id": 5}
    values = {"notes": "Has a dog.", "preferences": "E-mail."}
    profile = create_profile("http:ada", actor=world.bot, values=values, evidence=evidence)
    amend_profile(profile, actor=world.operator, values={"notes": "Has two dogs."})
    path = f"profiles/{profile.pk}/lines/"
    new, old, other = operator.get(path).body
    assert (new["text"], new["field"], new["author"], new["taint"]) == (
        "Has two dogs.",
        "notes",
        world.operator.label,
        "operator",
    )
    assert (old["status"], old["superseded_by_id"], old["conversation_id"]) == ("superseded", new["id"], 5)
    assert (other["text"], other["taint"], other["author"]) == ("E-mail.", "customer", "agent")
    assert bot.get(path).code == "not_permitted"
    stranger = person_client(make_world().operator_user)
    assert stranger.get(path).status == 404


def test_a_line_of_a_profile_is_dated_by_people_alone(world: World, operator: RestClient, bot: RestClient) -> None:
    # R160, R161
    profile = create_profile("http:ada", actor=world.bot, values={"notes": "Wears a cast.", "preferences": ""})
    path = f"profiles/{profile.pk}/"
    line_dates = {"line": "Wears a cast.", "valid_until": "2030-01-01T00:00:00Z", "version": 1}
    assert operator.post(f"{path}set-line-dates/", line_dates).body["version"] == 2
    [line] = operator.get(f"{path}lines/").body
    assert (line["valid_until"], line["review_after"]) == ("2030-01-01T00:00:00Z", None)
    assert operator.post(f"{path}set-line-dates/", line_dates).code == "stale"
    assert operator.post(f"{path}set-line-dates/", {"line": "Other."}).status == 400
    assert bot.post(f"{path}set-line-dates/", {"line": "Wears a cast."}).code == "not_permitted"
