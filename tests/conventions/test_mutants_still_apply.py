"""The protections that `tests.proofs.mutants` takes away stand in the code as it says: one that fits no more proves nothing."""

import pytest

from apps.launcher.data_folders import PROJECT
from tests.durability.mutants import DURABLE
from tests.governance.mutants import CODE_MUTANTS, CodeMutant

# Reads the product's sources and runs none of it.
pytestmark = pytest.mark.unmeasured

MUTANTS_OF_CODE = [each for each in (*CODE_MUTANTS, *DURABLE) if isinstance(each, CodeMutant)]


@pytest.mark.parametrize("mutant", MUTANTS_OF_CODE, ids=lambda mutant: mutant.name)
def test_a_protection_that_is_taken_away_stands_once_in_the_code(mutant: CodeMutant) -> None:
    assert (PROJECT / mutant.path).read_text("utf-8").count(mutant.words) == 1
    for test in mutant.tests:
        path, *name = test.split("::")
        assert name == [] or f"def {name[0].partition('[')[0]}(" in (PROJECT / path).read_text("utf-8"), test
