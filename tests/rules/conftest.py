"""A running stand-in that each test finds without a script and without remembered requests."""

from collections.abc import Iterator

import pytest

from apps.llm.standin.running import running_standin
from tests.rules.standin_http import call


@pytest.fixture(scope="module")
def shared_url() -> Iterator[str]:
    with running_standin() as url:
        yield url


@pytest.fixture
def base_url(shared_url: str) -> str:
    call(shared_url, "POST", "/standin/script", [])
    call(shared_url, "DELETE", "/standin/requests")
    return shared_url
