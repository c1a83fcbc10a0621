"""A worker's turn engine, as the worker starts and stops it."""

import gc

import pytest

from apps.runtime.worker import process

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]


def test_a_collection_does_not_look_at_what_a_worker_loaded_before_it_took_turns(database: str) -> None:
    kept = ["loaded before"]
    process.start()
    try:
        assert not any(each is kept for each in gc.get_objects())
        later = ["made afterwards"]
        assert any(each is later for each in gc.get_objects())
    finally:
        process.stop(drain_seconds=1)
        gc.unfreeze()
