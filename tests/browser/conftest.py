"""A real Chromium before a real server process, on a database that commits."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pytest
from django.test import override_settings
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, expect, sync_playwright
from pytest_django import DjangoDbBlocker

from apps.launcher.child_processes import wait_until
from apps.launcher.data_folders import PROJECT
from apps.launcher.postgres import Postgres
from apps.launcher.supervisor import HOST, answers_http, free_port
from tests.settings import PREFIX
from tests.support.database.clones import clone_database, close_connections, point_to
from tests.support.drivers.live_product import BrowserFlow
from tests.support.servers.running_product import RunningProduct
from tests.support.servers.shared_product import (
    SharedProduct,
    has_failed,
    pytest_runtest_makereport,
    pytest_runtest_teardown,
    share_product,
)
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.furnished_tenant import make_console_rows
from tests.support.worlds.world import World, make_world

__all__ = ["pytest_runtest_makereport", "pytest_runtest_teardown"]
SCREENSHOTS = PROJECT / "screenshots"
DATABASE = f"{PREFIX}_browser"
expect.set_options(timeout=PATIENCE_SECONDS * 1000)
# Real hashing: the server process checks passwords as an installation does.
HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]


@dataclass(frozen=True)
class BrowserConsole:
    """The console of two tenants, one furnished and one empty."""

    url: str
    full: World
    empty: World


@pytest.fixture(scope="session")
def console(postgres: Postgres, template_database: str, django_db_blocker: DjangoDbBlocker) -> Iterator[BrowserConsole]:
    """A server process on a clone of the template, with rows that are there for good."""
    clone_database(postgres, template_database, DATABASE)
    with django_db_blocker.unblock(), override_settings(PASSWORD_HASHERS=HASHERS):
        full, empty = make_world("acme"), make_world("nova")
        make_console_rows(full)
        port = free_port(0)
        server = _serve(postgres, port)
        try:
            yield BrowserConsole(_wait_until_up(server, f"http://{HOST}:{port}"), full, empty)
        finally:
            server.terminate()
            server.wait(timeout=PATIENCE_SECONDS)
            close_connections()
            point_to(postgres, PREFIX)


@pytest.fixture(scope="session")
def chromium(console: BrowserConsole) -> Iterator[Browser]:
    """The system's Chromium; nothing is installed silently. It ends before the database does."""
    del console
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("Chromium is missing. On Debian or Ubuntu: apt-get install chromium")
    # Playwright keeps an event loop running in this thread; Django takes that for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=PATIENCE_SECONDS * 1000
        )
        yield browser
        browser.close()
    os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE")


@pytest.fixture
def page(chromium: Browser, console: BrowserConsole, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh window; whatever the browser complains about fails the test."""
    with _open_page(chromium, console.url, request.node) as page:
        yield page


@pytest.fixture(scope="session")
def shared_product(
    console: BrowserConsole, postgres: Postgres, template_database: str, pytestconfig: pytest.Config
) -> Iterator[SharedProduct]:
    """The product's own processes, a real worker among them, for all stories of this test process."""
    del console  # Its database is gone back to.
    with share_product(SharedProduct(postgres, template_database, with_beat=True), pytestconfig) as shared:
        yield shared


@pytest.fixture
def product(shared_product: SharedProduct) -> Iterator[RunningProduct]:
    """The product as it runs, for a story in tenants of its own."""
    with shared_product.lend(DATABASE) as product:
        yield product


@pytest.fixture
def flow(product: RunningProduct, chromium: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserFlow]:
    """The product, with a window before it, for one story."""
    with _open_page(chromium, product.url, request.node) as page:
        page.emulate_media(reduced_motion="reduce")
        yield BrowserFlow(product.url, page, product.standin)


@contextmanager
def _open_page(chromium: Browser, url: str, item: pytest.Item) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, base_url=url)
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    if has_failed(item):
        with suppress(Error):
            page.screenshot(
                path=SCREENSHOTS / "failed" / f"{re.sub(r'[^A-Za-z0-9_]+', '-', item.nodeid)}.png", full_page=True
            )
    context.close()
    assert complaints == []


def is_complaint(message: ConsoleMessage) -> bool:
    """An error, unless it only says that a page answered with a conflict, or showed a form again."""
    ignored_texts = ("status of 409 (Conflict)", "status of 422 (Unprocessable Entity)")
    return message.type == "error" and not any(each in message.text for each in ignored_texts)


def _serve(postgres: Postgres, port: int) -> "subprocess.Popen[bytes]":
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": postgres.url_for(f"{PREFIX}_login", database=DATABASE),
        "DATABASE_OWNER_URL": "",
        "CONSOLE_URL": f"http://{HOST}:{port}",
    }
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "config.asgi:application",
        "--port",
        str(port),
        "--log-level",
        "warning",
    ]
    return subprocess.Popen(command, cwd=PROJECT, env=environment)


def _wait_until_up(server: "subprocess.Popen[bytes]", url: str) -> str:
    is_up = wait_until(
        lambda: answers_http(f"{url}/healthz")(PROJECT) or server.poll() is not None, PATIENCE_SECONDS, 0.1
    )
    assert is_up, f"The server did not answer within {PATIENCE_SECONDS} seconds."
    assert server.poll() is None, "The server ended before it answered."
    return url
