"""A month of the product's own requests, billed under the published cache rules, beside other strategies and a lower bound.

`python -m benchmarks.prompt_cache` prints the tables and fails when a goal is missed; `--quick` is for continuous integration.
"""

import sys

from benchmarks.prompt_cache.report import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
