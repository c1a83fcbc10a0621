"""The wake-up call goes out once what it tells of stands, and never before."""

from contextlib import suppress

import pytest
from django.db import transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from apps.runtime.wakeup import wake_worker_on_commit

pytestmark = pytest.mark.django_db


def test_nobody_is_woken_before_the_commit(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks, caplog: pytest.LogCaptureFixture
) -> None:
    with django_capture_on_commit_callbacks() as held:
        wake_worker_on_commit(1, 2)
    assert len(held) == 1
    assert caplog.records == []


def test_nobody_is_woken_for_what_was_taken_back(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks() as held, suppress(ZeroDivisionError), transaction.atomic():
        wake_worker_on_commit(1, 2)
        raise ZeroDivisionError
    assert held == []
