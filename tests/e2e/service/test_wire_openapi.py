"""Requests that a machine makes up from the OpenAPI document: nothing breaks, and nothing is undocumented."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.e2e.service.servers import Service, serving, write_python

OURS = r"^(/api/(health|skills.*)|/api/v1/executions.*|/livez|/readyz|/metrics)$"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("openapi")
    write_python(home / "skills", "echo", "print(json.dumps({'got': given}))")
    with serving(home, home / "skills") as found:
        yield found


@pytest.fixture(scope="module")
def document(service: Service) -> Any:
    found = schemathesis.openapi.from_url(f"{service.url}/api/openapi.json")
    return found.include(path_regex=OURS)


schema = schemathesis.pytest.from_fixture("document")


@schema.parametrize()
@settings(
    max_examples=20,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_the_service_keeps_what_its_document_promises(case: Any, service: Service) -> None:
    headers = {"Authorization": f"Bearer {service.token}"}
    response = case.call(headers=headers)
    case.validate_response(response, checks=CHECKS)
