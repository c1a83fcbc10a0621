"""What steers and watches the stand-in: its scripts, the requests it keeps and the command that starts it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anthropic
import pytest

from apps.llm.model_backend import Json
from apps.standin.http_api.endpoint import REQUESTS_KEPT, MessagesEndpoint
from apps.standin.requests import ArrivedRequest
from tests.support.drivers.standin_http import HELLO, MODEL, call_standin, usage_of
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = pytest.mark.pure


@pytest.fixture
def client(base_url: str) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key="a-key", base_url=base_url, max_retries=0) as client:
        yield client


def test_script_is_followed_in_order_and_bound_steps_wait_for_their_words(base_url: str) -> None:
    steps: Json = [
        {"reply": {"text": "bound"}, "match": "lamp"},
        {"reply": {"text": "first"}},
        {"pass": True},
        {"reply": {"text": "last"}},
    ]
    assert call_standin(base_url, "POST", "/standin/script", steps) == (200, {"steps": 4})

    def told(text: str) -> Json:
        body = HELLO | {"messages": [{"role": "user", "content": text}]}
        _, message = call_standin(base_url, "POST", "/v1/messages", body, key="a-key")
        assert isinstance(message, dict)
        return message["content"]

    assert told("Hello") == [{"type": "text", "text": "first"}]
    assert told("My lamp") == [{"type": "text", "text": "bound"}]
    assert told("Hello") == [{"type": "text", "text": "Hello. How can I help you?"}]
    assert told("Hello") == [{"type": "text", "text": "last"}]
    assert call_standin(base_url, "GET", "/standin/script") == (200, {"steps": 0})


@pytest.mark.parametrize(
    "script",
    [
        {"reply": {"text": "x"}},
        None,
        [{}],
        ["x"],
        [{"pass": True, "fault": "timeout"}],
        [{"pass": True, "surprise": 1}],
        [{"pass": True, "seconds": "1"}],
        [{"reply": {}}],
        [{"tool": {"name": "x"}}],
        [{"tools": []}],
        [{"tools": [{"name": "x"}]}],
        [{"fault": "boredom"}],
    ],
)
def test_script_that_cannot_be_followed_is_refused(base_url: str, script: Json) -> None:
    assert call_standin(base_url, "POST", "/standin/script", script)[0] == 400


def test_script_calls_several_tools_in_one_answer(base_url: str) -> None:
    tools: Json = [{"name": "look", "arguments": {"at": "it"}}, {"name": "book", "arguments": {}}]
    call_standin(base_url, "POST", "/standin/script", [{"tools": tools}])
    _, message = call_standin(base_url, "POST", "/v1/messages", HELLO, key="a-key")
    assert isinstance(message, dict)
    assert message["stop_reason"] == "tool_use"
    assert isinstance(message["content"], list)
    called = [(block["name"], block["input"]) for block in message["content"] if isinstance(block, dict)]
    assert called == [("look", {"at": "it"}), ("book", {})]


def test_requests_are_kept_as_they_arrived_and_the_key_is_not(base_url: str, client: anthropic.Anthropic) -> None:
    message = client.messages.create(model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "Grüezi"}])
    _, requests = call_standin(base_url, "GET", "/standin/requests")
    assert isinstance(requests, list)
    (request,) = requests
    assert isinstance(request, dict)
    assert (request["path"], request["status"]) == ("/v1/messages", 200)
    assert "Grüezi" in str(request["body"])
    assert usage_of(request)["output_tokens"] == message.usage.output_tokens
    assert "a-key" not in json.dumps(requests)
    call_standin(base_url, "DELETE", "/standin/requests")
    assert call_standin(base_url, "GET", "/standin/requests") == (200, [])


def test_memory_of_requests_is_bounded() -> None:
    endpoint = MessagesEndpoint()
    arrived = ArrivedRequest("/v1/messages", {}, b"{}")
    for _ in range(REQUESTS_KEPT + 5):
        endpoint.plan_message(arrived)
    assert len(json.loads(endpoint.list_requests(arrived).chunks[0])) == REQUESTS_KEPT


@pytest.mark.slow
def test_hundred_waiting_calls_are_answered_together(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"pass": True, "seconds": 0.5}] * 100)

    def ask(_: int) -> int:
        return call_standin(base_url, "POST", "/v1/messages", HELLO, key="a-key")[0]

    with ThreadPoolExecutor(100) as pool:
        assert set(pool.map(ask, range(100), timeout=PATIENCE_SECONDS)) == {200}


def test_command_says_where_it_listens_and_follows_its_script(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"reply": {"text": "scripted"}}]')
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "apps.standin", "--port", "0", "--port-file", str(port_file)]
    command += ["--script", str(script)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.fullmatch(r"stand-in model listening on (http://127\.0\.0\.1:(\d+))\n", line)
            assert found is not None
            assert port_file.read_text() == f"{found.group(2)}\n"
            _, message = call_standin(found.group(1), "POST", "/v1/messages", HELLO, key="a-key")
            assert "scripted" in json.dumps(message)
        finally:
            process.terminate()
    assert process.returncode in {0, -15}


def test_command_refuses_a_script_it_cannot_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "apps.standin", "--script", str(tmp_path / "missing.json")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert ended.returncode == 2
    assert "The stand-in model cannot start:" in ended.stderr
