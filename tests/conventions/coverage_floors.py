"""Read coverage.json and fail if the coverage of a scope is below its floor. Run by `make test-all COVER=1` after pytest.

python -m tests.conventions.coverage_floors [--everything] [coverage.json]

Tracing makes tests a third slower, so `make test-all COVER=1` traces what proves the kernel, where every branch has to run
(`tests/conventions/kernel.coveragerc`, `tests/support/coverage_tracing.py`), and `python -m tests.proofs.coverage` traces all.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CoverageFloor:
    """The least share of lines and branches together that a scope keeps; floors only rise."""

    scope: str
    patterns: tuple[str, ...]
    percent: float


# Pure rules whose modules have names from the domain.
NAMED_RULES = (
    "apps/runtime/limits/circuit_breaker.py",
    "apps/runtime/limits/repeated_calls.py",
    "apps/runtime/limits/turn_budgets.py",
    "apps/runtime/worker/fair_queue.py",
    "apps/runtime/limits/retry_delay.py",
    "apps/learning/distillation/rewrite_vetting.py",
    "apps/learning/extraction/eligibility.py",
    "apps/learning/reflection/memory_vetting.py",
    "apps/learning/reflection/reflection_day.py",
    "apps/learning/retry_delay.py",
    "apps/learning/transcript_masking.py",
    "apps/learning/extraction/draft_validation.py",
    "apps/learning/distillation/tier_schedule.py",
    "apps/learning/lessons/lesson_cases.py",
    "apps/learning/digest/digest_answer.py",
    "apps/learning/lessons/edit_clustering.py",
    "apps/learning/lessons/example_rules.py",
    "apps/learning/lessons/edit_categories.py",
    "apps/learning/guardrails/guardrail_loosening.py",
    "apps/learning/guardrails/loosening_patterns.py",
    "apps/learning/guardrails/conflicts_with_guardrails.py",
    "apps/skills/import_export/zip_archives.py",
    "apps/skills/import_export/front_matter.py",
    "apps/skills/import_export/import_candidates.py",
    "apps/skills/import_export/skill_md.py",
    "apps/runtime/limits/turn_limits.py",
    "apps/skills/skill_validation.py",
    "apps/tools/tool_limits.py",
)
KERNEL = (
    CoverageFloor("prompt", ("apps/prompt/*",), 100.0),
    CoverageFloor("rules", ("apps/**/rules.py", "apps/text_analysis/*", *NAMED_RULES), 100.0),
    CoverageFloor("governance", ("apps/governance/*",), 100.0),
)
EVERYTHING = CoverageFloor("everything", ("apps/*",), 95.0)


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The coverage of one file, and the lines after which something did not run."""

    path: str
    covered: int
    total: int
    missing: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.path} ({self.total - self.covered})" + (
            f" at {', '.join(map(str, self.missing))}" if self.missing else ""
        )


@dataclass(frozen=True, slots=True)
class FloorResult:
    """A floor beside the measured coverage, and the files that are not complete."""

    floor: CoverageFloor
    percent: float
    missing: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return self.percent >= self.floor.percent


def read_report(report: Path) -> list[FileCoverage]:
    """Return the files of a JSON report, with lines and branches counted together."""
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    return [
        FileCoverage(
            path,
            file["summary"]["covered_lines"] + file["summary"].get("covered_branches", 0),
            file["summary"]["num_statements"] + file["summary"].get("num_branches", 0),
            tuple(
                sorted({*file.get("missing_lines", ()), *(origin for origin, _ in file.get("missing_branches", ()))})
            ),
        )
        for path, file in files.items()
    ]


def measure_floor(floor: CoverageFloor, files: Iterable[FileCoverage]) -> FloorResult:
    """Compare a scope with its floor; a scope without any measured file has a coverage of 0."""
    inside = [file for file in files if any(fnmatch(file.path, pattern) for pattern in floor.patterns)]
    total = sum(file.total for file in inside)
    percent = 100 * sum(file.covered for file in inside) / total if total else 0.0
    return FloorResult(floor, percent, tuple(str(file) for file in inside if file.covered < file.total))


def table(results: Iterable[FloorResult]) -> str:
    """Return one line per scope; below a broken floor, the files with their missing lines."""
    lines = [f"{'scope':<12} {'floor':>7} {'reached':>8}"]
    for result in results:
        mark = "" if result.holds else "  below its floor"
        lines.append(f"{result.floor.scope:<12} {result.floor.percent:>6.1f}% {result.percent:>7.2f}%{mark}")
        lines.extend(f"    {missing}" for missing in (() if result.holds else result.missing))
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", nargs="?", type=Path, default=Path("coverage.json"))
    parser.add_argument("--everything", action="store_true", help="all of the product was traced, not the kernel alone")
    options = parser.parse_args(arguments)
    if not options.report.is_file():
        print(
            f"{options.report} is not there. Run pytest with --cov --cov-report=json:{options.report} first.",
            file=sys.stderr,
        )
        return 2
    floors = (*KERNEL, EVERYTHING) if options.everything else KERNEL
    results = [measure_floor(floor, read_report(options.report)) for floor in floors]
    print(table(results))
    return 0 if all(result.holds for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
