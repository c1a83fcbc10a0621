"""The coverage command fails below a floor and says which file is short."""

import json
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.conventions import coverage_floors
from tests.conventions.coverage_floors import CoverageFloor, FileCoverage, main, measure_floor, table

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured

FLOOR = CoverageFloor("prompt", ("apps/prompt/*",), 100.0)


def write_report(folder: Path, **covered_branches: int) -> Path:
    files = {
        f"apps/{name}": {
            "summary": {"num_statements": 10, "covered_lines": 10, "num_branches": 4, "covered_branches": of}
        }
        for name, of in covered_branches.items()
    }
    report = folder / "coverage.json"
    report.write_text(json.dumps({"files": {name.replace("__", "/") + ".py": file for name, file in files.items()}}))
    return report


def test_missed_branch_breaks_a_floor_of_a_hundred() -> None:
    result = measure_floor(
        FLOOR, [FileCoverage("apps/prompt/slots.py", 13, 14), FileCoverage("apps/llm/model_backend.py", 0, 14)]
    )
    assert not result.holds
    assert result.missing == ("apps/prompt/slots.py (1)",)
    assert "below its floor" in table([result])


def test_what_did_not_run_is_named_by_its_lines(tmp_path: Path) -> None:
    summary = {"num_statements": 10, "covered_lines": 8, "num_branches": 4, "covered_branches": 3}
    file = {"summary": summary, "missing_lines": [7, 8], "missing_branches": [[6, 7]]}
    report = tmp_path / "coverage.json"
    report.write_text(json.dumps({"files": {"apps/prompt/slots.py": file}}))
    assert [str(each) for each in coverage_floors.read_report(report)] == ["apps/prompt/slots.py (3) at 6, 7, 8"]


def test_scope_without_files_reaches_nothing() -> None:
    assert not measure_floor(FLOOR, [FileCoverage("apps/llm/model_backend.py", 14, 14)]).holds


def test_complete_report_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = write_report(tmp_path, prompt__slots=4, desk__rules=4, governance__guard=4)
    assert main([str(report)]) == 0
    assert "below" not in capsys.readouterr().out


def test_short_report_fails_and_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = write_report(tmp_path, prompt__slots=4, desk__rules=3, governance__guard=4)
    assert main([str(report)]) == 1
    assert "apps/desk/rules.py (1)" in capsys.readouterr().out


def test_missing_report_says_how_to_make_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.json")]) == 2
    assert "--cov-report=json" in capsys.readouterr().err


def test_the_rest_of_the_product_has_a_floor_where_all_of_it_is_traced(tmp_path: Path) -> None:
    report = write_report(tmp_path, prompt__slots=4, desk__rules=4, governance__guard=4, skills__actions=0)
    assert main([str(report)]) == 0
    assert main(["--everything", str(report)]) == 1


def test_kernel_floors_stand_at_a_hundred() -> None:
    assert {floor.scope: floor.percent for floor in coverage_floors.KERNEL} == {
        "prompt": 100.0,
        "rules": 100.0,
        "governance": 100.0,
    }


def test_what_has_a_floor_of_a_hundred_is_traced_in_every_run() -> None:
    traced = ConfigParser()
    traced.read(Path(coverage_floors.__file__).with_name("kernel.coveragerc"), "utf-8")
    patterns = {pattern for floor in coverage_floors.KERNEL for pattern in floor.patterns}
    assert set(traced["run"]["include"].split()) == patterns


def test_what_is_listed_as_pure_is_held_at_a_hundred() -> None:
    contracts = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    pure = next(
        contract for contract in contracts if contract["name"].startswith("Prompt, text analysis and rules are pure")
    )
    named = {module.replace(".", "/") + ".py" for module in pure["source_modules"]} - {
        "apps/prompt.py",
        "apps/text_analysis.py",
        "apps/**/rules.py",
    }
    assert named == set(coverage_floors.NAMED_RULES)
