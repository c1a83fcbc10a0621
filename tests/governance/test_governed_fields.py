"""Every governed field by every role: at the door, through the ORM, and in raw SQL under the role's own database role."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction

from apps.governance.actors import Actor, Role
from apps.governance.authorization import columns_of, noun_written_by
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database_drift.role_grants import governed_models
from apps.governance.errors import GovernanceError, UngovernedWrite
from apps.governance.governed_write import governed, recorded_values
from apps.governance.models import Taint
from apps.governance.policy.policy_table import POLICY, Act, codename
from tests.governance.governed_fields import (
    CHANGING_ACTS,
    columns,
    count_refusals,
    is_state,
    other_value,
    records,
    reload_row,
)
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.factories.member_talks import make_member_overlay
from tests.support.parameter_sampling import share_of
from tests.support.worlds.lawful_acts import Scene, make_scene

# Walks what other tests already cover, thousands of times: measuring that would only make it slower.
pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured, pytest.mark.whole]

# A scene in which a row of the noun stands, for nouns that no act changes.
MAKING_ACTS = {
    "member": Act.MEMBER_ADD,
    "checkpoint": Act.CHECKPOINT_CREATE,
    "member_overlay": Act.MEMBER_OVERLAY_WRITE,
}
# Rows that no scene has.
ROW_MAKERS = {"member_overlay": make_member_overlay}


# Their texts change together with the signature under them, or with the state: the database refuses either alone.
AUTHOR_STAMPED_ACTS = {
    *(Act.SKILL_REVISE, Act.SKILL_QUARANTINE, Act.SKILL_RELEASE, Act.ESCALATION_ANSWER),
    *(Act.CONVERSATION_QUARANTINE, Act.CONVERSATION_RELEASE),
    *(Act.NOTE_AMEND, Act.CONTRADICTION_DISMISS),
}
# Files come by uploads of their own.
FILE_FIELDS = {"attachments"}


def try_governed_change(scene: Scene, actor: Actor, act: Act, name: str) -> tuple[str, list[str]]:
    """Try one field by one act and undo it: the refusal's code, and the records made."""
    row = reload_row(scene, scene.subject)
    field = row._meta.get_field(name)
    before = len(records(scene))
    undo = transaction.savepoint()
    try:
        with governed(act, row, actor=actor) as changed:
            # Past the state machine's own protection: what is asked here is what the door says.
            changed.__dict__[field.attname] = other_value(field, getattr(changed, field.attname))
            if not actor.is_person and name not in POLICY[act].stamps and "updated_by" in POLICY[act].stamps:
                changed.updated_by, changed.taint = "agent", Taint.AGENT
    except GovernanceError as refusal:
        transaction.savepoint_commit(undo)
        return refusal.code, []
    made = records(scene)[before:]
    transaction.savepoint_rollback(undo)
    return "", made


# Of one noun every second act tries the same fields: what the door keeps of a field is the noun's, and who may write it the act's.
ACT_PARITY = {act: [each for each in CHANGING_ACTS if each.noun == act.noun].index(act) % 2 for act in CHANGING_ACTS}


@pytest.mark.parametrize("act", CHANGING_ACTS, ids=lambda act: act.value)
def test_an_act_writes_its_fields_for_its_roles_and_no_others(act: Act) -> None:
    # R015, R017, R018, R022
    scene = make_scene(act)
    stood, wrong = recorded_values(reload_row(scene, scene.subject)), []
    # The door writes what the record keeps, and nothing else.
    fields = [field for field in columns(CHANGING_ACTS[act]) if field.name not in CHANGING_ACTS[act].unrecorded]
    for row, role in enumerate(Role):
        for field in share_of(2 * row + ACT_PARITY[act], fields, 2 * len(Role)):
            if (expected := expected_refusals(act, role, field)) is None:
                continue
            before = count_refusals(scene)
            code, made = try_governed_change(scene, scene.actor_of(role), act, field.name)
            found = (code, made, count_refusals(scene) - before)
            if code not in expected or found[1:] != (([act.value], 0) if expected == {""} else ([], 1)):
                wrong.append((role.value, field.name, *found))
    assert wrong == []
    assert recorded_values(reload_row(scene, scene.subject)) == stood


def expected_refusals(act: Act, role: Role, field: Any) -> set[str] | None:  # Any: a field of any kind
    """What the policy says of a field; None where a state machine or a constraint decides besides."""
    if role not in POLICY[act].direct:
        return {"not_permitted", "ungoverned_write"}
    if field.name not in columns_of(act, role):
        return {"not_permitted"}
    decided_besides = (
        is_state(field)
        or field.name not in POLICY[act].fields
        or act in AUTHOR_STAMPED_ACTS
        or field.name in FILE_FIELDS
    )
    return None if decided_besides else {""}


