"""The stand-in model for tests that need no separate process: a thread, the vendor's SDK in front of it, scripts by HTTP."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

import pytest

from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.standin.thread_server import run_standin_thread
from tests.support.drivers.standin_http import call_standin


@dataclass(frozen=True)
class StandIn:
    """A model with a script for its next steps, and a list of its requests."""

    url: str
    backend: AnthropicBackend

    def play(self, *steps: dict[str, object]) -> None:
        """Do these steps next, in order, instead of answering as usual."""
        self._request("POST", "/standin/script", json.dumps(steps).encode())

    def requests(self) -> list[dict[str, Any]]:  # Any: bodies of the Messages API as they came
        """Return the bodies of the calls so far, oldest first."""
        return [json.loads(kept["body"]) for kept in json.loads(self._request("GET", "/standin/requests"))]

    def advance(self, seconds: int) -> None:
        """Let time pass for the model's cache only."""
        self._request("POST", "/standin/clock", json.dumps({"advance_seconds": seconds}).encode())

    def open_bill(self) -> None:
        """Start a new bill."""
        self._request("DELETE", "/standin/bill")

    def bill(self) -> dict[str, Any]:  # Any: JSON as the stand-in shows it
        """Return the bill since then."""
        bill: dict[str, Any] = json.loads(self._request("GET", "/standin/bill"))
        return bill

    def forget(self) -> None:
        """Drop the requests, script, faults and delays of another test."""
        self._request("DELETE", "/standin/requests")
        self._request("DELETE", "/standin/controls")

    def _request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        with urlopen(Request(self.url + path, data=body, method=method)) as answer:  # noqa: S310  # loopback
            content: bytes = answer.read()
        return content


@pytest.fixture(scope="session")
def standing_in() -> Iterator[StandIn]:
    """Run one server for the whole run."""
    with run_standin_thread() as url:
        backend = AnthropicBackend("test", base_url=url)
        yield StandIn(url, backend)
        backend.close()


@pytest.fixture
def standin(standing_in: StandIn) -> StandIn:
    """Return the server, reset."""
    standing_in.forget()
    # The tools alone are long enough to be cached, and the same in every test.
    standing_in.advance(2 * 60 * 60)
    return standing_in


@pytest.fixture(scope="module")
def shared_url() -> Iterator[str]:
    """Yield the address of a running stand-in that the tests of a module share."""
    with run_standin_thread() as url:
        yield url


@pytest.fixture
def base_url(shared_url: str) -> str:
    """Return the address of the shared stand-in, reset."""
    for kept in ("controls", "requests", "bill"):
        call_standin(shared_url, "DELETE", f"/standin/{kept}")
    return shared_url
