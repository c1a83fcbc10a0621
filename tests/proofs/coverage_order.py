"""`python -m tests.proofs.coverage_order`: the kernel's floors of coverage hold whatever ran before and whatever chance picks."""

import os
import subprocess
import sys

from apps.launcher.data_folders import PROJECT
from tests.conventions.coverage_floors import main as floors

REPORT = "coverage-floors.json"
COMMAND = (
    *(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.support.run_twice_plugin", "-m", "kernel"),
    *("--cov", "--cov-config=tests/conventions/kernel.coveragerc", f"--cov-report=json:{REPORT}"),
)


def main() -> int:
    tests = subprocess.run(COMMAND, cwd=PROJECT, env=os.environ | {"PYTHONPATH": str(PROJECT)}, check=False)
    return tests.returncode or floors([str(PROJECT / REPORT)])


if __name__ == "__main__":
    sys.exit(main())
