"""A web process that is told to stop while somebody follows what waits."""

import http.client
import time

import pytest

from tests.support.servers.running_product import RunningProduct
from tests.support.worlds.world import make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

# A stream would hold up the end for ten minutes, and the container's patience is over after some seconds.
SOON_SECONDS = 15


def test_readers_are_told_that_the_process_ends_and_it_waits_for_none_of_them(product: RunningProduct) -> None:
    world = make_world()
    connection = http.client.HTTPConnection(product.url.removeprefix("http://"), timeout=60)
    connection.request("GET", "/api/v1/review/stream/", headers={"Authorization": f"Bearer {world.token}"})
    answer = connection.getresponse()
    first_lines = b"".join(answer.readline() for _ in range(5))
    assert b"event: counts" in first_lines
    begun = time.monotonic()
    product.end("web")
    assert time.monotonic() - begun < SOON_SECONDS
    rest = answer.read().decode()
    assert rest.endswith('event: end\ndata: {"reason": "shutdown"}\n\n')
    connection.close()
