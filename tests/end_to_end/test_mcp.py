"""The official client against the web process as it is deployed: its own event loop, lifespan and connections."""

import asyncio

import pytest

from tests.support.drivers.mcp_client import GENERATIONS, McpTestServer
from tests.support.servers.running_product import RunningProduct
from tests.support.worlds.world import make_memory, make_skill, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]
AT_ONCE = 20


@pytest.mark.parametrize("mode", GENERATIONS.values(), ids=GENERATIONS)
def test_an_agent_finds_a_skill_and_writes_its_memory(product: RunningProduct, mode: str) -> None:
    # R091, R078
    world = make_world()
    skill, memory = make_skill(world, "approved"), make_memory(world)
    mcp_server = McpTestServer(f"{product.url}/mcp")
    [line] = mcp_server.call(world.token, "list_skills", {"status": "approved"}, mode).data["results"]
    assert mcp_server.call(world.token, "get_skill", {"id": line["id"]}, mode).data["body"] == skill.body
    given = {"id": memory.pk, "version": memory.version, "body": "Most customers are in the EU and in Norway."}
    assert mcp_server.call(world.token, "update_memory", given, mode).data["version"] == memory.version + 1
    assert mcp_server.call(world.token, "update_memory", given, mode).code == "stale"
    assert mcp_server.post(Authorization="Bearer pcp_nobody").status_code == 401


def test_many_calls_at_once_are_each_their_own(product: RunningProduct) -> None:
    # R006: connections are shared by threads; whose a call is, is not.
    worlds = [make_world() for _ in range(4)]
    skills = {world.token: make_skill(world, "approved").pk for world in worlds}
    mcp_server = McpTestServer(f"{product.url}/mcp")

    async def every() -> list[tuple[str, list[int]]]:
        return await asyncio.gather(*(one(token) for token in list(skills) * (AT_ONCE // len(skills))))

    async def one(token: str) -> tuple[str, list[int]]:
        answer = await asyncio.to_thread(mcp_server.call, token, "list_skills")
        return token, [row["id"] for row in answer.data["results"]]

    assert {(token, tuple(ids)) for token, ids in asyncio.run(every())} == {
        (token, (skill,)) for token, skill in skills.items()
    }
