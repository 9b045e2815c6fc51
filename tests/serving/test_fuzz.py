"""Whatever the OpenAPI document allows, and much that it does not, is answered as the document says."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from weft.serving.app import create_app
from weft.serving.settings import Settings
from weft.tasks.predictor import Predictor

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]

SHORT = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module", params=["toy", "lm"])
def api(request: pytest.FixtureRequest) -> schemathesis.BaseSchema:
    model: Predictor = request.getfixturevalue(request.param)
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(model, Settings(tokens=20)))


def test_random_requests_get_answers_as_described(api: schemathesis.BaseSchema) -> None:
    operations = [result.ok() for result in api.get_all_operations()]
    assert len(operations) > 10
    for operation in operations:
        has_body = operation.method == "post"  # without one there is nothing that could be wrong
        for mode in GenerationMode if has_body else (GenerationMode.POSITIVE,):

            @SHORT
            @given(case=operation.as_strategy(generation_mode=mode))
            def answered(case: schemathesis.Case) -> None:
                case.call_and_validate(checks=CHECKS)

            answered()
