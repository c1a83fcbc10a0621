"""Plain HTTP calls to the stand-in, for the tests that see it as a server."""

import json
import time
import urllib.error
import urllib.request
from typing import Any

from apps.llm.model_backend import Json, JsonObject
from tests.support.timeouts import PATIENCE_SECONDS

MODEL = "claude-opus-5-5"
HELLO: JsonObject = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "Hello"}]}


def call_standin(base_url: str, method: str, path: str, content: Json = None, *, key: str = "") -> tuple[int, Json]:
    headers = {"x-api-key": key} if key else {}
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(f"{base_url}{path}", data=body, method=method, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def usage_of(message: Json) -> JsonObject:
    assert isinstance(message, dict)
    usage = message["usage"]
    assert isinstance(usage, dict)
    return usage


def requests_of(base_url: str) -> list[JsonObject]:
    """Return the bodies of the calls so far, oldest first."""
    _, requests = call_standin(base_url, "GET", "/standin/requests")
    assert isinstance(requests, list)
    return [json.loads(str(request["body"])) for request in requests if isinstance(request, dict)]


def read_bill(base_url: str) -> dict[str, Any]:  # Any: figures, and sums of them by name
    _, content = call_standin(base_url, "GET", "/standin/bill")
    assert isinstance(content, dict)
    return content


def wait_for_figure(base_url: str, figure: str, count: int) -> None:
    """Wait until the stand-in counts so many."""
    last = time.monotonic() + PATIENCE_SECONDS
    while read_bill(base_url)[figure] != count and time.monotonic() < last:
        time.sleep(0.01)
    assert read_bill(base_url)[figure] == count
