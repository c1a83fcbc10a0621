"""A month of the product's own requests, billed under the published cache rules beside what others do and beside a bound.

`python benchmarks/prompt_cache.py` prints the tables and fails when a goal is missed; `--quick` is for continuous integration.
"""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, a script does not see the packages beside its own directory.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    runpy.run_module("benchmarks.prompt_cache_report", run_name="__main__")
