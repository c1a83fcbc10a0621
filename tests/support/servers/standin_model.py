"""The stand-in model for tests that need no process of their own: a thread, the vendor's SDK before it, scripts by HTTP."""

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
    """A model that can be told what to do next, and asked what it was sent."""

    url: str
    backend: AnthropicBackend

    def play(self, *steps: dict[str, object]) -> None:
        """Do these next, in their order, instead of answering as always."""
        self._request("POST", "/standin/script", json.dumps(steps).encode())

    def requests(self) -> list[dict[str, Any]]:  # Any: bodies of the Messages API as they came
        """The bodies of the calls so far, oldest first."""
        return [json.loads(kept["body"]) for kept in json.loads(self._request("GET", "/standin/requests"))]

    def advance(self, seconds: int) -> None:
        """Let time pass for the model's cache, and for nothing else."""
        self._request("POST", "/standin/clock", json.dumps({"advance_seconds": seconds}).encode())

    def open_bill(self) -> None:
        """Bill from here on anew."""
        self._request("DELETE", "/standin/bill")

    def bill(self) -> dict[str, Any]:  # Any: JSON as the stand-in shows it
        """What was billed since."""
        bill: dict[str, Any] = json.loads(self._request("GET", "/standin/bill"))
        return bill

    def forget(self) -> None:
        """Neither requests nor script of another test, nor its faults and delays."""
        self._request("DELETE", "/standin/requests")
        self._request("DELETE", "/standin/controls")

    def _request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        with urlopen(Request(self.url + path, data=body, method=method)) as answer:  # noqa: S310  # loopback
            content: bytes = answer.read()
        return content


@pytest.fixture(scope="session")
def standing_in() -> Iterator[StandIn]:
    """One server for the whole run."""
    with run_standin_thread() as url:
        backend = AnthropicBackend("test", base_url=url)
        yield StandIn(url, backend)
        backend.close()


@pytest.fixture
def standin(standing_in: StandIn) -> StandIn:
    """The server as if nobody had used it."""
    standing_in.forget()
    # The tools alone are long enough to be cached, and the same in every test.
    standing_in.advance(2 * 60 * 60)
    return standing_in


@pytest.fixture(scope="module")
def shared_url() -> Iterator[str]:
    """The address of a running stand-in that the tests of a module share."""
    with run_standin_thread() as url:
        yield url


@pytest.fixture
def base_url(shared_url: str) -> str:
    """The same, as if nobody had used it."""
    for kept in ("controls", "requests", "bill"):
        call_standin(shared_url, "DELETE", f"/standin/{kept}")
    return shared_url
