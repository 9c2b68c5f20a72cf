# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUntypedFunctionDecorator=false
"""Requests that a machine makes up from the OpenAPI document: nothing breaks, and nothing is undocumented."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.e2e.service.servers import Service, serving, write_python

EXECUTION = "/api/v1/executions/{execution_id}"
OPERATIONS = [
    ("GET", "/api/health"),
    ("GET", "/api/skills"),
    ("POST", "/api/skills/execute"),
    ("GET", "/api/v1/executions"),
    ("POST", "/api/v1/executions"),
    ("GET", EXECUTION),
    ("POST", f"{EXECUTION}/cancel"),
    ("GET", f"{EXECUTION}/artifacts"),
    ("GET", f"{EXECUTION}/artifacts/{{path}}"),
    ("GET", f"{EXECUTION}/logs/{{stream}}"),
    ("GET", "/livez"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
]
WITHOUT_INPUT = {("GET", path) for path in ("/api/health", "/api/skills", "/livez", "/readyz", "/metrics")}
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
    return schemathesis.openapi.from_url(f"{service.url}/api/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["fitting", "unfitting"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_service_keeps_what_its_document_promises(
    document: Any, service: Service, method: str, path: str, mode: GenerationMode
) -> None:
    operation = document[path][method]
    if mode is GenerationMode.NEGATIVE and (method, path) in WITHOUT_INPUT:
        return  # nothing about them can be wrong
    headers = {"Authorization": f"Bearer {service.token}"}

    @settings(
        max_examples=25,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def keeps_it(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)

    keeps_it()


def test_the_document_is_openapi_3_1_and_names_every_refusal(service: Service) -> None:
    with service.client() as client:
        found = client.get("/api/openapi.json").json()
        page = client.get("/api/docs")
    assert found["openapi"].startswith("3.1")
    assert not any("422" in operation["responses"] for path in found["paths"].values() for operation in path.values())
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "/api/skills/execute" in page.text
    assert "<script" not in page.text
