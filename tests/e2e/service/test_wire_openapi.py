# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUntypedFunctionDecorator=false
"""Requests that a machine makes up from the OpenAPI document: nothing breaks, and nothing is undocumented."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.e2e.service.servers import Service, serving, write_python
from tests.support.examples import examples

DOCUMENT = Path(__file__).parents[3] / "studio" / "src" / "api" / "openapi.json"
ENDLESS = {"/api/v1/feed", "/api/v1/runs/{run_id}/events/stream"}
OPERATIONS = sorted(
    (
        (method.upper(), path)
        for path, operations in json.loads(DOCUMENT.read_text())["paths"].items()
        for method in operations
        if path not in ENDLESS
    ),
    key=lambda operation: operation[0] == "DELETE",
)
"""Every operation there is: another test holds this copy of the document to what is served.

What removes comes last, so that the others meet what is there.
"""
ANYTHING_GOES = {
    *(("GET", path) for path in ("/api/health", "/api/skills", "/livez", "/readyz", "/metrics")),
    *(("GET", f"/api/v1/{name}") for name in ("approvals", "config", "health", "keys", "model", "sandbox/doctor")),
    *(("GET", f"/api/v1/{name}") for name in ("doctor", "storage", "runs/options")),
    ("POST", "/api/v1/demo"),
    ("POST", "/api/v1/runs/import"),
}
"""Nothing about a request to them can be wrong, or everything is."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = examples(10)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("openapi")
    write_python(home / "skills", "echo", "print(json.dumps({'got': given}))")
    with serving(home, home / "skills") as running_service:
        yield running_service


@pytest.fixture(scope="module")
def document(service: Service) -> Any:
    return schemathesis.openapi.from_url(f"{service.url}/api/openapi.json")


@pytest.fixture(scope="module")
def path_parameters(service: Service) -> Mapping[str, str]:
    """Names of what is really there, for paths that nobody would guess."""
    with service.client(token=True) as client:
        run = client.post("/api/v1/demo", json={}).json()["run_id"]
        session = client.get(f"/api/v1/runs/{run}").json()["session_id"]
        execution = client.post("/api/v1/executions", json={"skill": "echo", "input": {}}).json()["execution_id"]
    return {"run_id": run, "other_id": run, "session_id": session, "execution_id": execution, "name": "echo"}


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["fitting", "unfitting"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_service_keeps_what_its_document_promises(
    document: Any, service: Service, path_parameters: Mapping[str, str], method: str, path: str, mode: GenerationMode
) -> None:
    operation = document[path][method]
    if mode is GenerationMode.NEGATIVE and (method, path) in ANYTHING_GOES:
        return
    headers = {"Authorization": f"Bearer {service.token}"}

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(case=operation.as_strategy(generation_mode=mode), is_there=st.booleans())
    def keeps_it(case: Any, is_there: bool) -> None:
        if is_there and mode is GenerationMode.POSITIVE:
            case.path_parameters = {
                name: path_parameters.get(name, value) for name, value in case.path_parameters.items()
            }
        case.call_and_validate(headers=headers, checks=CHECKS)

    keeps_it()


def test_the_document_is_openapi_3_1_and_names_every_refusal(service: Service) -> None:
    with service.client() as client:
        document = client.get("/api/openapi.json").json()
        page = client.get("/api/docs")
    assert document["openapi"].startswith("3.1")
    assert not any(
        "422" in operation["responses"] for path in document["paths"].values() for operation in path.values()
    )
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "/api/skills/execute" in page.text
    assert "<script" not in page.text
