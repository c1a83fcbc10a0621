"""Keeps the objects that a worker has loaded out of Python's garbage collection."""

import gc
from typing import Final

# How many collections of younger objects precede a full one. With Python's default, 2,000 waiting turns are scanned four times
# while their answers come in, a quarter of a second each.
BETWEEN_FULL_COLLECTIONS: Final = 100


def freeze_loaded_objects() -> None:
    """Exclude all present objects from later collections. They stay until the process ends.

    There are a million of them, and a collection that scans them all delays every turn by a quarter of a second. With many new
    turns Python runs one every few seconds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], BETWEEN_FULL_COLLECTIONS)
