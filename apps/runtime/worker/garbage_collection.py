"""What a worker has loaded, out of the way of Python's garbage collector."""

import gc
from typing import Final

# So many collections of what is younger before one of everything: by Python's own, 2,000 turns that wait are looked through four
# times while their answers come in, a quarter of a second each.
BETWEEN_FULL_COLLECTIONS: Final = 100


def freeze_loaded_objects() -> None:
    """Have no later collection look through what is here now; it stays until the process ends.

    It is a million objects, and a collection that looks at all of them holds every turn up for a quarter of a second. With many
    new turns Python makes one every few seconds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], BETWEEN_FULL_COLLECTIONS)
