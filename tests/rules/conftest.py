"""A running stand-in that each test finds as if nobody had used it."""

from collections.abc import Iterator

import pytest

from apps.standin.thread_server import running_standin
from tests.rules.standin_http import call


@pytest.fixture(scope="module")
def shared_url() -> Iterator[str]:
    with running_standin() as url:
        yield url


@pytest.fixture
def base_url(shared_url: str) -> str:
    for kept in ("controls", "requests", "bill"):
        call(shared_url, "DELETE", f"/standin/{kept}")
    return shared_url
