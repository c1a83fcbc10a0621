"""Counters, gauges and histograms, kept and exposed by prometheus_client. Ours are the prefix, the buckets and the cap on labels.

To count something new: name it in `product_metrics.py`, count it where it happens, and add it to the table in docs/operations.md; a
test compares that table with what is exposed.
"""

import os
import threading
from pathlib import Path
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

NAMESPACE: Final = "preceptor"
DURATION_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
# A label's values may come from outside. Sets of labels beyond so many are counted together.
MAX_LABEL_SETS: Final = 500
OTHER_LABEL_VALUE: Final = "others"
# The library's own variable: several processes behind one address keep their counts in files of this folder.
SHARED_FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"

REGISTRY: Final = CollectorRegistry(auto_describe=True)
# When each series began: as many series again, and nothing that we alert on.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves this one untyped

M = TypeVar("M", bound=MetricWrapperBase)


class CappedLabels(Generic[M]):
    """A metric with labels of which a process keeps so many sets; later ones are counted as `others`."""

    def __init__(self, metric: M, names: tuple[str, ...]) -> None:
        self.metric: M = metric
        self.names = names
        self._known: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()

    def labels(self, **values: object) -> M:
        """The library's counter or histogram of these labels."""
        given = tuple(str(values.get(name)) for name in self.names)
        with self._lock:
            if given not in self._known:
                if len(self._known) >= MAX_LABEL_SETS:
                    return self.metric.labels(**dict.fromkeys(values, OTHER_LABEL_VALUE))
                self._known.add(given)
        return self.metric.labels(**values)


def counter(name: str, words: str) -> Counter:
    """A counter without labels."""
    return Counter(name, words, namespace=NAMESPACE, registry=REGISTRY)


def labelled_counter(
    name: str, words: str, *labels: str, registry: CollectorRegistry = REGISTRY
) -> CappedLabels[Counter]:
    """A counter for each set of labels."""
    return CappedLabels(Counter(name, words, labels, namespace=NAMESPACE, registry=registry), labels)


def histogram(name: str, words: str) -> Histogram:
    """Durations without labels."""
    return Histogram(name, words, namespace=NAMESPACE, registry=REGISTRY, buckets=DURATION_BUCKETS)


def labelled_histogram(name: str, words: str, *labels: str) -> CappedLabels[Histogram]:
    """Durations for each set of labels."""
    metric = Histogram(name, words, labels, namespace=NAMESPACE, registry=REGISTRY, buckets=DURATION_BUCKETS)
    return CappedLabels(metric, labels)


def gauge(name: str, words: str) -> Gauge:
    """A present amount; of several processes the sum over those that live."""
    return Gauge(name, words, namespace=NAMESPACE, registry=REGISTRY, multiprocess_mode="livesum")


def render_exposition(accept: str, *more: Collector) -> tuple[bytes, str]:
    """What was counted and what the other collectors say, in the form that the scraper accepts; and the type of that form."""
    registry = CollectorRegistry()
    for collector in (_metrics_collector(), *more):
        registry.register(collector)
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def _metrics_collector() -> Collector:
    """This process's counts; with a shared folder, those of all processes that use it."""
    folder = os.environ.get(SHARED_FOLDER_VARIABLE)
    if not folder:
        return REGISTRY
    _forget_dead_gauges(Path(folder))
    collector: Collector = MultiProcessCollector(None, folder)  # type: ignore[no-untyped-call]  # the same
    return collector


def _forget_dead_gauges(folder: Path) -> None:
    """The library wants to be told when a process has ended; one that was killed tells nobody."""
    for path in folder.glob("gauge_live*_*.db"):
        process_id = int(path.stem.rpartition("_")[2])
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            mark_process_dead(process_id, str(folder))  # type: ignore[no-untyped-call]  # the same
