"""What extraction makes of 100 real conversations whose reward it is not told, and that nothing of a customer is in a draft."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.learning.extraction.models import Extraction
from apps.skills.models import Skill
from tests.commands.test_import_transcripts import REAL
from tests.commands.test_mine_skills import mine, standin, world
from tests.support.drivers.management_command import run_command
from tests.support.worlds.world import World

__all__ = ["standin", "world"]
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not REAL.exists(), reason="The airline transcripts do not lie beside this repository."),
]

# Under these keys a tool returned or was given what is one customer's.
CUSTOMER_FIELDS = {
    "first_name",
    "last_name",
    "email",
    "user_id",
    "reservation_id",
    "dob",
    "address1",
    "address2",
    "zip",
    "id",
}
LIST_FIELDS = {"reservations"}


def values_of(node: Any, key: str = "") -> Iterator[str]:  # Any: JSON
    match node:
        case dict():
            for name, value in node.items():
                yield from values_of(value, name)
        case list():
            for value in node:
                yield from values_of(value, key)
        case str() if key in CUSTOMER_FIELDS | LIST_FIELDS and len(node) > 1:
            yield node


def customers_values(transcripts: list[dict[str, Any]]) -> set[str]:
    """The transcripts' own values, read without any of the product's code."""
    found: set[str] = set()
    for message in (message for each in transcripts for message in each["messages"]):
        texts = [call["function"]["arguments"] for call in message.get("tool_calls") or []]
        texts += [message["content"]] if message["role"] == "tool" else []
        for text in texts:
            try:
                found |= set(values_of(json.loads(text)))
            except ValueError:
                continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("is_told", [False, True])
def test_a_hundred_conversations_with_and_without_their_outcome(
    world: World, standin: str, tmp_path: Path, is_told: bool
) -> None:
    # R110, R115: told, the gate sees whether a conversation was solved; untold, it sees what was said and done.
    transcripts = [json.loads(line) for line in REAL.read_text(encoding="utf-8").splitlines()]
    blind = tmp_path / "blind.jsonl"
    hidden = {} if is_told else {"reward": None}
    blind.write_text("\n".join(json.dumps(each | hidden) for each in transcripts), encoding="utf-8")
    run_command("import_transcripts", str(blind), "--tenant", "acme-mine", "--agent", "support")
    assert mine().failure == ""
    rewards = {each["id"]: "solved" if each["reward"] >= 1 else "failed" for each in transcripts}
    with acting_as(world.system):
        keys = dict(Conversation.objects.visible_to(world.system).values_list("pk", "conversation_key"))
        verdicts = list(Extraction.objects.values_list("conversation_id", "verdict"))
        drafts = list(Skill.objects.visible_to(world.system))
    table = Counter((verdict, rewards[keys[pk].removeprefix("import:")]) for pk, verdict in verdicts)
    print(f"\n{len(drafts)} drafts, outcome {'told' if is_told else 'untold'}")
    for verdict in sorted({verdict for verdict, _ in table}):
        print(f"{verdict:<10} solved {table[verdict, 'solved']:>3}  failed {table[verdict, 'failed']:>3}")
    assert sum(table.values()) == 100
    assert 0 < len(drafts) < 15
    of_failed = {verdict for verdict, reward in table if reward == "failed"}
    # What a person said to have failed, and what needed no tool, the gate knows; of the others it knows what was said and done.
    assert of_failed == ({"unsolved", "trivial"} if is_told else {"drafted", "supports", "nothing", "trivial"})
    skill_text = "\n".join(text for skill in drafts for text in skill.texts.values())
    values = customers_values(transcripts)
    assert len(values) > 300
    assert [value for value in sorted(values) if re.search(rf"\b{re.escape(value)}\b", skill_text)] == []
