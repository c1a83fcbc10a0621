"""What a worker counts of the models that its turns wait for."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from apps.llm.model_backend import Overloaded
from apps.runtime.worker.model_metrics import ModelCallTimer
from apps.telemetry.prometheus import REGISTRY

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    ("error", "result"),
    [(None, "ok"), (Overloaded("Come back later."), Overloaded.code), (KeyboardInterrupt(), "cancelled")],
)
def test_a_call_is_counted_however_it_ends(error: BaseException | None, result: str) -> None:
    before = dict(_model_call_samples())
    with nullcontext() if error is None else pytest.raises(type(error)), ModelCallTimer():
        if error is not None:
            raise error
    assert dict(_model_call_samples()) == before | {result: before.get(result, 0) + 1}


def _model_call_samples() -> Iterator[tuple[str, float]]:
    [metric] = [each for each in REGISTRY.collect() if each.name == "preceptor_model_calls"]
    return ((sample.labels["result"], sample.value) for sample in metric.samples)
