"""`checkpoint` and `restore`: a dry run unless told otherwise, as a named member, and nonsense refused with a sentence."""

import re
from datetime import UTC, timedelta

import pytest
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.personas.actions import amend_persona
from apps.personas.models import Persona
from apps.restore.models import Checkpoint
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.models import TenantSettings
from tests.restore.restore_scenario import get_only_row
from tests.support.drivers.management_command import CommandOutput, run_command
from tests.support.worlds.world import World, make_persona, make_profile, make_skill, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def restore(world: World, *words: str, operator: str = "operator") -> CommandOutput:
    return run_command(
        "restore", "--tenant", world.tenant.key, "--as", f"{operator}@{world.tenant.key}.example", *words
    )


def checkpoint(world: World, *words: str) -> CommandOutput:
    return run_command("checkpoint", "--tenant", world.tenant.key, *words)


def test_without_apply_the_plan_is_printed_and_nothing_is_done(world: World) -> None:
    persona = make_persona(world, style="Brief.")
    moment = timezone.now().isoformat()
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    make_skill(world)
    seen = restore(world, "--agent", "support", "--at", moment)
    assert seen.failure == ""
    assert "Agent support as at" in seen.out
    assert "1 acts, 1 things are left unchanged." in seen.out
    assert re.search(r"persona.amend +Persona of agent support: Change style", seen.out)
    assert "keeps waiting" in seen.out
    assert get_only_row(world, Persona).style == "Rhyming."


@pytest.mark.slow
def test_with_apply_the_plan_is_carried_out_and_leads_back_by_a_checkpoint(world: World) -> None:
    persona = make_persona(world, style="Brief.")
    made = checkpoint(world, "Before the sale", "--agent", "support", "--reason", "The sale begins.")
    number = re.findall(r"Checkpoint (\d+): Before the sale", made.out)[0]
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    seen = restore(world, "--agent", "support", "--checkpoint", number, "--apply")
    assert "Done: 1 acts." in seen.out
    assert get_only_row(world, Persona).style == "Brief."
    before = re.findall(r"The earlier state is checkpoint (\d+)\.", seen.out)[0]
    assert "Done: 1 acts." in restore(world, "--agent", "support", "--checkpoint", before, "--apply").out
    assert get_only_row(world, Persona).style == "Rhyming."


def test_one_row_goes_back_to_a_version(world: World) -> None:
    persona = make_persona(world, style="Brief.")
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    seen = restore(world, "--row", f"personas.persona:{persona.pk}", "--to-version", "1", "--apply")
    assert f"Persona {persona.pk} as in version 1: 1 acts" in seen.out
    assert get_only_row(world, Persona).style == "Brief."
    assert "checkpoint" not in seen.out


def test_the_whole_tenant_goes_back_with_profiles_if_asked(world: World) -> None:
    moment = timezone.now().isoformat()
    make_profile(world)
    assert "0 acts" in restore(world, "--all", "--at", moment).out
    assert "profile.amend" in restore(world, "--all", "--at", moment, "--with-profiles").out


def test_a_time_without_an_offset_is_by_the_tenants_clock(world: World) -> None:
    amend_settings(get_only_row(world, TenantSettings), actor=world.admin, timezone="Asia/Tokyo")
    then = (timezone.now() - timedelta(hours=1)).astimezone(UTC)
    local = (then + timedelta(hours=9)).replace(tzinfo=None).isoformat(timespec="seconds")
    assert checkpoint(world, "An hour ago", "--at", local).failure == ""
    with acting_as(world.system):
        assert Checkpoint.objects.get().moment == then.replace(microsecond=0)


def test_who_lacks_a_right_sees_which_and_restores_nothing(world: World) -> None:
    moment = timezone.now().isoformat()
    amend_agent(world.agent, actor=world.admin, title="Changed")
    seen = restore(world, "--agent", "support", "--at", moment, "--apply")
    assert "missing permission   agent.amend, field title" in seen.out
    assert "Ask an admin of the tenant for them" in seen.failure
    assert "Done" in restore(world, "--agent", "support", "--at", moment, "--apply", operator="admin").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--agent", "support", "--at", "yesterday"),
            "yesterday is not a date and time. Write it like 2026-05-09T14:34",
        ),
        (("--agent", "support", "--at", "2026-02-31T10:00"), "there is no such moment"),
        (("--agent", "support", "--at", "0001-01-01T00:00+14:00"), "there is no such moment"),
        (("--agent", "support", "--at", "2999-01-01"), "is in the future"),
        (("--agent", "sales", "--at", "2026-01-01"), "no agent “sales”"),
        (("--agent", "support", "--checkpoint", "99999"), "no checkpoint 99999"),
        (("--agent", "support", "--at", "2026-01-01", "--with-profiles"), "only with --all"),
        (("--row", "personas.persona:1", "--at", "2026-01-01"), "--to-version together"),
        (("--agent", "support", "--to-version", "1"), "--to-version together"),
        (("--row", "personas.persona", "--to-version", "1"), "such as skills.skill:12"),
        (("--row", "nothing", "--to-version", "1"), "such as skills.skill:12"),
        (("--row", "tenants.user:1", "--to-version", "1"), "such as skills.skill:12"),
        (("--row", "personas.persona:999999", "--to-version", "1"), "There is no version 1"),
        (("--all",), "one of the arguments --at --checkpoint --to-version is required"),
        (("--at", "2026-01-01"), "one of the arguments --agent --row --all is required"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(world: World, words: tuple[str, ...], message: str) -> None:
    assert message in restore(world, *words).failure


def test_a_checkpoint_of_one_agent_does_not_restore_the_others(world: World) -> None:
    number = re.findall(r"Checkpoint (\d+)", checkpoint(world, "Mine", "--agent", "support").out)[0]
    assert "is of one agent" in restore(world, "--all", "--checkpoint", number).failure


def test_a_checkpoint_lies_in_the_past_and_is_made_by_a_member_or_the_system(world: World) -> None:
    assert "is in the future" in checkpoint(world, "Soon", "--at", "2999-01-01").failure
    assert "blank" in checkpoint(world, "").failure
    assert "is not an active member" in checkpoint(world, "Mine", "--as", "nobody").failure
    assert checkpoint(world, "Mine", "--as", world.operator_user.username).failure == ""
    with acting_as(world.system):
        assert Checkpoint.objects.get().created_by == world.operator.label
