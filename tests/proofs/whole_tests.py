"""`python -m tests.proofs.whole_tests`: the tests that `make test` thins, whole."""

import os
import subprocess
import sys

from apps.launcher.data_folders import PROJECT

COMMAND = (sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", "whole or hypothesis")


def main() -> int:
    return subprocess.run(COMMAND, cwd=PROJECT, env=os.environ | {"WHOLE_TESTS": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
