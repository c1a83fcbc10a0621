"""What a yes would reach, by REST: for people, while the proposal is open."""

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.personas.actions import propose_patch
from apps.personas.models import Persona
from apps.prompt.prompt_input import SEPARATOR
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import World, make_persona, make_skill, make_world


def make_draft_proposal(world: World) -> Proposal:
    make_persona(world)
    make_skill(world)
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).open().get()


def test_people_read_what_a_yes_would_reach(world: World, operator: RestClient) -> None:
    proposal = make_draft_proposal(world)
    answer = operator.get(f"proposals/{proposal.pk}/reach")
    assert answer.status == 200
    body = answer.body
    assert (body["agents"], body["agent_key"], body["sessions"], body["fetched"]) == (1, world.agent.key, 0, 0)
    [slot] = body["prompt"]["slots"]
    assert slot["slot"] == 3
    assert (slot["bytes_before"], slot["bytes_after"] > 0) == (0, True)
    assert body["prompt"]["bytes_added"] == slot["bytes_after"] + len(SEPARATOR)
    assert body["tokens_short"] == 0
    assert body["cost"]["once_micro_usd"] > 0


def test_an_agent_and_another_tenant_read_none_of_it(world: World, bot: RestClient) -> None:
    proposal = make_draft_proposal(world)
    assert bot.get(f"proposals/{proposal.pk}/reach").code == "not_permitted"
    assert person_client(make_world().operator_user).get(f"proposals/{proposal.pk}/reach").status == 404


def test_nothing_is_foreseen_of_what_is_decided_or_has_no_words_yet(world: World, operator: RestClient) -> None:
    proposal = make_draft_proposal(world)
    with acting_as(world.operator):
        persona = Persona.objects.get(agent=world.agent)
    patch = propose_patch(persona, actor=world.bot, text="Say hello first.")
    assert operator.get(f"proposals/{patch.pk}/reach").code == "conflict"
    approve_as_read(proposal, world.operator)
    assert operator.get(f"proposals/{proposal.pk}/reach").code == "conflict"
