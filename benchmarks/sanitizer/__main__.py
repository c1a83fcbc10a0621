# ruff: noqa: RUF001 - the texts are in many scripts.
"""Sanitizer and scanner: detections, false alarms, speed, and growth of their time.

`python -m benchmarks.sanitizer` prints tables and fails if a promise is broken: false alarms, growth, or time per
text. `--quick` measures fewer rounds; `--data DIR` reads the development data from elsewhere.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from apps.launcher.data_folders import PROJECT
from apps.prompt.injection_scanner.scanner import scan
from apps.prompt.sanitizer.clean import sanitize
from benchmarks.sanitizer.hostile_texts import FLOODS

SMALL, LARGE = 4_096, 65_536
GROWTH, MILLISECONDS = 1.3, 50.0
# The characters that the sanitizer removes, in the single pass of a plain filter.
SANITIZER_CLASS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
ASCII: Final = (
    'Hello, my order 4711 has not arrived yet. The status page says "in transit" since Monday.\n'
    "Could you ask the carrier, please? My name is Ada, and I live in 12 Mill Lane (second floor).\n\n"
)
TEXTS: Final = {
    "English": ASCII,
    "German": "Guten Tag, meine Bestellung ist noch nicht da. Können Sie für mich nachfragen? Schöne Grüße, Jörg\n",
    "English with signs": ASCII.replace('"', "”").replace("-", "—").replace("'", "’"),
    "Russian": "Здравствуйте, мой заказ ещё не пришёл. Подскажите, пожалуйста, где он сейчас?\n",
    "Chinese": "您好，我的订单还没有到，请帮我查一下现在在哪里。谢谢！\n",
    "Hindi": "नमस्ते, मेरा ऑर्डर अभी तक नहीं आया है। कृपया बताइए कि वह कहाँ है।\n",
    "Persian": "سلام، سفارش من هنوز نرسیده است. می‌خواهم بدانم کجاست.\n",
    "chat with emoji": "Hi! Still no parcel 😕 can you have a look? Thanks a lot 🙏🏽 👩‍👧\n",
}


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts that are all attacks or all ordinary; `allowed` is the permitted share of false alarms."""

    name: str
    texts: tuple[str, ...]
    allowed: float | None = None

    @property
    def flagged(self) -> int:
        return sum(bool(scan(text)) for text in self.texts)


def development(data: Path) -> Iterator[LabelledTexts]:
    """Yield the data sets in the folder, and the ordinary conversations beside them."""
    rows = _rows(data / "deepset_train.jsonl")
    yield LabelledTexts("deepset, attacks", tuple(row["text"] for row in rows if row["attack"]))
    for family, texts in json.loads((data / "bipia_text_attack_train.json").read_text("utf-8")).items():
        yield LabelledTexts(f"BIPIA, {family}", tuple(texts))
    yield LabelledTexts("deepset, ordinary", tuple(row["text"] for row in rows if not row["attack"]), 0.01)
    yield LabelledTexts(
        "WildGuard, ordinary", tuple(row["text"] for row in _rows(data / "wildguard_benign_200.jsonl")), 0.01
    )
    yield LabelledTexts(
        "NotInject, one tempting word", tuple(row["text"] for row in _rows(data / "notinject_one.jsonl")), 0.05
    )
    yield LabelledTexts(
        "airline customers, ordinary", tuple(_customers(data.parent / "tau_airline_transcripts.jsonl")), 0.01
    )
    guidelines = json.loads((data.parent / "abcd_guidelines.json").read_text("utf-8"))
    yield LabelledTexts("support guidelines, ordinary", tuple(dict.fromkeys(_strings(guidelines))), 0.01)


