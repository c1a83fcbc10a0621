"""What a process counts, in the text form that Prometheus reads. Counts begin anew with the process, which Prometheus expects."""

import threading
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
# However many kinds there are in the world: what comes after so many is counted as one.
MOST_LABELLED: Final = 500
OTHERS: Final = "others"

Labels = tuple[str, ...]

_meters: "list[Meter]" = []


class Meter(ABC):
    """Something that is counted, by labels that are named once."""

    kind = "untyped"

    def __init__(self, name: str, words: str, labels: Sequence[str] = ()) -> None:
        self.name, self.words, self.labels = f"preceptor_{name}", words, tuple(labels)
        self._lock = threading.Lock()
        _meters.append(self)

    def lines(self) -> Iterator[str]:
        """As it is read."""
        yield from heading(self.name, self.words, self.kind)
        for name, labels, value in self.samples():
            yield sample(name, labels, value)

    @abstractmethod
    def samples(self) -> Iterable[tuple[str, Mapping[str, str], float]]:
        """Name, labels and value of each line."""

    def _labelled(self, known: Mapping[Labels, object], given: Mapping[str, object]) -> Labels:
        labels = tuple(str(given[name]) for name in self.labels)
        return labels if labels in known or len(known) < MOST_LABELLED else (OTHERS,) * len(labels)


class Counter(Meter):
    """Only grows."""

    kind = "counter"

    def __init__(self, name: str, words: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, words, labels)
        self._counts: dict[Labels, float] = {}

    def add(self, amount: float = 1, **labels: object) -> None:
        """So many more."""
        with self._lock:
            key = self._labelled(self._counts, labels)
            self._counts[key] = self._counts.get(key, 0) + amount

    def samples(self) -> Iterable[tuple[str, Mapping[str, str], float]]:
        """One for each set of labels."""
        with self._lock:
            counts = dict(self._counts)
        return [(self.name, dict(zip(self.labels, key, strict=True)), value) for key, value in counts.items()]


class Gauge(Meter):
    """What is so just now, asked when it is read."""

    kind = "gauge"

    def __init__(self, name: str, words: str, now: Callable[[], float]) -> None:
        super().__init__(name, words)
        self._now = now

    def samples(self) -> Iterable[tuple[str, Mapping[str, str], float]]:
        """One."""
        return [(self.name, {}, self._now())]


class Durations(Meter):
    """How long things took, in buckets of seconds."""

    kind = "histogram"

    def __init__(self, name: str, words: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, words, labels)
        self._buckets: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def took(self, seconds: float, **labels: object) -> None:
        """One more."""
        with self._lock:
            key = self._labelled(self._buckets, labels)
            self._buckets.setdefault(key, [0] * (len(SECONDS) + 1))[bisect_left(SECONDS, seconds)] += 1
            self._sums[key] = self._sums.get(key, 0.0) + seconds

    def samples(self) -> Iterable[tuple[str, Mapping[str, str], float]]:
        """Each bucket holds those of the ones before it."""
        with self._lock:
            found = [(key, list(buckets), self._sums[key]) for key, buckets in self._buckets.items()]
        for key, buckets, total in found:
            labels, count = dict(zip(self.labels, key, strict=True)), 0
            for edge, each in zip((*SECONDS, float("inf")), buckets, strict=True):
                count += each
                yield f"{self.name}_bucket", {**labels, "le": _number(edge)}, count
            yield f"{self.name}_sum", labels, total
            yield f"{self.name}_count", labels, count


def exposition(more: Iterable[str] = ()) -> str:
    """All that this process counts, and more lines of the same form."""
    return "\n".join([line for meter in _meters for line in meter.lines()] + [*more]) + "\n"


def heading(name: str, words: str, kind: str) -> list[str]:
    """What stands before the lines of a meter."""
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]


def sample(name: str, labels: Mapping[str, str], value: float) -> str:
    """One line."""
    said = ",".join(f'{label}="{_escaped(each)}"' for label, each in labels.items())
    return f"{name}{{{said}}} {_number(value)}" if said else f"{name} {_number(value)}"


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
