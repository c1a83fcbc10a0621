"""What becomes of notes: who writes, changes and settles them, how many there may be, and scratch that nobody touches."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import (
    Conflict,
    IllegalTransition,
    Invalid,
    NotPermitted,
    NotVisible,
    Stale,
    StoppedByKillSwitch,
)
from apps.governance.models import ChangeRecord, Taint
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.notebook.actions import amend_note, drop_note, finish_note, write_note
from apps.notebook.models import Note
from apps.notebook.rules import OPEN_PER_AGENT, OPEN_PER_CUSTOMER
from apps.notebook.scratch_expiry import drop_old_scratch
from apps.notebook.tasks import drop_scratch, sweep
from apps.tenants.due_work import due_work
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, run_and_undo
from tests.support.factories.notes import (
    LONG_AGO,
    insert_note_sql,
    make_note,
    make_note_of_customer,
    make_old_scratch,
    make_reminder,
)
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def acts(world: World, note: Note) -> list[str]:
    with acting_as(world.operator):
        records = ChangeRecord.objects.filter(subject_type="notebook.note", subject_id=note.pk)
        return list(records.order_by("id").values_list("act", flat=True))


def reload_note(world: World, note: Note) -> Note:
    with acting_as(world.operator):
        return Note.objects.get(pk=note.pk)


def test_a_note_is_written_changed_and_settled_once(world: World) -> None:
    # R177
    note = make_note(world, "Call back.\r\nAsk for Kim. ", actor=world.operator)
    assert (note.text, note.author, note.taint) == ("Call back.\nAsk for Kim.", world.operator.label, Taint.OPERATOR)
    amend_note(note, actor=world.admin, values={"text": "Write."}, read_at=note.version)
    assert (note.author, note.status) == (world.admin.label, Note.Status.OPEN)
    finish_note(note, actor=world.bot)
    assert acts(world, note) == ["note.write", "note.amend", "note.finish"]
    for again in (finish_note, drop_note):
        with pytest.raises(IllegalTransition):
            again(note, actor=world.operator)
    with pytest.raises(IllegalTransition, match="done and stays as it is"):
        amend_note(note, actor=world.operator, values={"text": "x"})


def test_who_puts_a_note_off_does_not_sign_for_its_words(world: World) -> None:
    # Z-22
    note = make_note(world, actor=world.bot)
    amend_note(note, actor=world.operator, values={"due_at": LONG_AGO})
    assert (note.author, note.taint) == (world.bot.label, Taint.AGENT)
    amend_note(note, actor=world.operator, values={"text": "In my words."})
    assert note.is_approved
    amend_note(note, actor=world.bot, values={"text": "In its own."}, taint=Taint.AGENT)
    assert (note.author, note.taint, note.is_approved) == (world.bot.label, Taint.AGENT, False)


def test_a_change_names_the_version_it_was_read_at(world: World) -> None:
    note = make_note(world)
    with pytest.raises(Stale):
        finish_note(note, actor=world.operator, read_at=note.version + 1)


def test_what_is_no_note_is_refused_with_the_field_that_is_wrong(world: World) -> None:
    with pytest.raises(Invalid, match="A reminder says when") as refused:
        make_note(world, kind=Note.Kind.REMINDER)
    assert list(refused.value.fields) == ["due_at"]
    with pytest.raises(Invalid, match="lines at most"):
        make_note(world, "x\n" * 20 + "x")
    with pytest.raises(Invalid):
        make_note(world, "x" * 501)


def test_an_agent_notes_for_all_its_customers_in_words_of_its_own_alone(world: World) -> None:
    # R007
    values = {"kind": Note.Kind.TASK, "text": "Give Ann a discount."}
    for taint in (None, Taint.CUSTOMER):
        with pytest.raises(NotPermitted, match="what a customer or another program said"):
            write_note(world.agent.pk, actor=world.bot, values=values, taint=taint)
    theirs = write_note(world.agent.pk, actor=world.bot, values=values | {"end_user_key": "http:ann"})
    assert theirs.taint == Taint.CUSTOMER
    with pytest.raises(NotPermitted):
        amend_note(make_note(world), actor=world.bot, values={"text": "Give Ann a discount."})


@pytest.mark.slow
def test_one_note_too_many_is_refused_until_one_is_finished(world: World) -> None:
    notes = [make_note_of_customer(world, f"Number {number}.") for number in range(OPEN_PER_CUSTOMER)]
    with pytest.raises(Conflict, match=f"The oldest are {notes[0].pk}, {notes[1].pk}, {notes[2].pk}: finish"):
        make_note_of_customer(world)
    make_note_of_customer(world, end_user_key="http:other")
    finish_note(notes[0], actor=world.operator)
    make_note_of_customer(world)
    for number in range(OPEN_PER_AGENT):
        make_note(world, f"Number {number}.")
    with pytest.raises(Conflict, match=f"{OPEN_PER_AGENT} open notes without a customer"):
        make_note(world)


def test_while_learning_is_frozen_an_agent_notes_nothing_and_still_finishes(world: World) -> None:
    note = make_note(world)
    activate_kill_switch(KillSwitch.Kind.FREEZE_LEARNING, actor=world.operator, reason="Rest.")
    with pytest.raises(StoppedByKillSwitch):
        make_note(world, actor=world.bot)
    make_note(world)
    assert finish_note(note, actor=world.bot).status == Note.Status.DONE


def test_another_tenants_note_is_not_there(world: World) -> None:
    # R006
    note, other = make_note(world), make_world()
    with acting_as(other.operator):
        assert not Note.objects.visible_to(other.operator).exists()
    with pytest.raises(NotVisible):
        finish_note(note, actor=other.operator)


def test_the_database_holds_what_the_acts_hold(world: World) -> None:
    note, done = make_note(world), finish_note(make_reminder(world), actor=world.operator)
    for actor in (world.bot, world.system):
        for change in ("taint = 'operator'", "author = 'operator:1'", "text = 'By whom?'", "kind = 'task'"):
            statement = f"UPDATE notebook_note SET {change} WHERE id = %s"  # noqa: S608  # from the list above
            assert run_and_undo(actor, statement, [note.pk]).sqlstate == NO_RIGHT, (actor.role, change)
    assert run_and_undo(world.bot, "DELETE FROM notebook_note").sqlstate == NO_RIGHT
    for change in ("text = 'x'", "due_at = now()", "status = 'open'"):
        statement = f"UPDATE notebook_note SET {change} WHERE id = %s"  # noqa: S608  # from the list above
        assert run_and_undo(world.operator, statement, [done.pk]).sqlstate == BROKEN_RULE, change
    for kind, due in (("reminder", None), ("scratch", LONG_AGO.isoformat()), ("thought", None)):
        assert run_and_undo(world.operator, *insert_note_sql(world, kind, due)).sqlstate == BROKEN_RULE, kind


def test_scratch_that_nobody_touched_for_a_week_is_dropped_by_the_calendar(world: World) -> None:
    # R177
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute(*insert_note_sql(world, "task", age="8 days"))
    old = make_old_scratch(world)
    fresh = make_note(world, kind=Note.Kind.SCRATCH)
    assert due_work("scratch_notes") == [(world.tenant.pk, old)]
    drop_scratch.run(world.tenant.pk, old)
    with acting_as(world.operator):
        statuses = dict(Note.objects.values_list("pk", "status"))
        record = ChangeRecord.objects.get(act="note.drop")
    assert statuses.pop(old) == Note.Status.DROPPED
    assert set(statuses.values()) == {Note.Status.OPEN}
    assert (record.subject_id, record.actor_label) == (old, "calendar")
    assert due_work("scratch_notes") == []
    drop_scratch.run(world.tenant.pk, old)
    drop_old_scratch(world.tenant.pk, fresh.pk, timezone.now() + timedelta(days=6))
    assert reload_note(world, fresh).status == Note.Status.OPEN
    drop_old_scratch(world.tenant.pk, fresh.pk, timezone.now() + timedelta(days=8))
    assert reload_note(world, fresh).status == Note.Status.DROPPED


def test_the_system_drops_and_does_nothing_else_to_a_note(world: World) -> None:
    note = make_note(world)
    with pytest.raises(NotPermitted):
        finish_note(note, actor=world.system)
    with pytest.raises(NotPermitted):
        make_note(world, actor=world.system)
    assert drop_note(note, actor=world.system).status == Note.Status.DROPPED


def test_a_record_of_a_note_names_no_words(world: World) -> None:
    note = make_note_of_customer(world, "Ann is allergic to nuts.")
    with acting_as(world.operator):
        assert ChangeRecord.objects.get(subject_type="notebook.note").subject_label == str(note.pk)


def test_a_sweep_finds_nothing_where_nothing_is_old(world: World) -> None:
    make_note(world, kind=Note.Kind.SCRATCH)
    sweep.run()
    assert due_work("scratch_notes") == []