def _rows(file: Path) -> list[dict[str, Any]]:  # Any: rows of others' files
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _customers(file: Path) -> Iterator[str]:
    for transcript in _rows(file):
        for message in transcript["messages"]:
            if message["role"] == "user":
                yield message["content"].replace("###STOP###", "")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def report_recall(data: Path, console: Console) -> list[str]:
    if not data.is_dir():
        console.print(f"No development data in {data}: recall and false alarms are not measured.")
        return []
    table = Table("set", "texts", "flagged", "share", "promise", title="Findings")
    broken = []
    for lines in development(data):
        share = lines.flagged / len(lines.texts)
        promise = "" if lines.allowed is None else f"at most {lines.allowed:.0%}"
        table.add_row(lines.name, str(len(lines.texts)), str(lines.flagged), f"{share:.1%}", promise)
        if lines.allowed is not None and share > lines.allowed:
            broken.append(f"{lines.name}: {share:.1%} false alarms, {promise} were promised.")
    console.print(table)
    return broken


def seconds(work: Callable[[str], object], text: str, rounds: int) -> float:
    """Return the best processor time of one call; the wall clock would also count other load of the machine."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work(text)
        best = min(best, time.process_time() - start)
    return best


def sanitize_all(text: str) -> object:
    return sanitize(text, len(text) * 2)


def speeds(console: Console, rounds: int) -> None:
    table = Table(
        "text", "class pass", "sanitize", "ratio", "scan", title="MB/s over 154,000 characters (goal: ratio 0.5)"
    )
    for name, sentence in TEXTS.items():
        text = (sentence * (154_000 // len(sentence) + 1))[:154_000]
        megabytes = len(text.encode()) / 1e6
        passed, cleaned, scanned = (
            megabytes / seconds(work, text, rounds)
            for work in (lambda text: SANITIZER_CLASS.sub("", text), sanitize_all, scan)
        )
        table.add_row(name, f"{passed:.0f}", f"{cleaned:.0f}", f"{cleaned / passed:.2f}", f"{scanned:.1f}")
    console.print(table)


def report_growth(console: Console, rounds: int) -> list[str]:
    """Print the growth of the time from 4 kB to 64 kB, beside a factor of sixteen; for the sanitizer it is a promise."""
    broken = []
    for name, work in (("sanitize", sanitize_all), ("scan", scan)):
        table = Table(
            "flood", "64 kB in ms", "growth", title=f"{name}: the slowest and the steepest of {len(FLOODS)} floods"
        )
        measured = {flood: _measure_growth(work, make, rounds) for flood, make in FLOODS.items()}
        slowest = sorted(measured, key=lambda flood: -measured[flood][0])[:5]
        steepest = sorted(measured, key=lambda flood: -measured[flood][1])[:5]
        for flood in dict.fromkeys((*slowest, *steepest)):
            table.add_row(flood, f"{measured[flood][0]:.1f}", f"{measured[flood][1]:.2f}")
        console.print(table)
        if work is sanitize_all:
            broken += [
                f"sanitize, {flood}: {spent:.1f} ms, {growth:.2f} x proportional; {MILLISECONDS} ms and {GROWTH} were promised."
                for flood, (spent, growth) in measured.items()
                if spent > MILLISECONDS or growth > GROWTH
            ]
    return broken


def _measure_growth(work: Callable[[str], object], make: Callable[[int], str], rounds: int) -> tuple[float, float]:
    """Return the milliseconds for the large text, and the growth beyond proportion; steep growth is measured again."""
    small, large = make(SMALL), make(LARGE)
    work(small)
    spent, growth = float("inf"), float("inf")
    for _ in range(4):
        short, long = seconds(work, small, rounds * 2), seconds(work, large, rounds)
        spent, growth = min(spent, long * 1e3), min(growth, long / short * SMALL / LARGE)
        if growth <= GROWTH and spent <= MILLISECONDS:
            break
    return spent, growth


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--data", type=Path, default=PROJECT.parent / "shared" / "data" / "injection")
    options = parser.parse_args()
    console = Console()
    rounds = 2 if options.quick else 5
    broken = report_recall(options.data, console)
    speeds(console, rounds)
    broken += report_growth(console, rounds)
    for sentence in broken:
        console.print(sentence, style="red")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
