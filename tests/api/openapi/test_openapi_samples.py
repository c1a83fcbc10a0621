"""Every body in the OpenAPI document has an example that its own fields take."""

from typing import Any

import pytest

from apps.api.openapi.body_examples import sample_of
from apps.api.policy_conformance import bodies
from apps.api.protocol.request_bodies import Body
from tests.governance.isolation.test_isolation_over_rest import description


@pytest.mark.parametrize("body", list(bodies()))
def test_an_example_is_taken_by_its_body(body: type[Body]) -> None:
    sample = sample_of(body())
    read = body(data=sample)
    assert read.is_valid(), (sample, read.errors)


def test_every_body_of_the_document_has_an_example() -> None:
    document = description()
    assert str(document["openapi"]).startswith("3.1")
    lacking: list[Any] = [
        (method, path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if "example" not in content
    ]
    assert lacking == []
