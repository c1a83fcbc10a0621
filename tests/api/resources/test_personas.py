"""Personas over REST: people write, the agent proposes (R015-R022, R025-R031)."""

from typing import Any

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Proposal
from apps.personas.models import Persona
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_neighbour, make_persona

ADA = {"agent_key": "support", "identity": "You are Ada.", "avoid": "Never promise dates."}


def patch_clearing_body(asker: RestClient, persona: Persona) -> dict[str, Any]:
    """What settles the patch that waits, from somebody who has just read it."""
    waiting = asker.get(f"personas/{persona.pk}/").body["proposed_patch_proposal"]
    return {"proposed_patch": None, "proposal_id": waiting["id"], "proposal_version": waiting["version"]}


def test_operator_writes_the_persona_of_an_agent(operator: RestClient, bot: RestClient) -> None:
    # R025, R029, R032
    made = operator.post("personas/", ADA)
    assert (made.status, made.body["status"], made.body["version"]) == (201, "active", 1)
    assert made.body["proposed_patch"] is None
    seen = bot.get(f"personas/{made.body['id']}/")
    assert seen.body["identity"] == "You are Ada."


def test_second_persona_of_an_agent_is_rejected(operator: RestClient) -> None:
    # R026
    assert operator.post("personas/", ADA).status == 201
    answer = operator.post("personas/", ADA)
    assert (answer.status, answer.code) == (409, "conflict")


@pytest.mark.parametrize("body", [ADA, {}, {"nonsense": 5}])
def test_agent_that_creates_a_persona_is_refused_and_not_confused(bot: RestClient, body: dict[str, object]) -> None:
    # R021: a clear 403, whatever is wrong with the body besides.
    answer = bot.post("personas/", body)
    assert (answer.status, answer.code) == (403, "not_permitted")
    assert "operator" in answer.body["detail"]


def test_persona_needs_an_agent_of_the_tenant(operator: RestClient) -> None:
    assert list(operator.post("personas/", {"identity": "x"}).body["errors"]) == ["agent_key"]
    assert list(operator.post("personas/", {**ADA, "agent_key": "nobody"}).body["errors"]) == ["agent_key"]


@pytest.mark.parametrize("field", ["identity", "style", "avoid", "defaults", "goals", "status"])
def test_agent_cannot_write_an_operator_field_of_its_persona(world: World, bot: RestClient, field: str) -> None:
    # R017, Z-14: nothing is left, so it is a refusal.
    persona = make_persona(world)
    before = bot.get(f"personas/{persona.pk}/").body
    answer = bot.patch(f"personas/{persona.pk}/", {field: "archived" if field == "status" else "Mine now."})
    assert (answer.status, answer.code) == (403, "nothing_permitted")
    assert answer.body["ignored_fields"] == [field]
    assert bot.get(f"personas/{persona.pk}/").body == before


def test_agent_update_keeps_what_it_may_write_and_says_what_was_stripped(world: World, bot: RestClient) -> None:
    # R019, Z-14
    persona = make_persona(world)
    answer = bot.patch(
        f"personas/{persona.pk}/", {"avoid": "Nothing.", "status": "archived", "proposed_patch": "Be brief."}
    )
    assert answer.status == 200
    assert answer.body["ignored_fields"] == ["avoid", "status"]
    assert answer.body["proposed_patch"] == "Be brief."
    assert (answer.body["avoid"], answer.body["status"]) == ("Never promise refund dates.", "active")


def test_proposed_patch_leaves_the_live_persona_untouched(world: World, bot: RestClient, operator: RestClient) -> None:
    # R030
    persona = make_persona(world)
    before = operator.get(f"personas/{persona.pk}/").body
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Say sorry first."})
    after = operator.get(f"personas/{persona.pk}/").body
    [proposal] = operator.get("proposals/").body["results"]
    waiting = {"id": proposal["id"], "version": proposal["version"]}
    assert after == {**before, "proposed_patch": "Say sorry first.", "proposed_patch_proposal": waiting}


def test_second_patch_revises_the_open_proposal(world: World, bot: RestClient, operator: RestClient) -> None:
    persona = make_persona(world)
    for text in ("First.", "Second."):
        assert bot.patch(f"personas/{persona.pk}/", {"proposed_patch": text}).body["proposed_patch"] == text
    [proposal] = operator.get("proposals/").body["results"]
    assert (proposal["content"], proposal["support_count"]) == ({"text": "Second."}, 2)


def test_agent_update_that_omits_proposed_patch_keeps_the_pending_one(world: World, bot: RestClient) -> None:
    # R022
    persona = make_persona(world)
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Pending."})
    assert bot.patch(f"personas/{persona.pk}/", {"identity": "Not mine."}).status == 403
    assert bot.get(f"personas/{persona.pk}/").body["proposed_patch"] == "Pending."


