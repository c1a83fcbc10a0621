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
from apps.governance.database.actor_transaction import acting
from apps.governance.models import Refusal
from apps.governance.policy.table import POLICY, Act, codename
from apps.restore.management.commands.restore import Command as Restore
from apps.runtime.policy_conformance import ACTS
from apps.runtime.policy_conformance import CALLED as FIELDS_CALLED
from apps.runtime.tools.builtin_catalog import HOUSE_TOOLS
from apps.tenants.policy_conformance import departures, offers_of
from tests.governance.isolation.test_isolation_of_tasks import by_ids
from tests.governance.surfaces.commands import CALLED, ELSEWHERE, Commands, called
from tests.governance.surfaces.rest import Rest
from tests.governance.surfaces.tasks import ASKED, RUN, Tasks
from tests.governance.surfaces.test_act_matrix import books, standing
from tests.support.worlds.lawful_acts import Scene, set_scene
from tests.support.worlds.world import make_grants

# What commands ask for as an actor, and writes nothing.
READING = {"agent_named", "approved_all", "membership_of", "plan", "receipt_of", "write_zip"}
# A story that acts in everybody's name in a tenant of its own; `make demo` plays it.
STORY = {"seed_demo"}


def commands() -> list[str]:
    return sorted(name for name, package in get_commands().items() if package.startswith("apps."))


def acting_calls(name: str) -> set[str]:
    """Whatever the command's file imports that does something as an actor."""
    module = import_module(f"{get_commands()[name]}.management.commands.{name}")
    found = {each for each, value in vars(module).items() if inspect.isfunction(value) and _takes_an_actor(value)}
    return {each for each in found if vars(module)[each].__module__ != module.__name__} - READING


def _takes_an_actor(function: Any) -> bool:
    named = inspect.signature(function).parameters.get("actor")
    return named is not None and named.kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("name", sorted(set(commands()) - STORY))
def test_a_command_that_acts_says_which_acts_it_performs(name: str) -> None:
    # R015
    declared = [act for kind in ("acts", "acts_of_members") for act, names in offers_of(kind).items() if name in names]
    acts = acting_calls(name) or name == "sync_policy"
    assert bool(declared) == bool(acts), (name, acting_calls(name))


def test_every_act_of_a_command_stands_in_the_matrix_or_beside_it_for_a_reason() -> None:
    assert set(offers_of("acts")) == {*CALLED, *ELSEWHERE}
    assert list(departures()) == []


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
    assert list(departures()) == ["restore acts as a member, and no member may proposal.expire."]


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
    assert {name.rpartition(".")[2] for name in by_ids()} == {
        *("take_turn", "refresh_listing", "reflect_on_day", "tell_who_asked", "send_notice", "note_reviews"),
        # It forgets what the API answered, which is no act of anybody's.
        "forget_answers",
        # As the person who decided, and never as the system: see tests/review/test_bulk_decisions.py.
        "decide_bulk",
        *acts_by_task,
    }
    # What a look finds, it also clears.
    assert {*acts_by_task.values(), Act.CONTRADICTION_CLEAR} == set(RUN)
    assert set(ASKED) == set(ACTS) >= {tool.name for tool in HOUSE_TOOLS if tool.keeps}


def withheld_from_tools() -> list[tuple[Act, str]]:
    """Each act of a tool, and each governed field that the tool fills in."""
    filled = {
        ACTS[tool.name]: {FIELDS_CALLED.get(tool.name, {}).get(name, name) for name in tool.parameters}
        for tool in HOUSE_TOOLS
        if tool.name in ACTS
    }
    return [(act, name) for act in sorted(filled) for name in ("", *sorted(filled[act] & set(POLICY[act].fields)))]


def left_alone(scene: Scene, perform: Callable[[], str], act: Act, role: Role) -> str:
    """What it was refused with; nothing was written but one line about it in the books."""
    before, stood = books(scene), standing(scene)
    refusal = perform()
    assert act.value not in {name for _, name in books(scene) - before}
    assert standing(scene) == stood
    with acting(scene.world.operator):
        assert list(Refusal.objects.values_list("act", "actor_role")) == [(act.value, role.value)]
    return refusal


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(("act", "name"), withheld_from_tools())
def test_a_tool_whose_grant_is_withheld_changes_nothing_and_is_in_the_books(act: Act, name: str) -> None:
    # R017, R018
    scene = set_scene(act)
    make_grants(scene.world, codename(act, name))
    assert left_alone(scene, lambda: Tasks().perform(scene, Role.AGENT), act, Role.AGENT) == ""


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "body"])
def test_a_revision_of_a_field_whose_grant_is_withheld_is_not_even_proposed(name: str) -> None:
    # R018: the fields that a proposal is not about are no matter.
    scene = set_scene(Act.SKILL_PROPOSE)
    make_grants(scene.world, codename(Act.SKILL_PROPOSE, name), codename(Act.SKILL_PROPOSE, "title"))
    assert (
        left_alone(scene, lambda: Rest().perform(scene, Role.AGENT), Act.SKILL_PROPOSE, Role.AGENT) == "not_permitted"
    )


def test_a_revision_of_the_other_fields_is_proposed_all_the_same(db: None) -> None:
    scene = set_scene(Act.SKILL_PROPOSE)
    make_grants(scene.world, codename(Act.SKILL_PROPOSE, "title"))
    assert Rest().perform(scene, Role.AGENT) == ""


# A command line for the agent's rows, and the governed fields it fills in.
BY_FIELD = {
    Act.KILL_SWITCH_ACTIVATE: (("switch", "freeze-learning", "--reason", "Rest."), ("kind", "agent", "reason")),
    Act.CHECKPOINT_CREATE: (
        ("checkpoint", "Before the sale", "--why", "It begins."),
        ("name", "agent", "reason", "moment"),
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("act", "name"), [(act, name) for act, (_, names) in BY_FIELD.items() for name in ("", *names)]
)
def test_a_command_whose_grant_is_withheld_from_its_member_changes_nothing(act: Act, name: str) -> None:
    # R017, R018
    scene = set_scene(act)
    make_grants(scene.world, codename(act, name), role=Role.OPERATOR)
    words = (*BY_FIELD[act][0], "--agent", scene.world.agent.key)
    assert left_alone(scene, lambda: called(scene, words, Role.OPERATOR), act, Role.OPERATOR) == "not_permitted"


def test_every_act_that_a_command_does_for_an_agents_rows_is_tried_by_field() -> None:
    # The others fill in nothing of an agent's, or as the system, from which no tenant withholds anything.
    by_members = {act for act in CALLED if (act, Role.OPERATOR) not in Commands.not_for}
    assert {act for act in by_members if "agent" in POLICY[act].fields} == set(BY_FIELD)
