"""What a worker has loaded, out of the way of Python's garbage collector."""

import gc


def set_aside_what_was_loaded() -> None:
    """Have no later collection look through what is here now; it stays until the process ends.

    It is a million objects, and a collection that looks at all of them holds every turn up for a quarter of a second. With many
    new turns Python makes one every few seconds.
    """
    gc.collect()
    gc.freeze()
