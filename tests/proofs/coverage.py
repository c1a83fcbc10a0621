"""`python -m tests.proofs.coverage`: every test once more, all of the product traced, and the floor of everything."""

import os
import subprocess
import sys

from apps.launcher.data_folders import PROJECT
from tests.conventions.coverage_floors import main as floors

REPORT = "coverage-everything.json"
COMMAND = (sys.executable, "-m", "pytest", "-q", "-n", "auto", "--cov", f"--cov-report=json:{REPORT}")


def main() -> int:
    tests = subprocess.run(COMMAND, cwd=PROJECT, env=os.environ | {"TRACE_EVERYTHING": "1"}, check=False)
    return tests.returncode or floors(["--everything", str(PROJECT / REPORT)])


if __name__ == "__main__":
    sys.exit(main())
