"""The command that stops something, or lets it go on."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.kill_switches.models import KillSwitch
from tests.support.drivers.management_command import run_command
from tests.support.worlds.world import make_world

pytestmark = pytest.mark.django_db


def test_a_kill_switch_is_activated_listed_and_resumed() -> None:
    world = make_world()
    tenant = ("--tenant", world.tenant.key)
    assert run_command("kill_switch", *tenant).out == "Nothing is stopped.\n"
    activated = run_command("kill_switch", "pause-agent", *tenant, "--agent", "support", "--reason", "It swears.")
    assert activated.failure == ""
    assert "Answering is paused for agent support. Since" in activated.out
    assert activated.out.endswith("UTC: It swears.\n")
    assert (
        run_command("kill_switch", "pause-agent", *tenant, "--agent", "support", "--resume").out
        == "Nothing is stopped.\n"
    )


def test_the_command_says_who_threw_it_and_what_is_wrong() -> None:
    world = make_world()
    tenant = ("--tenant", world.tenant.key)
    person = ("--as", world.operator_user.username)
    assert "Say why" in run_command("kill_switch", "freeze-learning", *tenant).failure
    assert "No such switch is on" in run_command("kill_switch", "freeze-learning", *tenant, "--resume").failure
    run_command("kill_switch", "freeze-learning", *tenant, *person, "--reason", "Look first.", "--channel", "sms")
    with acting_as(world.operator):
        [switch] = KillSwitch.objects.visible_to(world.operator).on()
    assert (switch.activated_by, switch.channel) == (world.operator.label, "sms")
