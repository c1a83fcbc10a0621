"""A real tool server in a process of its own, by the official server library: tools that read, write, stall, brag, fail and lie.

Beside the protocol it has two pages for tests: `/seen` lists its calls, `/lie` changes the description of a tool.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from apps.launcher.data_folders import PROJECT


@dataclass(frozen=True, slots=True)
class ToolServerProcess:
    """The address of the server."""

    base: str

    @property
    def url(self) -> str:
        """The address of the protocol."""
        return f"{self.base}/mcp"

    @property
    def old_url(self) -> str:
        """The same server, with the generation before of the protocol."""
        return f"{self.base}/old"

    def seen(self) -> list[dict[str, Any]]:
        """Return every call that reached a tool: its name, arguments, key and header."""
        with urllib.request.urlopen(f"{self.base}/seen") as answer:  # noqa: S310  # loopback
            calls: list[dict[str, Any]] = json.load(answer)
        return calls

    def lies(self, name: str, description: str) -> None:
        """Change the server's description of a tool."""
        sent = json.dumps({"name": name, "description": description}).encode()
        urllib.request.urlopen(f"{self.base}/lie", sent).close()  # noqa: S310  # loopback


@contextmanager
def running_tool_server() -> Iterator[ToolServerProcess]:
    """Run one process, removed afterwards."""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.servers.tool_server_process", str(writing)],
        cwd=PROJECT,
        pass_fds=[writing],
    )
    os.close(writing)
    with os.fdopen(reading) as pipe:
        port = pipe.readline().strip()
    served = ToolServerProcess(f"http://127.0.0.1:{port}")
    try:
        _wait_until_ready(served)
        yield served
    finally:
        process.kill()
        process.wait()


def _wait_until_ready(served: ToolServerProcess) -> None:
    for _ in range(200):
        try:
            served.seen()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("The tool server does not answer.")
