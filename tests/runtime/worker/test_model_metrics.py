"""What a worker counts of the models that its turns wait for."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from apps.llm.model_backend import Overloaded
from apps.runtime.worker.model_metrics import AskedModel
from apps.telemetry.prometheus import REGISTRY

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    ("error", "result"),
    [(None, "ok"), (Overloaded("Come back later."), Overloaded.code), (KeyboardInterrupt(), "cancelled")],
)
def test_a_call_is_counted_however_it_ends(error: BaseException | None, result: str) -> None:
    before = dict(_counted())
    with nullcontext() if error is None else pytest.raises(type(error)), AskedModel():
        if error is not None:
            raise error
    assert dict(_counted()) == before | {result: before.get(result, 0) + 1}


def _counted() -> Iterator[tuple[str, float]]:
    [metric] = [each for each in REGISTRY.collect() if each.name == "preceptor_model_calls"]
    return ((sample.labels["result"], sample.value) for sample in metric.samples)
