"""What a worker has loaded is not looked through again, and everything younger seldom."""

import subprocess
import sys

SCRIPT = """
import gc
from apps.runtime.worker.garbage_collection import BETWEEN_FULL_COLLECTIONS, freeze_loaded_objects

kept = [[] for _ in range(1_000)]
freeze_loaded_objects()
assert gc.get_freeze_count() > 1_000
young, middle, full = gc.get_threshold()
assert (young > 0, middle > 0, full) == (True, True, BETWEEN_FULL_COLLECTIONS)
"""


def test_what_is_loaded_is_set_aside_and_a_full_collection_is_rare() -> None:
    # In a process of its own: what is set aside stays so.
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)  # our own words
