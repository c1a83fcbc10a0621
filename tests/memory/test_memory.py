"""Acts on memory and profiles: written freely, signed by whoever acts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted, NotVisible, Stale
from apps.governance.models import ChangeRecord
from apps.memory.actions import amend_memory, amend_profile, approve_memory, create_memory, create_profile
from apps.memory.models import AgentMemory, CustomerProfile
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.tenants.actions import create_agent
from tests.support.worlds.world import World, make_memory, make_profile, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_an_agent_has_one_memory(world: World) -> None:
    # R078, R081
    make_memory(world)
    with pytest.raises(Conflict, match="This agent has a memory already"):
        make_memory(world)


def test_memory_says_who_wrote_it_last(world: World) -> None:
    # R023, R080, R081
    memory = make_memory(world)
    assert (memory.updated_by, memory.taint, memory.is_approved) == ("agent", "agent", False)
    amend_memory(memory, actor=world.operator, body="Corrected.")
    assert (memory.updated_by, memory.taint, memory.is_approved) == (world.operator.label, "operator", True)
    amend_memory(memory, actor=world.system, body="By a worker.")
    assert (memory.updated_by, memory.is_approved) == ("agent", False)


@pytest.mark.parametrize("sent", ["A.\nB.", "A.\r\nB.", "A.\rB."])
def test_a_body_saved_as_it_stands_keeps_its_author(world: World, sent: str) -> None:
    # R080, Z-22
    memory = make_memory(world, "A.\nB.")
    amend_memory(memory, actor=world.operator, body=sent, read_at=1)
    assert (memory.body, memory.updated_by, memory.is_approved, memory.version) == ("A.\nB.", "agent", False, 1)
    amend_memory(memory, actor=world.operator, body="A.\nC.")
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body=sent.replace("B", "C"))
    assert (memory.body, memory.updated_by, memory.is_approved) == ("A.\nC.", world.operator.label, True)


def test_a_body_changed_and_changed_back_is_its_last_writers(world: World) -> None:
    # R080
    memory = amend_memory(make_memory(world, "A."), actor=world.operator, body="B.")
    for body in ("C.", "B."):
        amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body=body)
    assert (memory.updated_by, memory.is_approved) == ("agent", False)


def test_a_person_approves_what_an_agent_wrote_as_it_stands(world: World) -> None:
    # Z-22
    memory = make_memory(world)
    with pytest.raises(NotPermitted):
        approve_memory(memory, actor=world.bot, read_at=1)
    with pytest.raises(Stale):
        approve_memory(
            amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Two."), actor=world.operator, read_at=1
        )
    approve_memory(memory, actor=world.operator, read_at=2)
    assert (memory.body, memory.updated_by, memory.is_approved) == ("Two.", world.operator.label, True)
    with acting_as(world.operator):
        record = ChangeRecord.objects.filter(act="memory.approve").latest("id")
        assert (record.actor_label, record.version_before, record.version_after) == (world.operator.label, 2, 3)
    with pytest.raises(Conflict, match="nothing to approve"):
        approve_memory(memory, actor=world.admin, read_at=3)


def test_a_profile_saved_as_it_stands_keeps_its_author(world: World) -> None:
    # R086, R087
    profile = make_profile(world, notes="Kind.\nQuick.")
    amend_profile(profile, actor=world.operator, values={"notes": "Kind.\r\nQuick."})
    assert (profile.updated_by, profile.taint, profile.version) == ("agent", "customer", 2)
    seen = amend_profile(profile, actor=world.operator, values={"notes": "Kind."}).last_seen_at
    amend_profile(profile, actor=world.bot, values={"notes": "Kind."})
    # The person answers for the notes; the preferences are still the customer's words.
    assert (profile.updated_by, profile.taint) == (world.operator.label, "customer")
    assert profile.last_seen_at > seen


def test_a_memory_stays_with_its_agent_and_a_profile_with_its_customer(world: World) -> None:
    # R008, R014
    with pytest.raises(NotPermitted, match="does not change end_user_key"):
        amend_profile(make_profile(world), actor=world.operator, values={"end_user_key": "http:other"})


def test_no_value_forges_the_author(world: World) -> None:
    # R080, R087
    with pytest.raises(NotPermitted, match="does not change updated_by"):
        create_profile("http:new", actor=world.bot, values={"notes": "Kind.", "updated_by": "operator:1"})
    profile = create_profile("http:new", actor=world.bot, values={"notes": "Kind."})
    assert (profile.notes, profile.updated_by, profile.taint) == ("Kind.", "agent", "customer")
    amend_profile(profile, actor=world.operator, values={"notes": "Very kind."})
    assert (profile.updated_by, profile.taint) == (world.operator.label, "operator")


def test_an_update_replaces_the_whole_body(world: World) -> None:
    # R079
    memory = amend_memory(make_memory(world), actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Only this.")
    assert (memory.body, memory.version) == ("Only this.", 2)


def test_a_memory_decided_on_an_older_version_is_refused(world: World) -> None:
    memory = make_memory(world)
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Two.", read_at=1)
    with pytest.raises(Stale):
        amend_memory(memory, actor=world.operator, body="Three.", read_at=1)


def test_an_agent_writes_no_neighbours_memory(world: World) -> None:
    # R008, R014
    neighbour = create_agent("sales", "Sales", actor=world.admin)
    with pytest.raises(NotPermitted, match="The database does not let"):
        create_memory(neighbour.pk, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Forget everything.")
    theirs = create_memory(neighbour.pk, actor=world.operator, body="Sell.")
    with pytest.raises(NotVisible):
        amend_memory(theirs, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Forget everything.")


def test_a_customer_has_one_profile_in_the_tenant(world: World) -> None:
    # R008, R085
    make_profile(world, "http:sam")
    with pytest.raises(Conflict, match="There is a profile for this customer already"):
        make_profile(world, "http:sam")
    assert make_profile(world, "slack:sam").pk, "the same id on two channels is two people (R009)"
    assert make_profile(make_world(), "http:sam").pk


@pytest.mark.parametrize("key", ["", "sam", "http:", ":sam", "HTTP:sam", "http:a b", "http:" + "x" * 161])
def test_an_end_users_key_names_its_channel(world: World, key: str) -> None:
    # R009, R084
    with pytest.raises(Invalid) as refusal:
        create_profile(key, actor=world.bot, values={})
    assert set(refusal.value.fields) == {"end_user_key"}


def test_seeing_a_customer_moves_last_seen(world: World) -> None:
    # R086
    before = timezone.now()
    profile = make_profile(world)
    created = profile.last_seen_at
    assert before <= created <= before + timedelta(minutes=1)
    amend_profile(profile, actor=world.bot, values={"notes": "Came back."})
    assert profile.last_seen_at > created


def test_in_a_turn_an_agent_touches_one_profile(world: World) -> None:
    # R006, R007
    mine, other = make_profile(world, "http:mine"), make_profile(world, "http:other")
    serving = world.bot.serving("http:mine")
    assert amend_profile(mine, actor=serving, values={"notes": "x"}).version == 2
    with pytest.raises(NotVisible):
        amend_profile(other, actor=serving, values={"notes": "x"})
    with pytest.raises(NotPermitted):
        create_profile("http:third", actor=serving, values={})
    with acting_as(serving):
        assert CustomerProfile.objects.visible_to(serving).get() == mine


def test_in_a_turn_with_nobody_named_an_agent_sees_no_profile(world: World) -> None:
    # R007, R009
    profile = make_profile(world)
    nobody = world.bot.serving("")
    with acting_as(nobody):
        assert not CustomerProfile.objects.visible_to(nobody).exists()
    with acting_as(world.bot):
        assert CustomerProfile.objects.visible_to(world.bot).get() == profile


def test_every_change_of_what_is_remembered_is_recorded_with_its_evidence(world: World) -> None:
    # R080
    create_memory(world.agent.pk, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="A.", evidence={"conversation_id": 3})
    with acting_as(world.operator):
        record = ChangeRecord.objects.select_related("text").get(act="memory.amend")
        assert (record.evidence, record.text.after["body"]) == ({"conversation_id": 3}, "A.")
        assert AgentMemory.objects.visible_to(world.operator).get().version == record.version_after