def test_operator_update_that_omits_proposed_patch_keeps_the_pending_one(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    persona = make_persona(world)
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Pending."})
    answer = operator.patch(f"personas/{persona.pk}/", {"style": "Brief."})
    assert (answer.body["style"], answer.body["proposed_patch"]) == ("Brief.", "Pending.")


@pytest.mark.parametrize("cleared", [None, ""])
def test_agent_cannot_clear_a_pending_patch(world: World, bot: RestClient, cleared: str | None) -> None:
    persona = make_persona(world)
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Pending."})
    assert bot.patch(f"personas/{persona.pk}/", {"proposed_patch": cleared}).status in {400, 403}
    assert bot.get(f"personas/{persona.pk}/").body["proposed_patch"] == "Pending."


def test_operator_applies_a_patch_by_editing_and_clearing(world: World, bot: RestClient, operator: RestClient) -> None:
    # R030
    persona = make_persona(world)
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Never name a carrier."})
    answer = operator.patch(
        f"personas/{persona.pk}/",
        {"goals": "Never name a carrier.", **patch_clearing_body(operator, persona), "version": persona.version},
    )
    assert (answer.status, answer.body["goals"], answer.body["proposed_patch"]) == (200, "Never name a carrier.", None)
    assert answer.body["proposed_patch_proposal"] is None
    [proposal] = operator.get("proposals/").body["results"]
    assert (proposal["state"], proposal["decided_by"]) == ("applied", f"operator:{world.operator_user.pk}")
    with acting_as(world.operator):
        acts = set(ChangeRecord.objects.values_list("act", flat=True))
    assert {"persona.propose", "persona.amend", "proposal.apply"} <= acts


def test_operator_declines_a_patch_with_a_reason(world: World, bot: RestClient, operator: RestClient) -> None:
    persona = make_persona(world)
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Swear more."})
    cleared = patch_clearing_body(operator, persona)
    assert list(operator.patch(f"personas/{persona.pk}/", cleared).body["errors"]) == ["reason"]
    answer = operator.patch(f"personas/{persona.pk}/", {**cleared, "reason": "Not our voice."})
    assert (answer.status, answer.body["proposed_patch"]) == (200, None)
    [proposal] = operator.get("proposals/?state=rejected").body["results"]
    assert proposal["decision_reason"] == "Not our voice."


DECISIONS = pytest.mark.parametrize("decision", [{"avoid": "Swearing."}, {"reason": "Not our voice."}])


@DECISIONS
@pytest.mark.parametrize("unsaid", ["proposal_id", "proposal_version"])
def test_patch_nobody_says_they_read_is_neither_applied_nor_declined(
    world: World, bot: RestClient, operator: RestClient, decision: dict[str, str], unsaid: str
) -> None:
    # R030
    persona = make_persona(world)
    before = bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Swear more."}).body
    body = {**patch_clearing_body(operator, persona), **decision}
    del body[unsaid]
    answer = operator.patch(f"personas/{persona.pk}/", body)
    assert (answer.status, answer.code, list(answer.body["errors"])) == (400, "invalid", [unsaid])
    assert "proposed_patch_proposal" in answer.body["detail"]
    assert operator.get(f"personas/{persona.pk}/").body["proposed_patch"] == before["proposed_patch"]


@DECISIONS
def test_patch_its_agent_revised_meanwhile_is_neither_applied_nor_declined(
    world: World, bot: RestClient, operator: RestClient, decision: dict[str, str]
) -> None:
    # R030
    persona = make_persona(world)
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Be brief."})
    read = patch_clearing_body(operator, persona)
    before = bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Swear more."}).body
    answer = operator.patch(f"personas/{persona.pk}/", {**read, **decision})
    assert (answer.status, answer.code, answer.body["current_version"]) == (409, "stale", read["proposal_version"] + 1)
    assert operator.get(f"personas/{persona.pk}/").body["avoid"] == persona.avoid
    assert operator.get(f"personas/{persona.pk}/").body["proposed_patch"] == before["proposed_patch"]


@DECISIONS
def test_decision_on_a_settled_patch_is_not_taken_for_the_next_one(
    world: World, bot: RestClient, operator: RestClient, decision: dict[str, str]
) -> None:
    # R030: the next one counts its versions from 1 again.
    persona = make_persona(world)
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Be brief."})
    read = patch_clearing_body(operator, persona)
    operator.patch(f"personas/{persona.pk}/", {**read, "reason": "No."})
    assert operator.patch(f"personas/{persona.pk}/", {**read, **decision}).code == "conflict"
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Swear more."})
    assert patch_clearing_body(operator, persona)["proposal_version"] == read["proposal_version"]
    assert operator.patch(f"personas/{persona.pk}/", {**read, **decision}).code == "conflict"
    row = operator.get(f"personas/{persona.pk}/").body
    assert (row["avoid"], row["proposed_patch"]) == (persona.avoid, "Swear more.")


def test_clearing_where_nothing_waits_changes_nothing(world: World, operator: RestClient) -> None:
    persona = make_persona(world)
    answer = operator.patch(f"personas/{persona.pk}/", {"proposed_patch": None})
    assert (answer.status, answer.body["version"]) == (200, persona.version)


def test_operator_may_propose_instead_of_writing(world: World, operator: RestClient) -> None:
    persona = make_persona(world)
    answer = operator.patch(f"personas/{persona.pk}/", {"proposed_patch": "Shorter greetings."})
    assert (answer.body["proposed_patch"], answer.body["version"]) == ("Shorter greetings.", persona.version)


def test_stale_update_is_refused_with_the_current_version(world: World, operator: RestClient) -> None:
    persona = make_persona(world)
    assert operator.patch(f"personas/{persona.pk}/", {"style": "Brief.", "version": 1}).body["version"] == 2
    answer = operator.patch(f"personas/{persona.pk}/", {"style": "Long.", "version": 1})
    assert (answer.status, answer.code, answer.body["current_version"]) == (409, "stale", 2)
    assert operator.get(f"personas/{persona.pk}/").body["style"] == "Brief."


def test_stale_proposal_of_an_agent_is_refused_too(world: World, bot: RestClient, operator: RestClient) -> None:
    persona = make_persona(world)
    operator.patch(f"personas/{persona.pk}/", {"style": "Brief."})
    answer = bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "x", "version": 1})
    assert (answer.status, answer.body["current_version"]) == (409, 2)


