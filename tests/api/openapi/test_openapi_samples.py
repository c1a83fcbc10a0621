"""Every body in the OpenAPI document has an example that its own fields take."""

from typing import Any

import pytest

from apps.api.openapi.body_examples import example_body
from apps.api.policy_conformance import body_classes
from apps.api.protocol.request_bodies import RequestBody
from tests.governance.isolation.test_isolation_over_rest import description


@pytest.mark.parametrize("body", list(body_classes()))
def test_an_example_is_taken_by_its_body(body: type[RequestBody]) -> None:
    sample = example_body(body())
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
