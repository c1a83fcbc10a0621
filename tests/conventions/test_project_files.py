"""Files that Python does not read: they parse, their paths exist, and values repeated from pyproject.toml are the same."""

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from apps.launcher.data_folders import PROJECT

# Reads files and runs nothing of the product.
pytestmark = [pytest.mark.pure, pytest.mark.unmeasured]

GITHUB = PROJECT / ".github"
YAML_FILES = sorted([*PROJECT.glob("*.y*ml"), *GITHUB.rglob("*.y*ml")])
ISSUE_FORMS = [path for path in YAML_FILES if path.parent.name == "ISSUE_TEMPLATE" and path.stem != "config"]
WORKFLOWS = [path for path in YAML_FILES if path.parent.name == "workflows"]
PINNED_ACTION = re.compile(r"^[\w-]+/[\w-]+@v\d+$")


def read_yaml(path: Path) -> Any:  # Any: a document of any form
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(PROJECT)) for path in paths]


@pytest.mark.parametrize("name", names(YAML_FILES))
def test_yaml_file_holds_a_mapping(name: str) -> None:
    assert isinstance(read_yaml(PROJECT / name), dict)


def test_yaml_files_are_found() -> None:
    assert {"docker-compose.yml", ".pre-commit-config.yaml", ".github/workflows/ci.yml"} <= set(names(YAML_FILES))


@pytest.mark.parametrize("name", names(ISSUE_FORMS))
def test_issue_form_has_a_name_and_asks_each_question_once(name: str) -> None:
    form = read_yaml(PROJECT / name)
    asked = [question["id"] for question in form["body"] if question["type"] != "markdown"]
    assert form["name"]
    assert form["description"]
    assert asked
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("name", names(WORKFLOWS))
def test_workflow_may_only_read_and_ends(name: str) -> None:
    workflow = read_yaml(PROJECT / name)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        used = [step["uses"] for step in job["steps"] if "uses" in step]
        assert [action for action in used if not PINNED_ACTION.match(action)] == [], (
            "pin each action to a major version"
        )


def test_hosted_build_runs_the_same_script_as_a_developer() -> None:
    steps = [step for job in read_yaml(GITHUB / "workflows" / "ci.yml")["jobs"].values() for step in job["steps"]]
    assert [step["run"] for step in steps if step.get("run") == ".ci/run"]
    assert (PROJECT / ".ci" / "run").is_file()


def test_every_path_of_the_code_owners_exists() -> None:
    lines = (GITHUB / "CODEOWNERS").read_text(encoding="utf-8").splitlines()
    owned = [line.split()[0].strip("/") for line in lines if line and not line.startswith("#")]
    assert [path for path in owned if not any(PROJECT.glob(path))] == []


def test_editors_break_lines_where_the_formatters_do() -> None:
    tools = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    editor = configparser.ConfigParser()
    editor.read_string("[root]\n" + (PROJECT / ".editorconfig").read_text(encoding="utf-8"))
    assert int(editor["*.py"]["max_line_length"]) == tools["ruff"]["line-length"]
    assert int(editor["*.html"]["max_line_length"]) == tools["djlint"]["max_line_length"]
    assert int(editor["*.{html,css,js,json,yml,yaml}"]["indent_size"]) == tools["djlint"]["indent"]
    assert editor["{Makefile,*.mk}"]["indent_style"] == "tab"