@pytest.mark.parametrize(
    "act", [act for act in CHANGING_ACTS if set(POLICY[act].fields) - FILE_FIELDS], ids=lambda act: act.value
)
def test_a_field_without_its_grant_is_refused_despite_the_act(act: Act) -> None:
    # R017, R018
    scene = make_scene(act)
    open_to = [role for role in Role if role in POLICY[act].direct]
    written = POLICY[act].writes(adding=False) - FILE_FIELDS
    fields = [field for field in columns(CHANGING_ACTS[act]) if field.name in written]
    for row, role in enumerate(open_to):
        actor = scene.actor_of(role)
        for field in share_of(row, fields, len(open_to)):
            narrowed = replace(actor, grants=actor.grants - {codename(act, field.name)})
            code, made = try_governed_change(scene, narrowed, act, field.name)
            assert (code, made) == ("not_permitted", []), (role, field.name)
    assert fields
    assert open_to


def make_scene_row(noun: str) -> tuple[Scene, Any]:  # Any: a row of any noun
    acts = [act for act in CHANGING_ACTS if act.noun == noun]
    scene = make_scene(acts[0] if acts else MAKING_ACTS[noun])
    model = governed_models()[noun]
    if isinstance(scene.subject, model):
        return scene, scene.subject
    if noun in ROW_MAKERS:
        return scene, ROW_MAKERS[noun](scene.world)
    with acting_as(scene.world.operator):
        return scene, model._default_manager.first()


NOUNS = sorted({*(act.noun for act in CHANGING_ACTS), "member", *ROW_MAKERS})


@pytest.mark.parametrize("noun", NOUNS)
def test_the_orm_writes_no_field_ungoverned(noun: str) -> None:
    # R017, R018
    scene, row = make_scene_row(noun)
    stood, model = recorded_values(reload_row(scene, row)), type(row)
    for place, role in enumerate(Role):
        with acting_as(scene.actor_of(role)):
            rows = model._default_manager.filter(pk=row.pk)
            for field in share_of(place, columns(model), len(Role)):
                value = other_value(field, getattr(row, field.attname))
                with pytest.raises(UngovernedWrite):
                    rows.update(**{field.attname: value})
                with pytest.raises(UngovernedWrite):
                    model._base_manager.filter(pk=row.pk).update(**{field.attname: value})
            for write in (row.save, row.delete, rows.delete, lambda rows=rows: rows._raw_delete("default")):
                with pytest.raises(UngovernedWrite):
                    write()
            with pytest.raises(UngovernedWrite):
                model._default_manager.bulk_create([model()])
    assert recorded_values(reload_row(scene, row)) == stood


@pytest.mark.parametrize("noun", NOUNS)
def test_a_database_role_writes_the_columns_of_its_acts_and_no_others(noun: str) -> None:
    # R017, R018, R021
    scene, row = make_scene_row(noun)
    wrong = []
    for role in Role:
        actor = scene.actor_of(role)
        open_to_it = {act for act, rule in POLICY.items() if shares_database_role(role, rule.allowed)}
        about = {
            act
            for act in open_to_it
            if noun in {noun_written_by(act, each) for each in roles_under_database_role(role)}
        }
        writable = {name for act in about if POLICY[act].changes for name in columns_for(act, role, noun)}
        for field in columns(type(row)):
            statement = f"UPDATE {row._meta.db_table} SET {field.column} = {field.column} WHERE id = %s"  # noqa: S608  # from the model
            is_refused = run_and_undo(actor, statement, [row.pk]).sqlstate == NO_RIGHT
            if is_refused == (field.name in writable) and not hidden_by_a_trigger(noun, role):
                wrong.append((role.value, field.name, "refused" if is_refused else "let through"))
        removal = run_and_undo(actor, f"DELETE FROM {row._meta.db_table} WHERE id = 0")  # noqa: S608  # from the model
        if (removal.sqlstate == NO_RIGHT) == any(POLICY[act].removes for act in about):
            wrong.append((role.value, "DELETE", removal.sqlstate))
    assert wrong == []


def roles_under_database_role(role: Role) -> list[Role]:
    """Operators and admins act under one database role."""
    people = [Role.OPERATOR, Role.ADMIN]
    return people if role in people else [role]


def shares_database_role(role: Role, allowed: frozenset[Role]) -> bool:
    return bool(allowed & set(roles_under_database_role(role)))


def columns_for(act: Act, role: Role, noun: str) -> set[str]:
    each = [
        other
        for other in roles_under_database_role(role)
        if other in POLICY[act].allowed and noun_written_by(act, other) == noun
    ]
    return {name for other in each for name in columns_of(act, other)}


def hidden_by_a_trigger(noun: str, role: Role) -> bool:
    """Signatures and freezes are refused alike; tests/governance/database/test_authorship_columns.py has them."""
    return noun in {"memory", "block", "profile", "note"} and role not in {Role.OPERATOR, Role.ADMIN}
