# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUntypedFunctionDecorator=false
"""The paths that Studio uses keep what the OpenAPI document promises, whatever is sent to them."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.generation import GenerationMode

from tests.e2e.service.servers import Service, serving, write_python
from tests.e2e.service.test_wire_openapi import CHECKS

OPERATIONS = [
    ("GET", "/api/v1/keys"),
    ("POST", "/api/v1/keys"),
    ("DELETE", "/api/v1/keys/{key_id}"),
    ("GET", "/api/v1/storage"),
    ("GET", "/api/v1/model"),
    ("PUT", "/api/v1/model"),
    ("GET", "/api/v1/runs"),
    ("GET", "/api/v1/runs/options"),
    ("GET", "/api/v1/runs/{run_id}/diff/{other_id}"),
    ("GET", "/api/v1/runs/{run_id}/export.html"),
    ("POST", "/api/v1/runs/import"),
    ("GET", "/api/v1/approvals"),
    ("POST", "/api/v1/approvals/{approval_id}"),
    ("GET", "/api/v1/skills"),
    ("GET", "/api/v1/skills/{name}"),
    ("PUT", "/api/v1/skills/{name}"),
    ("GET", "/api/v1/skills/{name}/files"),
]
WITHOUT_INPUT = ("/api/v1/keys", "/api/v1/storage", "/api/v1/model", "/api/v1/runs/options", "/api/v1/approvals")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("studio-openapi")
    write_python(home / "skills", "echo", "print(json.dumps({'got': given}))")
    with serving(home, home / "skills") as found:
        yield found


@pytest.fixture(scope="module")
def document(service: Service) -> Any:
    return schemathesis.openapi.from_url(f"{service.url}/api/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["fitting", "unfitting"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_studio_paths_keep_what_their_document_promises(
    document: Any, service: Service, method: str, path: str, mode: GenerationMode
) -> None:
    operation = document[path][method]
    if mode is GenerationMode.NEGATIVE and ((method == "GET" and path in WITHOUT_INPUT) or path.endswith("import")):
        return  # nothing about them can be wrong, or everything is
    headers = {"Authorization": f"Bearer {service.token}"}

    @settings(
        max_examples=12,
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
