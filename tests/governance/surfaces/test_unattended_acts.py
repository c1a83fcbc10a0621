"""What runs without a request: every act it performs is declared, stands in the matrix, and is refused like any other."""

import ast
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Refusal
from apps.governance.policy.policy_table import POLICY, Act, codename
from apps.restore.management.commands.restore import Command as Restore
from apps.runtime.policy_conformance import ACT_BY_TOOL
from apps.runtime.policy_conformance import FIELD_BY_PARAMETER as FIELDS_CALLED
from apps.runtime.tools.builtin_catalog import BUILTIN_TOOLS
from apps.tenants.policy_conformance import offers_of, policy_violations
from tests.governance.isolation.test_isolation_of_tasks import tasks_with_ids
from tests.governance.surfaces.commands import COMMAND_CALLS, NO_COMMAND, CommandSurface, command_refusal
from tests.governance.surfaces.rest import RestSurface
from tests.governance.surfaces.tasks import TASK_RUNS, TOOL_ARGUMENTS, TaskSurface
from tests.governance.surfaces.test_act_matrix import change_records, subject_values
from tests.support.worlds.lawful_acts import Scene, make_scene
from tests.support.worlds.world import make_grants

# What commands ask for as an actor, and writes nothing.
READ_FUNCTIONS = {
    "get_agent",
    "select_approved_skills",
    "membership_of",
    "make_restore_plan",
    "receipt_of",
    "write_zip",
}
# A story that acts in everybody's name in a tenant of its own; `make demo` plays it.
DEMO_COMMANDS = {"seed_demo"}


def commands() -> list[str]:
    return sorted(name for name, package in get_commands().items() if package.startswith("apps."))


def acting_calls(name: str) -> set[str]:
    """Whatever the command's file imports that does something as an actor."""
    module = import_module(f"{get_commands()[name]}.management.commands.{name}")
    found = {each for each, value in vars(module).items() if inspect.isfunction(value) and _takes_an_actor(value)}
    return {each for each in found if vars(module)[each].__module__ != module.__name__} - READ_FUNCTIONS


def _takes_an_actor(function: Any) -> bool:
    named = inspect.signature(function).parameters.get("actor")
    return named is not None and named.kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("name", sorted(set(commands()) - DEMO_COMMANDS))
def test_a_command_that_acts_says_which_acts_it_performs(name: str) -> None:
    # R015
    declared = [act for kind in ("acts", "acts_of_members") for act, names in offers_of(kind).items() if name in names]
    acts = acting_calls(name) or name == "sync_policy"
    assert bool(declared) == bool(acts), (name, acting_calls(name))


def test_every_act_of_a_command_stands_in_the_matrix_or_beside_it_for_a_reason() -> None:
    assert set(offers_of("acts")) == {*COMMAND_CALLS, *NO_COMMAND}
    assert list(policy_violations()) == []


def test_restore_names_every_act_that_a_plan_may_hold() -> None:
    # R038: what its plans are made of, read from their source.
    folder = Path(inspect.getfile(Restore)).parents[2]
    named = {
        node.attr
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Act"
    }
    assert {act.name for act in Restore.acts_of_members} == named


def test_a_command_beyond_every_persons_rights_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Restore, "acts_of_members", (Act.PROPOSAL_EXPIRE,))
    assert list(policy_violations()) == ["restore acts as a member, and no member may proposal.expire."]


def test_every_task_and_every_tool_that_keeps_something_is_in_the_matrix() -> None:
    acts_by_task = {
        "extract_skill": Act.SKILL_DRAFT,
        "capture_lessons": Act.EDIT_CLUSTER_FIND,
        "digest_lessons": Act.LEARNING_VERSION_PROPOSE,
        "expire_proposal": Act.PROPOSAL_EXPIRE,
        "drop_scratch": Act.NOTE_DROP,
        "look_for_contradictions": Act.CONTRADICTION_FIND,
        "distil_memory": Act.TIER_DISTIL,
    }
    assert {name.rpartition(".")[2] for name in tasks_with_ids()} == {
        *("take_turn", "refresh_listing", "reflect_on_day", "tell_who_asked", "send_notice", "note_reviews"),
        # It forgets what the API answered, which is no act of anybody's.
        "forget_answers",
        # As the person who decided, and never as the system: see tests/review/test_bulk_decisions.py.
        "decide_bulk",
        *acts_by_task,
    }
    # What a look finds, it also clears.
    assert {*acts_by_task.values(), Act.CONTRADICTION_CLEAR} == set(TASK_RUNS)
    assert set(TOOL_ARGUMENTS) == set(ACT_BY_TOOL) >= {tool.name for tool in BUILTIN_TOOLS if tool.keeps}


