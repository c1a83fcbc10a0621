"""The command that stops something, or lets it go on."""

import pytest

from apps.governance.database.actor_transaction import acting
from apps.kill_switches.models import KillSwitch
from tests.support.drivers.management_command import run
from tests.support.worlds.world import make_world

pytestmark = pytest.mark.django_db


def test_a_switch_is_thrown_listed_and_lifted_from_a_shell() -> None:
    world = make_world()
    tenant = ("--tenant", world.tenant.key)
    assert run("switch", *tenant).out == "Nothing is stopped.\n"
    thrown = run("switch", "pause-agent", *tenant, "--agent", "support", "--reason", "It swears.")
    assert thrown.failure == ""
    assert "Answering is paused for agent support. Since" in thrown.out
    assert thrown.out.endswith("UTC: It swears.\n")
    assert run("switch", "pause-agent", *tenant, "--agent", "support", "--lift").out == "Nothing is stopped.\n"


def test_the_command_says_who_threw_it_and_what_is_wrong() -> None:
    world = make_world()
    tenant = ("--tenant", world.tenant.key)
    person = ("--as", world.operator_user.username)
    assert "Say why" in run("switch", "freeze-learning", *tenant).failure
    assert "No such switch is on" in run("switch", "freeze-learning", *tenant, "--lift").failure
    run("switch", "freeze-learning", *tenant, *person, "--reason", "Look first.", "--channel", "sms")
    with acting(world.operator):
        [switch] = KillSwitch.objects.visible_to(world.operator).on()
    assert (switch.activated_by, switch.channel) == (world.operator.label, "sms")
