"""Cost of assembling and sanitizing a full prompt, beside hashing and copying the same bytes.

`python -m benchmarks.prompt_assembly` prints a table and fails if another process makes different bytes from the same rows;
`--quick` does the same with fewer rounds and processes.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Final

from rich.console import Console
from rich.table import Table

from apps.launcher.data_folders import PROJECT
from apps.prompt.prompt_input import (
    IdentityCardInput,
    InvokableAgentInput,
    MemoryInput,
    Passage,
    PersonaInput,
    PinnedBlock,
    ProfileInput,
    PromptInput,
    SkillInput,
    TextProvenance,
)
from apps.prompt.rendering.segments import PromptSnapshot, SlotText, encode_segments
from apps.prompt.rendering.snapshot import render_snapshot
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.text_limits import SECTION_CHARACTERS, SKILL_DESCRIPTION_CHARACTERS

SKILLS: Final = 50
ASCII: Final = "Ada answers within a day; she says what happens next, and who does it.\n"
MIXED: Final = "Ada antwortet an einem Tag; sie sagt, was als Nächstes geschieht. 納品は金曜日です。\n"
ZONES: Final = ("UTC", "Asia/Kathmandu", "America/New_York", "Pacific/Chatham")
LOCALES: Final = ("C", "tr_TR.UTF-8", "de_DE.ISO-8859-1", "ja_JP.UTF-8")


@dataclass(frozen=True, slots=True)
class Cost:
    """One operation on the prompt, and its best processor time in microseconds."""

    done: str
    microseconds: float


def full_prompt(sentence: str, chance: Random) -> PromptInput:
    """Return a prompt with every field at its limit, fifty skills, two approvers and a missing one; rows in random order."""

    def passage(
        row: int, field: str = "text", approver: str = "operator:1", characters: int = SECTION_CHARACTERS
    ) -> Passage:
        text = (sentence * (characters // len(sentence) + 1))[:characters]
        return Passage(text, TextProvenance("note", row, 1, field, "agent", approver, "operator"))

    rows = [passage(row) for row in (40, 41)]
    skills = [_skill(number, sentence) for number in range(SKILLS)]
    chance.shuffle(rows)
    chance.shuffle(skills)
    return PromptInput(
        agent_key="ada",
        tier=4,
        identity_card=IdentityCardInput(*(passage(1, field, characters=200) for field in "abcdefg")),
        persona=PersonaInput(*(passage(2, field) for field in "abcde")),
        overlay=passage(3),
        organisation_rules=tuple(rows),
        agent_rules=tuple(rows),
        skills=tuple(skills),
        invokable=(
            InvokableAgentInput(
                "billing", "Billing desk", "Answers questions about invoices.", TextProvenance("agent", 4, 1)
            ),
        ),
        memory=MemoryInput(
            body=(passage(5, approver=""),),
            blocks=(PinnedBlock("BusinessFacts", passage(6)),),
            **{
                tier: (passage(7, tier, approver=""),)
                for tier in ("short", "mid", "long", "reminders", "scratch", "tasks")
            },
        ),
        profile=ProfileInput(passage(8, "preferences", ""), passage(8, "notes", "")),
        skills_guidance=True,
    )


def _skill(number: int, sentence: str) -> SkillInput:
    source = TextProvenance("skill", number, 1, "", "agent", "operator:1", "operator")
    described = (sentence * 9)[:SKILL_DESCRIPTION_CHARACTERS]
    return SkillInput(number, f"handle-request-{number}", "", described, number, source)


def costs(prompt: PromptInput, rounds: int) -> tuple[int, list[Cost]]:
    """Measure the operations in interleaved rounds and keep the best: other load of the machine then affects all alike."""
    assembled = render_snapshot(prompt)
    content, texts = assembled.text.encode(), list(_texts(prompt))
    steps: dict[str, Callable[[], object]] = {
        "hash and copy the bytes": lambda: hashlib.sha256(bytearray(content)).digest(),
        "sanitize the same texts": lambda: [sanitize(text) for text in texts],
        "assemble, sanitizing included": lambda: render_snapshot(prompt),
        "hash every part with its owners": lambda: [part.sha256 for part in _parts_without_hashes(assembled)],
        "encode the segments for storage": lambda: [encode_segments(part) for part in assembled.parts],
    }
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            best[name] = min(best[name], timeit.timeit(step, timer=time.process_time, number=5) / 5)
    return len(content), [Cost(name, seconds * 1e6) for name, seconds in best.items()]


def _texts(value: object) -> Iterator[str]:
    """Yield every text in a value that assembling has cleaned."""
    match value:
        case Passage(text=text):
            yield text
        case SkillInput(name=name, description=described):
            yield from (name, described)
        case tuple():
            for item in value:
                yield from _texts(item)
        case IdentityCardInput() | PersonaInput() | MemoryInput() | PinnedBlock() | ProfileInput() | PromptInput():
            for field in fields(value):
                yield from _texts(getattr(value, field.name))


def _parts_without_hashes(assembled: PromptSnapshot) -> list[SlotText]:
    """Return the parts without the hashes that they cache."""
    return [replace(part) for part in assembled.parts]


def hashes_in_processes(processes: int) -> set[str]:
    """Return the hashes of other processes for the same rows, each with its own hash seed, locale, zone and order of rows."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return set(pool.map(_hash_in_process, range(processes)))


def _hash_in_process(number: int) -> str:
    machine = {
        "PATH": os.environ["PATH"],
        "PYTHONHASHSEED": str(number),
        "LC_ALL": LOCALES[number % len(LOCALES)],
        "TZ": ZONES[number // 2 % len(ZONES)],
    }
    command = [sys.executable, "-m", "benchmarks.prompt_assembly", "--hash-of", str(number)]
    return subprocess.run(command, cwd=PROJECT, env=machine, capture_output=True, text=True, check=True).stdout.strip()


def combined_hash(seed: int) -> str:
    parts = render_snapshot(full_prompt(MIXED, Random(seed))).parts
    return hashlib.sha256("".join(part.sha256 for part in parts).encode()).hexdigest()


def report(rounds: int, processes: int) -> bool:
    """Print the table; return whether every process made the same bytes."""
    console = Console(width=100)
    for name, sentence in (("ASCII", ASCII), ("German and Japanese", MIXED)):
        size, measured = costs(full_prompt(sentence, Random(0)), rounds)
        table = Table("what", "microseconds", "ratio", title=f"{name}: {size:,} bytes, {SKILLS} skills")
        for cost in measured:
            ratio = cost.microseconds / measured[0].microseconds
            table.add_row(cost.done, f"{cost.microseconds:,.0f}", f"{ratio:,.1f}")
        console.print(table)
    agree = hashes_in_processes(processes) == {combined_hash(0)}
    verdict = "made the same bytes" if agree else "DID NOT make the same bytes"
    console.print(f"{processes} processes with other hash seeds, locales, zones and row orders {verdict}.")
    return agree


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true", help="fewer rounds and processes")
    asked.add_argument("--hash-of", type=int, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.hash_of is not None:
        print(combined_hash(options.hash_of))
        return 0
    return 0 if report(*((5, 4) if options.quick else (25, 25))) else 1


if __name__ == "__main__":
    sys.exit(main())
