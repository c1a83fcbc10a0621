"""`manage.py import_guidelines`: what a desk has written as draft runbooks, each once, and what contradicts itself in it."""

import json
from pathlib import Path
from typing import Any

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.launcher.data_folders import PROJECT
from apps.skills.actions import deprecate_skill
from apps.skills.models import Skill
from tests.learning.extraction.test_guidelines import ASK_STEP, SUBFLOW
from tests.support.drivers.management_command import CommandOutput, run_command
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db

REAL = PROJECT.parent / "shared" / "data" / "abcd_guidelines.json"


@pytest.fixture
def world() -> World:
    return make_world("acme-guides")


def import_guidelines(file: Path, *options: str) -> CommandOutput:
    return run_command("import_guidelines", str(file), "--tenant", "acme-guides", "--agent", "support", *options)


def write_guidelines(folder: Path, **subflows: Any) -> Path:
    file = folder / "guidelines.json"
    file.write_text(json.dumps({"Shipping": {"description": "parcels", "subflows": subflows}}), "utf-8")
    return file


def skills(world: World) -> list[Skill]:
    with acting_as(world.operator):
        return list(Skill.objects.visible_to(world.operator).order_by("name"))


def test_each_guideline_is_drafted_once_and_waits_for_a_person(world: World, tmp_path: Path) -> None:
    # R093
    file = write_guidelines(tmp_path, Late=SUBFLOW, Lost=SUBFLOW)
    assert import_guidelines(file).out == "2 drafted, 0 here already, 0 malformed\n"
    assert [(skill.name, skill.status, skill.taint, skill.category) for skill in skills(world)] == [
        (name, "draft", "import", "shipping") for name in ("shipping-late", "shipping-lost")
    ]
    with acting_as(world.operator):
        assert Proposal.objects.visible_to(world.operator).open().count() == 2
    assert import_guidelines(file).out == "0 drafted, 2 here already, 0 malformed\n"


def test_a_member_may_import_and_stays_responsible_for_nothing_but_that(world: World, tmp_path: Path) -> None:
    import_guidelines(write_guidelines(tmp_path, Late=SUBFLOW), "--as", world.operator_user.username)
    [skill] = skills(world)
    assert (skill.drafted_by, skill.taint) == (world.operator.label, "import")


def test_one_that_was_retired_does_not_come_back(world: World, tmp_path: Path) -> None:
    # R092
    file = write_guidelines(tmp_path, Late=SUBFLOW)
    import_guidelines(file)
    deprecate_skill(skills(world)[0], actor=world.operator)
    assert import_guidelines(file).out == "0 drafted, 1 here already, 0 malformed\n"


def test_malformed_ones_are_named_and_the_others_taken(world: World, tmp_path: Path) -> None:
    long = {"actions": [{"text": "word " * 9_000}]}
    seen = import_guidelines(write_guidelines(tmp_path, Late=SUBFLOW, Empty={}, Long=long))
    assert seen.out == "1 drafted, 0 here already, 2 malformed\n"
    assert "Shipping: Empty is malformed. Expected a list `actions`" in seen.err
    assert "Shipping: Long is malformed." in seen.err
    assert "40,000" in seen.err or "40000" in seen.err
    assert "Correct these and run the command again" in seen.failure


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[1]", "has no guidelines. Expected an object"),
        (b"{", "is not JSON in UTF-8"),
        (b"\xff", "is not JSON in UTF-8"),
        (b"[" * 100_000, "is not JSON in UTF-8"),
        (b" " * 4_000_001, "Import it in parts."),
    ],
)
def test_a_file_that_holds_none_is_refused(world: World, tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "other.json"
    file.write_bytes(content)
    assert sentence in import_guidelines(file).failure
    assert "cannot be read" in import_guidelines(tmp_path / "nowhere.json").failure
    assert skills(world) == []


def test_a_check_writes_nothing_and_names_what_contradicts_itself(world: World, tmp_path: Path) -> None:
    def within(days: int) -> dict[str, Any]:
        return {
            "actions": [ASK_STEP, {"text": f"Refunds are possible within {days} days."}],
            "instructions": ["A refund."],
        }

    import_guidelines(write_guidelines(tmp_path, Refund=within(30)))
    seen = import_guidelines(write_guidelines(tmp_path, Refund=within(30), Return=within(14)), "--check")
    assert "shipping-return" in seen.out
    assert "14 days" in seen.out
    assert "30 days" in seen.out
    assert seen.out.endswith("Contradictions: 1. Guidelines checked: 2.\n")
    assert [skill.name for skill in skills(world)] == ["shipping-refund"]
    both = write_guidelines(tmp_path, Refund=within(30), Return=within(14))
    import_guidelines(both)
    assert import_guidelines(both, "--check").out == seen.out


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the real guidelines are not here")
def test_a_real_desks_guidelines_are_taken_whole(world: World) -> None:
    # The guidelines were read by a person: nothing in them contradicts anything else, before they are taken and after.
    nothing = "Contradictions: 0. Guidelines checked: 55.\n"
    assert import_guidelines(REAL, "--check").out == nothing
    assert import_guidelines(REAL).out == "55 drafted, 0 here already, 0 malformed\n"
    assert len(skills(world)) == 55
    assert import_guidelines(REAL, "--check").out == nothing
