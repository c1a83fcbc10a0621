"""Switches by REST: whoever is limited to an agent stops that one."""

from apps.governance.policy.policy_table import Act
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_limit, make_neighbour

STOP = {"kind": "pause-agent", "reason": "It raves."}


def test_a_member_limited_to_one_agent_throws_its_switch_and_no_other(world: World, operator: RestClient) -> None:
    make_limit(world, Act.KILL_SWITCH_ACTIVATE, [world.agent.pk])
    make_neighbour(world)
    assert operator.post("switches/", STOP | {"agent_key": world.agent.key}).status == 201
    assert operator.post("switches/", STOP | {"agent_key": "billing"}).status == 403
    assert operator.post("switches/", STOP).status == 403


def test_a_member_limited_to_nowhere_throws_none(world: World, operator: RestClient) -> None:
    make_limit(world, Act.KILL_SWITCH_ACTIVATE)
    assert operator.post("switches/", STOP | {"agent_key": world.agent.key}).status == 403
