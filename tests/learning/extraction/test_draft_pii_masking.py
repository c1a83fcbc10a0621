"""Names of senders and of profiles, and a tenant's own numbers, are no part of a draft; a reviewer is told what was masked."""

import pytest

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.learning.extraction.pipeline import extract_conversation
from apps.skills.models import Skill
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.learning.extraction.test_extraction import RUNBOOK_BODY, runbook
from tests.support.drivers.conversation import CUSTOMER, reply, run_turn, send_customer_message, tool
from tests.support.drivers.rest_client import person_client
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_profile, make_world

pytestmark = pytest.mark.django_db


def settings_of(world: World) -> TenantSettings:
    with acting_as(world.operator):
        return TenantSettings.objects.visible_to(world.operator).get()


def make_solved_conversation(world: World, standin: StandIn) -> Conversation:
    """A conversation of two turns with a tool call, whose sender gave a name."""
    standin.play(tool("update_customer_profile", preferences="By letter."), reply("Done."), reply("Welcome."))
    for text in ("Please help me", "Thank you"):
        event = send_customer_message(world, text, sender_name="Odalys Quimby")
        run_turn(world, event, standin.backend)
    return resolve_conversation(event.conversation, actor=world.bot, outcome=Conversation.Outcome.SOLVED)


def test_what_sender_profile_and_settings_tell_is_masked_and_counted(world: World, standin: StandIn) -> None:
    # R115
    amend_settings(settings_of(world), actor=world.admin, pii_patterns="policy: POL-####")
    make_profile(world, CUSTOMER, notes="Name: Zephyrine Okonkwo")
    conversation = make_solved_conversation(world, standin)
    description = "Greet Odalys Quimby or Zephyrine Okonkwo about POL-1234."
    standin.play(runbook(name="greet", description=description, body=RUNBOOK_BODY))
    found = extract_conversation(conversation.pk, actor=world.system, backend=standin.backend)
    assert found is not None
    assert found.masked_counts == {"name": 2, "policy": 1}
    with acting_as(world.operator):
        [draft] = Skill.objects.visible_to(world.operator).drafts()
    assert draft.description == "Greet [name] or [name] about [policy]."
    [row] = person_client(world.operator_user).get("extractions/").body["results"]
    assert row["masked_counts"] == {"name": 2, "policy": 1}


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.mark.parametrize("written", ["order: #{9,2}####", "policy POL-####", "words: @@@@@@", "x" * 3000])
def test_a_pattern_that_is_none_is_refused_with_the_reason(world: World, written: str) -> None:
    with pytest.raises(Invalid):
        amend_settings(settings_of(world), actor=world.admin, pii_patterns=written)
    assert settings_of(world).pii_patterns == ""