def tool_grants() -> list[tuple[Act, str]]:
    """Each act of a tool, and each governed field that the tool fills in."""
    filled = {
        ACT_BY_TOOL[tool.name]: {FIELDS_CALLED.get(tool.name, {}).get(name, name) for name in tool.parameters}
        for tool in BUILTIN_TOOLS
        if tool.name in ACT_BY_TOOL
    }
    return [(act, name) for act in sorted(filled) for name in ("", *sorted(filled[act] & set(POLICY[act].fields)))]


def assert_nothing_written(scene: Scene, perform: Callable[[], str], act: Act, role: Role) -> str:
    """What it was refused with; nothing was written but one line about it in the books."""
    before, stood = change_records(scene), subject_values(scene)
    refusal = perform()
    assert act.value not in {name for _, name in change_records(scene) - before}
    assert subject_values(scene) == stood
    with acting_as(scene.world.operator):
        assert list(Refusal.objects.values_list("act", "actor_role")) == [(act.value, role.value)]
    return refusal


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(("act", "name"), tool_grants())
def test_a_tool_whose_grant_is_withheld_changes_nothing_and_is_in_the_books(act: Act, name: str) -> None:
    # R017, R018
    scene = make_scene(act)
    make_grants(scene.world, codename(act, name))
    assert assert_nothing_written(scene, lambda: TaskSurface().perform(scene, Role.AGENT), act, Role.AGENT) == ""


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "body"])
def test_a_revision_of_a_field_whose_grant_is_withheld_is_not_even_proposed(name: str) -> None:
    # R018: the fields that a proposal is not about are no matter.
    scene = make_scene(Act.SKILL_PROPOSE)
    make_grants(scene.world, codename(Act.SKILL_PROPOSE, name), codename(Act.SKILL_PROPOSE, "title"))
    assert (
        assert_nothing_written(scene, lambda: RestSurface().perform(scene, Role.AGENT), Act.SKILL_PROPOSE, Role.AGENT)
        == "not_permitted"
    )


def test_a_revision_of_the_other_fields_is_proposed_all_the_same(db: None) -> None:
    scene = make_scene(Act.SKILL_PROPOSE)
    make_grants(scene.world, codename(Act.SKILL_PROPOSE, "title"))
    assert RestSurface().perform(scene, Role.AGENT) == ""


# A command line for the agent's rows, and the governed fields it fills in.
FIELD_VALUES = {
    Act.KILL_SWITCH_ACTIVATE: (("kill_switch", "freeze-learning", "--reason", "Rest."), ("kind", "agent", "reason")),
    Act.CHECKPOINT_CREATE: (
        ("checkpoint", "Before the sale", "--reason", "It begins."),
        ("name", "agent", "reason", "moment"),
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("act", "name"), [(act, name) for act, (_, names) in FIELD_VALUES.items() for name in ("", *names)]
)
def test_a_command_whose_grant_is_withheld_from_its_member_changes_nothing(act: Act, name: str) -> None:
    # R017, R018
    scene = make_scene(act)
    make_grants(scene.world, codename(act, name), role=Role.OPERATOR)
    words = (*FIELD_VALUES[act][0], "--agent", scene.world.agent.key)
    assert (
        assert_nothing_written(scene, lambda: command_refusal(scene, words, Role.OPERATOR), act, Role.OPERATOR)
        == "not_permitted"
    )


def test_every_act_that_a_command_does_for_an_agents_rows_is_tried_by_field() -> None:
    # The others fill in nothing of an agent's, or as the system, from which no tenant withholds anything.
    by_members = {act for act in COMMAND_CALLS if (act, Role.OPERATOR) not in CommandSurface.not_for}
    assert {act for act in by_members if "agent" in POLICY[act].fields} == set(FIELD_VALUES)
