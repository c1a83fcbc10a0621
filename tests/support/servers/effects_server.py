"""An outside system with effects that are counted: a loopback server in a process of its own.

`POST /keyed` recognises repeats by their `Idempotency-Key`; `POST /unsafe` has an effect each time; `GET /price` reads.
`POST /told` is a webhook's address; `POST /faults` sets the share of deliveries that it refuses, or takes without an answer.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.request import Request, urlopen

from apps.launcher.child_processes import wait_until
from apps.launcher.data_folders import PROJECT
from tests.support.servers.effects import Effects
from tests.support.timeouts import PATIENCE_SECONDS

LOOPBACK = "127.0.0.1"
# Longer than any client waits for a webhook's answer.
STALL_SECONDS = 11
# The kinds of faults at a webhook's address; the number of entries is the share of a kind.
KINDS = ("refuse",) * 5 + ("hang up",) * 4 + ("stall",)


class EffectsServer(ThreadingHTTPServer):
    """The server, with all effects since its start."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), _EffectsHandler)
        self.lock = Lock()
        self.keyed: Counter[str] = Counter()
        self.unsafe: Counter[str] = Counter()
        self.told: list[tuple[int, int]] = []
        self.faults = 0.0
        self.random = random.Random(1)

    def book(self, path: str, key: str) -> int:
        """Have the effect unless the key has had it already; return how often it happened so far."""
        with self.lock:
            if path == "/unsafe":
                self.unsafe[key] += 1
                return self.unsafe[key]
            if path == "/keyed" and not self.keyed[key]:
                self.keyed[key] += 1
            return self.keyed[key]

    def hear(self, payload: Mapping[str, Any]) -> None:  # Any: JSON of a webhook
        """Record a delivery, also a repeated one."""
        with self.lock:
            self.told.append((payload["conversation"]["id"], int(payload["id"])))

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of connections whose client is gone."""

    def fault(self) -> str:
        """Return the next fault, mostly none."""
        with self.lock:
            return self.random.choice(KINDS) if self.random.random() < self.faults else ""


class _EffectsHandler(BaseHTTPRequestHandler):
    server: EffectsServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # the library's name
        effects = {"keyed": self.server.keyed, "unsafe": self.server.unsafe, "told": self.server.told}
        self._send_json(effects if self.path == "/effects" else {"price": 20})

    def do_POST(self) -> None:  # the library's name
        sent = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/faults":
            self.server.faults = float(json.loads(sent)["share"])
            self._send_json({})
        elif self.path == "/told":
            self._receive_webhook(json.loads(sent))
        else:
            self._send_json({"booked": self.server.book(self.path, self.headers["idempotency-key"])})

    def _receive_webhook(self, payload: Mapping[str, Any]) -> None:  # Any: JSON of a webhook
        fault = self.server.fault()
        if fault == "refuse":
            self._send_json({}, HTTPStatus.SERVICE_UNAVAILABLE)
            return
        self.server.hear(payload)
        if fault == "hang up":
            self.close_connection = True
            return
        if fault == "stall":
            time.sleep(STALL_SECONDS)
        with suppress(OSError):
            self._send_json({})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Log nothing."""

    def _send_json(self, body: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def run_effects_server(folder: Path) -> Iterator[str]:
    """Run a server of its own; yield its base URL."""
    port_file = folder / "counter-port"
    command = [sys.executable, "-m", "tests.support.servers.effects_server", "--port-file", str(port_file)]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE) as child:
        try:
            assert wait_until(port_file.exists, PATIENCE_SECONDS, 0.02), "the counter did not start"
            yield f"http://{LOOPBACK}:{port_file.read_text()}"
        finally:
            child.kill()


def read_effects(url: str) -> Effects:
    """Return the effects so far."""
    with urlopen(Request(f"{url}/effects")) as answer:  # noqa: S310  # loopback
        counted: dict[str, Any] = json.load(answer)
    return Effects(counted["keyed"], counted["unsafe"], [(thread, delivery) for thread, delivery in counted["told"]])


def set_fault_share(url: str, share: float) -> None:
    """From now on let this share of the deliveries be refused, or taken without an answer."""
    urlopen(Request(f"{url}/faults", json.dumps({"share": share}).encode())).close()  # noqa: S310  # loopback


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.servers.effects_server")
    parser.add_argument("--port-file", type=Path, required=True)
    given = parser.parse_args()
    server = EffectsServer()
    written = given.port_file.with_suffix(".new")
    written.write_text(str(server.server_port))
    written.rename(given.port_file)
    Thread(target=server.serve_forever, daemon=True).start()
    # The parent process is gone when its pipe can no longer be written.
    sys.stdin.read()


if __name__ == "__main__":
    main()
