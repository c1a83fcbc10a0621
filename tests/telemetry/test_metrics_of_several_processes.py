"""Several processes behind one address: whichever is asked tells the counts of all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from apps.launcher.data_folders import PROJECT

# The processes are others: nothing of this one is measured.
pytestmark = [pytest.mark.pure, pytest.mark.unmeasured, pytest.mark.processes]

# Each counts two turns and holds three streams; the last one is asked.
COUNTING_SCRIPT = """
from apps.telemetry.product_metrics import STREAMS, TURN_SECONDS, TURNS
from apps.telemetry.prometheus import render_exposition
TURNS.labels(outcome="replied").inc(2)
TURN_SECONDS.observe(0.3)
STREAMS.set(3)
print(render_exposition("")[0].decode())
"""


def process_counts(folder: Path | None) -> dict[str, float]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "PROMETHEUS"))}
    if folder is not None:
        environment["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    result = subprocess.run(
        [sys.executable, "-c", COUNTING_SCRIPT],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    families = text_string_to_metric_families(result.stdout)
    return {
        sample.name + "".join(sample.labels.values()): sample.value for family in families for sample in family.samples
    }


@pytest.mark.slow
def test_counts_of_processes_that_share_a_folder_are_added_up(tmp_path: Path) -> None:
    for _ in range(2):
        process_counts(tmp_path)
    counts = process_counts(tmp_path)
    assert counts["preceptor_turns_totalreplied"] == 6
    assert (counts["preceptor_turn_seconds_bucket0.25"], counts["preceptor_turn_seconds_bucket0.5"]) == (0, 3)
    assert counts["preceptor_turn_seconds_count"] == 3


@pytest.mark.slow
def test_streams_of_processes_that_have_ended_are_not_held_any_more(tmp_path: Path) -> None:
    for _ in range(2):
        process_counts(tmp_path)
    assert process_counts(tmp_path)["preceptor_streams"] == 3
    # What they counted stays: a counter that falls would be taken for a new process.
    assert {path.name.split("_")[0] for path in tmp_path.iterdir()} == {"counter", "gauge", "histogram"}
    assert len(list(tmp_path.glob("counter_*.db"))) == 3


def test_without_a_folder_each_process_tells_its_own(tmp_path: Path) -> None:
    process_counts(None)
    counts = process_counts(None)
    assert (counts["preceptor_turns_totalreplied"], counts["preceptor_streams"]) == (2, 3)
    assert not [name for name in counts if name.endswith("_created")]
