"""A worker is woken for a bulk decision once it stands, and never before."""

from contextlib import suppress

import pytest
from django.db import transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from apps.review.bulk.journal import wake_bulk_worker

pytestmark = pytest.mark.django_db


def test_nobody_is_woken_before_the_commit_nor_for_what_was_taken_back(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks() as held:
        wake_bulk_worker(1, 2)
    assert len(held) == 1
    with django_capture_on_commit_callbacks() as held, suppress(ZeroDivisionError), transaction.atomic():
        wake_bulk_worker(1, 2)
        raise ZeroDivisionError
    assert held == []
