"""What REST refuses before any act is asked stands in the tenant's books too, once."""

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Refusal
from apps.governance.proposals.actions import reject_proposal
from apps.personas.actions import propose_patch
from tests.support.drivers.rest_client import RestClient, bearer
from tests.support.worlds.filled_world import check_deferred_constraints, refuse_once
from tests.support.worlds.world import World, make_persona, make_skill

RefusalValues = tuple[str, str, str, int | None]


def refusals(world: World) -> list[RefusalValues]:
    with acting_as(world.operator):
        return list(Refusal.objects.order_by("id").values_list("act", "code", "subject_type", "subject_id"))


def test_a_body_of_which_nothing_is_permitted_is_one_refused_attempt(world: World, bot: RestClient) -> None:
    # R017, Z-14
    persona = make_persona(world)
    assert bot.patch(f"personas/{persona.pk}", {"style": "Brief."}).code == "nothing_permitted"
    assert refusals(world) == [("", "nothing_permitted", "personas.persona", persona.pk)]


def test_a_refused_act_is_one_refused_attempt(world: World, bot: RestClient) -> None:
    skill = make_skill(world)
    body = {"to": "approved", "reviewed_sha256": skill.content_sha256}
    assert bot.post(f"skills/{skill.pk}/transition", body).code == "not_permitted"
    assert [(act, code) for act, code, *_ in refusals(world)] == [("skill.approve", "not_permitted")]


def test_a_move_that_does_not_exist_is_one_refused_attempt(world: World, operator: RestClient) -> None:
    skill = make_skill(world, "deprecated")
    assert operator.patch(f"skills/{skill.pk}", {"status": "approved"}).code == "illegal_transition"
    assert refusals(world) == [("", "illegal_transition", "skills.skill", skill.pk)]


def test_a_write_to_another_tenants_row_stands_in_the_books_of_who_tried(
    world: World, other: World, operator: RestClient
) -> None:
    # R006: the neighbour's row and a row that never was are refused and kept in the same words.
    foreign = make_skill(other)
    for pk in (foreign.pk, 10**9):
        assert operator.patch(f"skills/{pk}", {"body": "Mine."}).code == "not_found"
    assert refusals(world) == [("", "not_found", "skills.skill", pk) for pk in (foreign.pk, 10**9)]
    assert refusals(other) == []


def test_a_read_that_finds_nothing_and_an_honest_mistake_are_no_attempts(world: World, operator: RestClient) -> None:
    skill = make_skill(world)
    assert operator.get("skills/1000000000").status == 404
    assert operator.patch(f"skills/{skill.pk}", {"body": 7}).status == 400
    assert operator.patch(f"skills/{skill.pk}", {"body": "New.", "version": 9}).status == 409
    assert operator.get("nowhere").status == 404
    assert bearer("pcp_unknown").delete(f"skills/{skill.pk}").status == 401
    assert refusals(world) == []


def test_what_is_for_people_alone_is_refused_to_an_agent_and_kept(world: World, bot: RestClient) -> None:
    assert bot.get("extractions").code == "not_permitted"
    assert refusals(world) == [("", "not_permitted", "learning.extraction", None)]


def test_people_read_the_books_and_their_links_and_agents_do_not(
    world: World, operator: RestClient, bot: RestClient
) -> None:
    # R017
    skill = make_skill(world)
    refuse_once(skill, world)
    [change] = operator.get(f"changes?act=skill.draft&subject_id={skill.pk}").body["results"]
    assert (change["subject_type"], change["actor_label"], change["version_after"]) == (
        "skills.skill",
        "agent:support",
        1,
    )
    assert change["position"] > 0
    assert len(change["link_sha256"]) == 64
    [refusal] = operator.get("refusals?code=not_permitted&actor_role=agent").body["results"]
    assert (refusal["act"], refusal["subject_id"]) == ("skill.approve", skill.pk)
    assert refusal["position"] > change["position"]
    assert operator.get(f"refusals/{refusal['id']}").body == refusal
    assert operator.get("refusals?act=skill.discard").body["results"] == []
    assert operator.patch(f"refusals/{refusal['id']}", {"code": "none"}).status == 405
    assert bot.get("changes").code == bot.get("refusals").code == "not_permitted"


def test_a_decided_proposal_has_a_receipt_for_people(world: World, operator: RestClient, bot: RestClient) -> None:
    proposal = propose_patch(make_persona(world), actor=world.bot, text="Say hello first.")
    assert operator.get(f"proposals/{proposal.pk}/receipt").code == "conflict"
    reject_proposal(proposal, actor=world.operator, reason="No.")
    check_deferred_constraints()
    document = operator.client.get(f"/api/v1/proposals/{proposal.pk}/receipt").content.decode()
    # Whoever opens the file reads it line by line, as `approval_receipt` prints it.
    assert document.startswith('{\n  "receipt": "approval",\n')
    receipt = operator.get(f"proposals/{proposal.pk}/receipt").body
    assert (receipt["tenant"], receipt["decision"]["state"]) == (world.tenant.key, "rejected")
    assert [change["act"] for change in receipt["changes"]] == ["persona.propose", "proposal.reject"]
    assert bot.get(f"proposals/{proposal.pk}/receipt").code == "not_permitted"
