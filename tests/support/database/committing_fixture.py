"""A database in which tests commit: lent for one test, and swept after it."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tests.support.database.clone_pool import ClonePool


@pytest.fixture
def committing(standing_clones: ClonePool, django_db_setup: str, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """Point both connections to a clone; other threads see what is written there, and it is deleted afterwards."""
    with django_db_blocker.unblock(), standing_clones.lend(django_db_setup) as name:
        yield name
