"""`python -m apps.standin --port 0`: starts the stand-in model and prints its address."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from pathlib import Path

from apps.standin.http_api.endpoint import MessagesEndpoint
from apps.standin.http_api.script import BadScript, parse_script
from apps.standin.http_api.server import LOOPBACK, listening_socket, server_for


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        steps = parse_script(options.script.read_bytes()) if options.script else ()
        listener = listening_socket(options.port)
    except (OSError, BadScript) as error:
        sys.stderr.write(f"The stand-in model cannot start: {error}\n")
        return 2
    port = listener.getsockname()[1]
    if options.port_file:
        _write_atomically(options.port_file, f"{port}\n")
    sys.stdout.write(f"stand-in model listening on http://{LOOPBACK}:{port}\n")
    sys.stdout.flush()
    # A scripted disconnection is not an error of the server, so it is not reported.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    with contextlib.suppress(KeyboardInterrupt):
        server_for(MessagesEndpoint(steps)).run([listener])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m apps.standin", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="file that receives the port, written in one piece")
    parser.add_argument("--script", type=Path, help="JSON list of steps to answer with before the default behaviour")
    return parser


def _write_atomically(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.part")
    draft.write_text(text)
    draft.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
