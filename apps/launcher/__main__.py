"""`python -m apps.launcher demo` and `python -m apps.launcher run -- COMMAND`."""

import argparse
import sys

from apps.launcher.child_processes import CannotStart
from apps.launcher.data_folders import default_home
from apps.launcher.demo import run_demo
from apps.launcher.environment import owner_environment, read_environment, run_databases, write_environment
from apps.launcher.supervisor import HOST, PartStopped, run_in_foreground, stop_on_signals

WEB_PORT = 8000


def main(words: list[str]) -> int:
    arguments = _parser().parse_args(words)
    try:
        with stop_on_signals():
            if arguments.act == "demo":
                return run_demo(default_home(), once=arguments.once, preferred_port=arguments.port)
            return run_command(arguments.command)
    except (CannotStart, PartStopped) as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        return 130


def run_command(command: list[str]) -> int:
    """Run one command with the databases running. Databases started by this call stop after the command."""
    home = default_home()
    earlier = read_environment(home)
    with run_databases(home) as parts:
        console_url = earlier.get("CONSOLE_URL", f"http://{HOST}:{WEB_PORT}")
        standin_url = earlier.get("ANTHROPIC_BASE_URL")
        env = write_environment(home, parts, console_url=console_url, standin_url=standin_url)
        return run_in_foreground(command, {**env, **owner_environment(parts)})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m apps.launcher", description="Run Preceptor on this machine.")
    acts = parser.add_subparsers(dest="act", required=True)
    demo = acts.add_parser("demo", help="start everything, play the story, stay until Ctrl-C")
    demo.add_argument("--once", action="store_true", help="stop after the story and exit with its code")
    demo.add_argument("--port", type=int, default=WEB_PORT, help="preferred port of the console (default: %(default)s)")
    run = acts.add_parser("run", help="run a command beside the databases: run -- python manage.py shell")
    run.add_argument("command", nargs="+", metavar="COMMAND")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
