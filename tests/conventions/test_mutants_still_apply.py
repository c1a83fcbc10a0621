"""The protections that `tests.proofs.mutants` removes are in the code as it quotes them; otherwise a mutant proves nothing."""

import os
import subprocess
import sys

import pytest

from apps.launcher.data_folders import PROJECT
from tests.durability.mutants import DURABLE
from tests.governance.mutants import CODE_MUTANTS, CodeMutant

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured

MUTANTS_OF_CODE = [each for each in (*CODE_MUTANTS, *DURABLE) if isinstance(each, CodeMutant)]


@pytest.mark.parametrize("mutant", MUTANTS_OF_CODE, ids=lambda mutant: mutant.name)
def test_a_protection_that_is_taken_away_stands_once_in_the_code(mutant: CodeMutant) -> None:
    assert (PROJECT / mutant.path).read_text("utf-8").count(mutant.words) == 1
    for test in mutant.tests:
        path, *name = test.split("::")
        assert name == [] or f"def {name[0].partition('[')[0]}(" in (PROJECT / path).read_text("utf-8"), test


@pytest.mark.slow
def test_every_case_that_a_mutant_names_by_its_parameters_exists() -> None:
    cases = sorted({test for mutant in (*CODE_MUTANTS, *DURABLE) for test in mutant.tests if "[" in test})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-p", "no:randomly", "-m", "", *cases]
    # The proof runs its tests completely, so a case may be one that `make test` leaves out.
    whole = os.environ | {"WHOLE_TESTS": "1"}
    found = subprocess.run(command, cwd=PROJECT, env=whole, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-2000:] or found.stdout[-2000:]
