"""`manage.py import_transcripts`: real chat logs become resolved conversations, once each."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import OutputWrapper

from apps.conversations.management.progress import CommandProgress
from apps.conversations.models import Conversation, Message
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.launcher.data_folders import PROJECT
from tests.support.drivers.management_command import CommandOutput, run_command
from tests.support.worlds.world import World, make_world

REAL = PROJECT.parent / "shared" / "data" / "tau_airline_transcripts.jsonl"
ImportCommand = Callable[..., CommandOutput]


def chat(name: str, **given: Any) -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": "find_order", "arguments": '{"order": "A1"}'}}
    messages = [
        {"role": "user", "content": "Where is my order?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "On its way."},
        {"role": "assistant", "content": "It is on its way."},
    ]
    return {"id": name, "messages": messages} | given


@pytest.fixture
def world(db: None) -> World:
    return make_world("acme-import")


@pytest.fixture
def take(world: World, tmp_path: Path) -> ImportCommand:
    """Write lines to a file and import it."""

    def importing(*lines: Any, options: tuple[str, ...] = ()) -> CommandOutput:
        file = tmp_path / "chats.jsonl"
        file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return run_command("import_transcripts", str(file), "--tenant", "acme-import", "--agent", "support", *options)

    return importing


def test_transcript_becomes_a_resolved_conversation_with_its_tool_calls(world: World, take: ImportCommand) -> None:
    seen = take(chat("one", reward=1), chat("two", reward=0))
    assert (seen.out.strip(), seen.failure) == ("2 imported, 0 here already, 0 malformed", "")
    with acting_as(world.system):
        one, two = Conversation.objects.visible_to(world.system).order_by("id")
        assert (one.conversation_key, one.status, one.outcome, one.origin) == ("one", "resolved", "solved", "imported")
        assert two.outcome == "unsolved"
        assert list(Message.objects.filter(conversation=one).values_list("sender", "text")) == [
            ("customer", "Where is my order?"),
            ("agent", ""),
            ("agent", "It is on its way."),
        ]
        [call] = Message.objects.get(conversation=one, position=1).tool_calls
        assert (call["name"], call["arguments"], call["result"]) == ("find_order", {"order": "A1"}, "On its way.")


def test_second_import_of_the_same_file_takes_nothing(world: World, take: ImportCommand) -> None:
    take(chat("one"))
    seen = take(chat("one"), chat("two"))
    assert seen.out.strip() == "1 imported, 1 here already, 0 malformed"
    with acting_as(world.system):
        assert Conversation.objects.visible_to(world.system).count() == 2


def test_malformed_line_is_named_by_its_number_and_the_others_are_taken(world: World, take: ImportCommand) -> None:
    long_name = chat("x" * 300)
    seen = take(chat("one"), "{oops", "", {"messages": [{"role": "bard"}]}, long_name, chat("two"))
    assert seen.out.strip() == "2 imported, 0 here already, 3 malformed"
    assert "Line 2 is malformed. The line is not JSON" in seen.err
    assert "Line 4 is malformed. Message 1: its role is 'bard'" in seen.err
    assert "Line 5 is malformed." in seen.err
    assert "Malformed lines: 3" in seen.failure


def test_system_imports_unless_a_member_is_named(world: World, take: ImportCommand) -> None:
    take(chat("one"))
    take(chat("two"), options=("--as", world.operator_user.username))
    with acting_as(world.system):
        by = ChangeRecord.objects.filter(act="conversation.import").order_by("id").values_list("actor_label", flat=True)
        assert list(by) == ["system", world.operator.label]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--tenant", "nobody", "--agent", "support"), "There is no tenant “nobody”"),
        (("--tenant", "acme-import", "--agent", "poet"), "no agent “poet”. Its agents: support"),
        (("--tenant", "acme-import", "--agent", "support", "--as", "eve"), "“eve” is not an active member"),
        (("--tenant", "acme-import", "--agent", "support"), "cannot be read: No such file"),
    ],
)
def test_name_that_names_nothing_is_refused(
    world: World, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in run_command("import_transcripts", str(tmp_path / "missing.jsonl"), *words).failure


def test_member_of_another_tenant_imports_nothing_here(take: ImportCommand) -> None:
    other = make_world("umbrella")
    assert "not an active member" in take(chat("one"), options=("--as", other.admin_user.username)).failure


def test_empty_file_is_refused(take: ImportCommand) -> None:
    assert "it is empty" in take("").failure


def test_line_longer_than_memory_allows_is_skipped(world: World, take: ImportCommand) -> None:
    seen = take(chat("one"), " " * 9_000_000 + "{}", chat("two"))
    assert seen.out.strip() == "2 imported, 0 here already, 1 malformed"
    assert "Line 2 is malformed. The line is longer than" in seen.err


@pytest.mark.slow
def test_progress_is_a_line_every_25_in_a_log_and_one_moving_line_on_a_terminal(take: ImportCommand) -> None:
    assert "25 lines read\n50 lines read\n" in take(*[chat(f"n{number}") for number in range(51)]).err
    terminal = _Terminal()
    progress = CommandProgress(OutputWrapper(terminal), "lines read", 2)
    progress.advance()
    progress.interrupt("Line 1 is odd.")
    progress.advance()
    progress.finish()
    assert terminal.getvalue() == "\r1 of 2 lines read\r\x1b[KLine 1 is odd.\n\r2 of 2 lines read\n"


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="The airline transcripts do not lie beside this repository.")
def test_hundred_real_transcripts_import_whole(world: World) -> None:
    words = ("import_transcripts", str(REAL), "--tenant", "acme-import", "--agent", "support")
    assert run_command(*words).out.strip() == "100 imported, 0 here already, 0 malformed"
    assert run_command(*words).out.strip() == "0 imported, 100 here already, 0 malformed"
    with acting_as(world.system):
        assert sum(len(calls) for calls in Message.objects.values_list("tool_calls", flat=True)) == 572
