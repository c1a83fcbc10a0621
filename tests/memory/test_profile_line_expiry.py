"""Until when lines noted of a customer hold: who says so, which sessions carry them, and what waits with its day (R160, R161)."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import ProgrammingError, connection
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotPermitted, Stale
from apps.governance.models import ChangeRecord, Proposal, Taint
from apps.governance.proposals.actions import release_proposal
from apps.learning.contradictions.memory_warnings import profile_contradictions
from apps.memory.actions import amend_profile, create_profile
from apps.memory.line_dates import set_profile_line_dates
from apps.memory.line_decisions import quarantine_profile_lines
from apps.memory.models import CustomerProfile, ProfileLine
from apps.prompt.memory_lines.line_diff import line_sha256
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.rendering.snapshot import render_snapshot
from apps.review.decisions import undo
from apps.runtime.prompt_snapshot.prompt_input_builder import read_prompt_input, read_prompt_input_at
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import (
    calls,
    prompt,
    reply,
    run_customer_turn,
    run_turn,
    send_customer_message,
    tool,
)
from tests.support.factories.approvals import approve_as_read
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_profile, make_world

pytestmark = pytest.mark.django_db

KEY = "http:ada"
CAST, DOG = "Wears a cast.", "Has a dog."
EXPIRED_DATES = LineDates(valid_until=datetime(2020, 1, 1, tzinfo=UTC))
FUTURE_DATES = LineDates(datetime(2999, 1, 1, tzinfo=UTC), datetime(2998, 6, 1, tzinfo=UTC))


@pytest.fixture
def world() -> World:
    return make_world()


def current_prompt(world: World, now: datetime | None = None) -> str:
    """The prompt of a session with the customer that opens now."""
    actor, at = world.bot.serving(KEY, is_proven=True), now or timezone.now()
    return render_snapshot(read_prompt_input(world.agent, KEY, actor=actor, system=world.system, now=at)).text


def dates(world: World) -> dict[str, tuple[datetime | None, datetime | None]]:
    """What the ledger says of lines that stand."""
    with acting_as(world.operator):
        rows = ProfileLine.objects.filter(status="active").values_list("text", "valid_until", "review_after")
        return {text: (until, review) for text, until, review in rows}


@pytest.mark.parametrize("part", ["notes", "preferences"])
def test_a_session_that_opens_after_the_end_does_not_carry_the_line_and_an_open_one_keeps_it(
    part: str, world: World, standin: StandIn
) -> None:
    # R062
    profile = make_profile(world, KEY, **{"notes": "Calls.", "preferences": "E-mail.", part: f"{CAST}\n{DOG}"})
    standin.play(reply("Hello."), reply("Hello."), reply("Hello."))
    run_turn(world, send_customer_message(world, "Hello", customer=KEY), standin.backend)
    set_profile_line_dates(profile, actor=world.operator, line=CAST, dates=EXPIRED_DATES)
    run_turn(world, send_customer_message(world, "Hello again", customer=KEY), standin.backend)
    run_turn(world, send_customer_message(world, "Hello", thread="later", customer=KEY), standin.backend)
    opened, same, later = (prompt(body) for body in standin.requests()[-3:])
    assert (CAST in opened, CAST in later, DOG in later) == (True, False, True)
    assert same == opened
    assert getattr(profile, part) == f"{CAST}\n{DOG}", "the text stays the truth"


def test_a_text_of_which_nothing_holds_is_no_part_of_the_prompt_and_a_prompt_of_the_past_has_it(world: World) -> None:
    profile = make_profile(world, KEY, notes=CAST, preferences="")
    before = timezone.now()
    set_profile_line_dates(profile, actor=world.operator, line=CAST, dates=EXPIRED_DATES)
    assert CAST not in current_prompt(world)
    assert CAST in render_snapshot(read_prompt_input_at(world.agent, KEY, before, system=world.system)).text


def test_dating_a_line_is_one_change_that_vouches_for_nothing_and_can_be_taken_back(world: World) -> None:
    profile = make_profile(world, KEY, notes=CAST, preferences=f"{CAST}\n{DOG}")
    set_profile_line_dates(profile, actor=world.operator, line=f"  {CAST}", dates=FUTURE_DATES, read_at=1)
    assert (profile.version, profile.taint, profile.updated_by) == (2, "customer", "agent")
    assert dates(world) == {CAST: (FUTURE_DATES.valid_until, FUTURE_DATES.review_after), DOG: (None, None)}
    with acting_as(world.operator):
        both = ProfileLine.objects.filter(text=CAST).values_list("valid_until", "last_version")
        assert list(both) == [(FUTURE_DATES.valid_until, 2), (FUTURE_DATES.valid_until, 2)], (
            "the same line in both texts is one sentence"
        )
        records = ChangeRecord.objects.filter(subject_type="memory.customerprofile").order_by("id")
        assert list(records.values_list("act", flat=True)) == ["profile.amend", "profile.set_line_dates"]
    assert CAST in current_prompt(world)
    set_profile_line_dates(profile, actor=world.operator, line=CAST, dates=LineDates())
    assert (profile.line_dates, dates(world)[CAST]) == ({}, (None, None))


def test_only_people_date_a_line_that_stands_and_that_they_read(world: World) -> None:
    profile = make_profile(world, KEY, notes=CAST)
    for line in ("Other.", ""):
        with pytest.raises(Invalid, match="There is no such line in this text"):
            set_profile_line_dates(profile, actor=world.operator, line=line, dates=EXPIRED_DATES)
    with pytest.raises(Stale):
        set_profile_line_dates(profile, actor=world.operator, line=CAST, dates=EXPIRED_DATES, read_at=7)
    with pytest.raises(NotPermitted):
        set_profile_line_dates(profile, actor=world.bot, line=CAST, dates=EXPIRED_DATES)


def test_a_line_that_goes_takes_its_date_along_and_one_that_stays_keeps_it(world: World) -> None:
    profile = make_profile(world, KEY, notes=f"{CAST}\n{DOG}")
    for line in (CAST, DOG):
        set_profile_line_dates(profile, actor=world.operator, line=line, dates=FUTURE_DATES)
    amend_profile(profile, actor=world.bot, values={"notes": DOG}, dates={DOG: LineDates(), "Elsewhere.": FUTURE_DATES})
    assert list(profile.line_dates) == [line_sha256(DOG)], "an agent takes no date from a line that stood"
    amend_profile(profile, actor=world.bot, values={"notes": f"{DOG}\n{CAST}"})
    assert dates(world)[CAST] == (None, None)


def test_an_agent_says_until_when_its_new_lines_hold_and_reads_none_that_hold_no_more(
    world: World, standin: StandIn
) -> None:
    # R160
    amend_agent(world.agent, actor=world.admin, may_edit_memory=True)
    profile = make_profile(world, KEY, notes=f"{DOG}\nMoves in May.", preferences="")
    set_profile_line_dates(profile, actor=world.operator, line="Moves in May.", dates=EXPIRED_DATES)
    changes = [
        {"op": "add", "field": "notes", "text": CAST, "valid_until": "2999-12-31", "review_after": "2999-06-01"},
        {"op": "add", "field": "notes", "text": DOG, "valid_until": "2999-12-31"},
    ]
    standin.play(tool("update_contact_memory", operations=changes), tool("read_contact_memory"), reply("Done."))
    saved, read = calls(world, run_customer_turn(world, "Hello", standin, customer=KEY))
    assert (saved["is_error"], read["is_error"]) == (False, False)
    assert ("Moves in May." in read["result"], DOG in read["result"]) == (False, True)
    assert read["result"].count("These hold only until the moment beside them:") == 1
    assert dates(world)[CAST] == (datetime(3000, 1, 1, tzinfo=UTC), datetime(2999, 6, 1, tzinfo=UTC))
    assert dates(world)[DOG] == (None, None), "it dates lines that it brings alone"
    changes = [{"op": "add", "field": "notes", "text": "More.", "valid_until": "soon"}]
    standin.play(tool("update_contact_memory", operations=changes), reply("Done."))
    [refused] = calls(world, run_customer_turn(world, "Hello again", standin, customer=KEY))
    assert (refused["is_error"], "as days such as 2026-12-31" in str(refused["result"])) == (True, True)


def test_where_all_memory_waits_a_line_waits_with_its_day_and_an_undo_brings_the_old_days_back(
    standin: StandIn,
) -> None:
    # Z-19
    world = make_world(memory_review=MemoryReview.ALL)
    profile = create_profile(KEY, actor=world.operator, values={"notes": DOG})
    set_profile_line_dates(profile, actor=world.operator, line=DOG, dates=FUTURE_DATES)
    amend_profile(profile, actor=world.bot, values={"notes": CAST}, dates={CAST: FUTURE_DATES})
    with acting_as(world.operator):
        proposal = Proposal.objects.get()
    assert proposal.content == {
        "notes": CAST,
        "valid_until": {CAST: "2998-12-31"},
        "review_after": {CAST: "2998-06-01"},
    }
    with pytest.raises(Invalid, match="a line that is not in the proposal"):
        approve_as_read(proposal, world.operator, {"notes": CAST, "valid_until": {DOG: "2999-01-01"}})
    approve_as_read(proposal, world.operator)
    assert dates(world) == {CAST: (FUTURE_DATES.valid_until, FUTURE_DATES.review_after)}
    with acting_as(world.operator):
        undo(Proposal.objects.get(), actor=world.operator)
    assert dates(world) == {DOG: (FUTURE_DATES.valid_until, FUTURE_DATES.review_after)}


def test_an_undo_takes_back_the_day_that_it_brought_to_a_line_that_stood(world: World) -> None:
    profile = make_profile(world, KEY, notes=DOG, preferences="")
    proposal = quarantine_profile_lines(profile, actor=world.operator, lines=[], reason="Odd.")
    release_proposal(proposal, actor=world.admin, reason="Fine.")
    with acting_as(world.operator):
        proposal = Proposal.objects.get()
    approve_as_read(proposal, world.operator, {"notes": DOG, "valid_until": {DOG: "2999-01-01"}})
    assert dates(world)[DOG][0] is not None
    with acting_as(world.operator):
        undo(Proposal.objects.get(), actor=world.operator)
    assert dates(world) == {DOG: (None, None)}


def test_a_released_line_comes_back_with_its_date(world: World) -> None:
    profile = make_profile(world, KEY, notes=f"{CAST}\n{DOG}", preferences="")
    for line in (CAST, DOG):
        set_profile_line_dates(profile, actor=world.operator, line=line, dates=FUTURE_DATES)
    proposal = quarantine_profile_lines(profile, actor=world.operator, lines=[CAST], reason="Odd.")
    assert list(profile.line_dates) == [line_sha256(DOG)]
    assert proposal.content["valid_until"] == {CAST: "2998-12-31"}


def test_what_holds_no_more_contradicts_nothing(world: World) -> None:
    six, twelve = "Their contract runs for six months.", "Their contract runs for twelve months."
    profile = create_profile(KEY, actor=world.operator, values={"notes": six, "preferences": twelve})
    assert profile_contradictions(profile)
    set_profile_line_dates(profile, actor=world.operator, line=six, dates=EXPIRED_DATES)
    assert not profile_contradictions(profile)


@pytest.mark.parametrize("role", ["bot", "system"])
def test_the_database_lets_people_alone_date_what_stands(role: str, world: World) -> None:
    profile = make_profile(world, KEY, notes=f"{CAST}\n{DOG}", preferences="")
    set_profile_line_dates(profile, actor=world.operator, line=CAST, dates=FUTURE_DATES)
    actor = getattr(world, role)
    statement = "UPDATE memory_customerprofile SET notes = %s, line_dates = %s WHERE id = %s"

    def write(notes: str, told_of: dict[str, LineDates]) -> None:
        kept = {line_sha256(line): found.wire for line, found in told_of.items()}
        with acting_as(actor), connection.cursor() as raw:
            raw.execute(statement, [notes, json.dumps(kept), profile.pk])

    for told_of in ({}, {CAST: EXPIRED_DATES}, {CAST: FUTURE_DATES, DOG: EXPIRED_DATES}):
        with pytest.raises(ProgrammingError, match="Only people set the expiry"):
            write(f"{CAST}\n{DOG}", told_of)
    write(f"{CAST}\n{DOG}\nNew.", {CAST: FUTURE_DATES, "New.": EXPIRED_DATES})
    write(DOG, {})
    with acting_as(world.operator):
        assert CustomerProfile.objects.get().notes == DOG
        assert CustomerProfile.objects.get().taint == Taint.CUSTOMER


def test_a_day_to_look_again_changes_no_prompt(world: World) -> None:
    profile = make_profile(world, KEY, notes=CAST)
    before = current_prompt(world)
    set_profile_line_dates(
        profile, actor=world.operator, line=CAST, dates=LineDates(review_after=timezone.now() - timedelta(days=1))
    )
    assert current_prompt(world) == before
