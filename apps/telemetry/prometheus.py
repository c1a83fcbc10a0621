"""Counters, gauges and histograms over prometheus_client, with the product's prefix, buckets and a cap on label sets.

To add a metric: name it in `product_metrics.py`, count it where it happens, and add it to the table in docs/operations.md; a
test compares that table with the exposed metrics.
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
# Label values may come from outside. Label sets beyond this number are counted together.
MAX_LABEL_SETS: Final = 500
OTHER_LABEL_VALUE: Final = "others"
# The library's own variable: processes behind one address keep their counts in files in this folder.
SHARED_FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"

REGISTRY: Final = CollectorRegistry(auto_describe=True)
# Exposing start times would double the number of series, and no alert uses them.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves this one untyped

M = TypeVar("M", bound=MetricWrapperBase)


class CappedLabels(Generic[M]):
    """A metric with a limited number of label sets per process; later ones are counted as `others`."""

    def __init__(self, metric: M, names: tuple[str, ...]) -> None:
        self.metric: M = metric
        self.names = names
        self._known: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()

    def labels(self, **values: object) -> M:
        """Return the library's counter or histogram for these labels."""
        given = tuple(str(values.get(name)) for name in self.names)
        with self._lock:
            if given not in self._known:
                if len(self._known) >= MAX_LABEL_SETS:
                    return self.metric.labels(**dict.fromkeys(values, OTHER_LABEL_VALUE))
                self._known.add(given)
        return self.metric.labels(**values)


def counter(name: str, words: str) -> Counter:
    """Return a counter without labels."""
    return Counter(name, words, namespace=NAMESPACE, registry=REGISTRY)


def labelled_counter(
    name: str, words: str, *labels: str, registry: CollectorRegistry = REGISTRY
) -> CappedLabels[Counter]:
    """Return a counter with labels."""
    return CappedLabels(Counter(name, words, labels, namespace=NAMESPACE, registry=registry), labels)


def histogram(name: str, words: str) -> Histogram:
    """Return a histogram of durations without labels."""
    return Histogram(name, words, namespace=NAMESPACE, registry=REGISTRY, buckets=DURATION_BUCKETS)


def labelled_histogram(name: str, words: str, *labels: str) -> CappedLabels[Histogram]:
    """Return a histogram of durations with labels."""
    metric = Histogram(name, words, labels, namespace=NAMESPACE, registry=REGISTRY, buckets=DURATION_BUCKETS)
    return CappedLabels(metric, labels)


def gauge(name: str, words: str) -> Gauge:
    """Return a gauge; across several processes it is the sum over running processes."""
    return Gauge(name, words, namespace=NAMESPACE, registry=REGISTRY, multiprocess_mode="livesum")


def render_exposition(accept: str, *more: Collector) -> tuple[bytes, str]:
    """Return all metrics, with those of additional collectors, in a format that the scraper accepts, and the content type."""
    registry = CollectorRegistry()
    for collector in (_metrics_collector(), *more):
        registry.register(collector)
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def _metrics_collector() -> Collector:
    """Return a collector of this process's metrics; with a shared folder, of all processes that use the folder."""
    folder = os.environ.get(SHARED_FOLDER_VARIABLE)
    if not folder:
        return REGISTRY
    _forget_dead_gauges(Path(folder))
    collector: Collector = MultiProcessCollector(None, folder)  # type: ignore[no-untyped-call]  # the same
    return collector


def _forget_dead_gauges(folder: Path) -> None:
    """Remove the gauges of processes that have ended, because a killed process cannot do this itself."""
    for path in folder.glob("gauge_live*_*.db"):
        process_id = int(path.stem.rpartition("_")[2])
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            mark_process_dead(process_id, str(folder))  # type: ignore[no-untyped-call]  # the same