def test_put_wants_every_section(world: World, operator: RestClient) -> None:
    persona = make_persona(world)
    answer = operator.put(f"personas/{persona.pk}/", {"style": "Brief."})
    assert sorted(answer.body["errors"]) == ["avoid", "defaults", "goals", "identity"]
    whole = {"identity": "You are Bo.", "style": "", "avoid": "", "defaults": "", "goals": ""}
    assert operator.put(f"personas/{persona.pk}/", whole).body["identity"] == "You are Bo."


def test_row_sent_back_as_it_was_read_is_taken(world: World, operator: RestClient) -> None:
    persona = make_persona(world)
    read = operator.get(f"personas/{persona.pk}/").body
    answer = operator.put(f"personas/{persona.pk}/", {**read, "style": "Brief."})
    assert (answer.status, answer.body["style"]) == (200, "Brief.")
    assert answer.body["ignored_fields"] == [
        "agent_key",
        "created_at",
        "id",
        "proposed_patch_proposal",
        "taint",
        "updated_at",
    ]


def test_agent_may_put_with_the_one_field_it_writes(world: World, bot: RestClient) -> None:
    persona = make_persona(world)
    assert bot.put(f"personas/{persona.pk}/", {"proposed_patch": "Be brief."}).body["proposed_patch"] == "Be brief."


def test_operator_archives_and_brings_back(world: World, operator: RestClient) -> None:
    # R027
    persona = make_persona(world)
    archived = operator.patch(f"personas/{persona.pk}/", {"status": "archived", "style": "Brief.", "version": 1})
    assert (archived.body["status"], archived.body["style"]) == ("archived", "Brief.")
    assert operator.patch(f"personas/{persona.pk}/", {"status": "active"}).body["status"] == "active"


def test_people_list_the_personas_that_are_active(world: World, operator: RestClient) -> None:
    # R039
    neighbour = make_neighbour(world, "sales")
    ada, bo = make_persona(world), operator.post("personas/", {**ADA, "agent_key": neighbour.key}).body["id"]
    listed = operator.get("personas/?status=active").body["results"]
    assert {row["id"]: row["agent_key"] for row in listed} == {ada.pk: "support", bo: "sales"}
    operator.patch(f"personas/{ada.pk}/", {"status": "archived"})
    assert [row["id"] for row in operator.get("personas/?status=active").body["results"]] == [bo]


def test_persona_is_born_active_whatever_was_sent(operator: RestClient) -> None:
    answer = operator.post("personas/", {**ADA, "status": "archived", "proposed_patch": "x"})
    assert (answer.status, answer.body["status"]) == (201, "active")
    assert answer.body["ignored_fields"] == ["proposed_patch", "status"]


def test_agent_cannot_delete_its_persona(world: World, bot: RestClient) -> None:
    # R020
    persona = make_persona(world)
    answer = bot.delete(f"personas/{persona.pk}/")
    assert (answer.status, answer.code) == (403, "not_permitted")
    assert bot.get(f"personas/{persona.pk}/").body["status"] == "active"


def test_deleting_as_an_operator_archives(world: World, operator: RestClient) -> None:
    persona = make_persona(world)
    assert operator.delete(f"personas/{persona.pk}/").status == 204
    assert operator.get(f"personas/{persona.pk}/").body["status"] == "archived"


def test_refused_second_half_of_an_update_takes_the_first_back(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    # One request, one transaction: the section is not kept when the decision is refused.
    persona = make_persona(world)
    answer = operator.patch(f"personas/{persona.pk}/", {"style": "Brief.", "proposed_patch": "x" * 20_001})
    assert answer.status == 400
    answer = operator.patch(f"personas/{persona.pk}/", {"style": "Brief.", "identity": "x" * 20_001})
    assert (answer.status, list(answer.body["errors"])) == (400, ["identity"])
    assert operator.get(f"personas/{persona.pk}/").body["style"] == "Warm and concise."
    with acting_as(world.operator):
        assert not Proposal.objects.visible_to(world.operator).exists()
