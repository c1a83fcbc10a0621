"""The next test run removes the folders that a killed one left in the temporary directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from apps.launcher.data_folders import PROJECT
from tests.support.temp_folders import LOCK_NAME, YOUNG_SECONDS, own_folder, sweep_folders

pytestmark = pytest.mark.pure

HOLDING_SCRIPT = "import tests.support.temp_folders as f; print(f.own_folder(), flush=True); input()"


def make_older(folder: Path) -> Path:
    """Make the folder look as if it was made a while ago."""
    made = (folder / LOCK_NAME).stat().st_mtime - 2 * YOUNG_SECONDS
    os.utime(folder / LOCK_NAME, (made, made))
    return folder


@pytest.mark.processes
def test_only_what_nobody_holds_any_more_is_swept(tmp_path: Path) -> None:
    command, env = [sys.executable, "-c", HOLDING_SCRIPT], os.environ | {"TMPDIR": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=PROJECT, env=env, text=True, **pipes) as child:  # type: ignore[call-overload]
        folder = make_older(Path(child.stdout.readline().strip()))
        assert folder.parent == tmp_path
        assert sweep_folders(tmp_path) == []
        child.kill()
    assert sweep_folders(tmp_path) == [folder]
    assert not folder.exists()


def test_a_folder_of_this_moment_and_one_of_somebody_else_are_left_alone(tmp_path: Path) -> None:
    young, another = tmp_path / "pcp-young", tmp_path / "pcp-another"
    for folder in (young, another):
        folder.mkdir()
    (young / LOCK_NAME).touch()
    assert sweep_folders(tmp_path) == []
    assert young.exists()
    assert another.exists()


def test_a_folder_is_entered_by_others_and_listed_by_none_of_them() -> None:
    assert own_folder().stat().st_mode & 0o777 == 0o711
