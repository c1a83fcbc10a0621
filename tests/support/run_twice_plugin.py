"""A plugin of pytest: every traced test runs twice, first untraced, with one random example of each.

The kernel's caches are filled before lines count, so a floor that holds only by the order of tests or by luck breaks.
"""

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    settings.register_profile("one", parent=settings.get_profile("suite"), max_examples=1)
    settings.load_profile("one")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Not before tracing has begun: modules imported with this plugin would not count.
    from tests.support.coverage_tracing import is_traced  # noqa: PLC0415

    items[:] = [item for item in items if is_traced(item)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    from tests.support.coverage_tracing import without_tracing  # noqa: PLC0415

    with without_tracing():
        for item, following in zip(session.items, (*session.items[1:], session.items[0]), strict=True):
            runtestprotocol(item, log=False, nextitem=following)
    for item in session.items:
        item._initrequest()  # type: ignore[attr-defined]  # as pytest-rerunfailures does before a test runs again
