"""The gate by itself: every request is judged by its name, its page, its caller, its scope and its body."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.service.access.callers import SCOPES, Caller, Scope, find_scope
from skills_runtime.service.access.keys import ApiKey
from skills_runtime.service.access.peers import Peer
from skills_runtime.service.access.request_authorizer import (
    RequestAuthorizer,
    RequestHead,
    cookie_name,
    is_allowed_host,
    is_own_origin,
    parse_host,
)
from skills_runtime.service.problems import Problem

TOKEN = "t" * 43
KEY = ApiKey(id="1", name="ci", scopes=("read",), digest="", created_at="")
GATE = RequestAuthorizer(
    allowed_hosts=("skills.example",), token=TOKEN, find_key=lambda text: KEY if text == "key" else None
)


def request_head(method: str = "GET", path: str = "/api/v1/runs", **more: Any) -> RequestHead:
    headers = {"host": "127.0.0.1:8000", **more.pop("headers", {})}
    values: dict[str, Any] = {"query": "", "client": "127.0.0.1", "server": "127.0.0.1", "port": 8000, **more}
    return RequestHead(method=method, path=path, headers=headers, **values)


def kind(decision: Caller | Problem) -> str:
    return decision.kind


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("/api/v1/runs", "run"),
        ("/api/v1/runs/r1/cancel", "run"),
        ("/api/v1/runs/approvals/cancel", "run"),
        ("/api/v1/sessions/s1/runs", "run"),
        ("/api/v1/runs/r1/approvals/key", "approve"),
        ("/api/v1/approvals/a1", "approve"),
        ("/api/v1/runs/r1/review", "approve"),
        ("/api/skills/execute", "execute"),
        ("/api/v1/executions/e1/cancel", "execute"),
        ("/api/v1/skills", "admin"),
        ("/studio/api/v1/sessions/s1/skills", "admin"),
        ("/api/v1/skills/validate", "read"),
        ("/anything/else", "admin"),
    ],
)
def test_a_change_needs_the_scope_of_what_it_changes(path: str, scope: Scope) -> None:
    assert find_scope("POST", path) == find_scope("DELETE", path) == scope


@given(st.sampled_from(["POST", "PUT", "DELETE", "PATCH", "FROB"]), st.text(max_size=40))
def test_no_change_is_free(method: str, path: str) -> None:
    assert find_scope(method, path) in SCOPES


@pytest.mark.parametrize(
    "path", ["/api/v1/runs", "/api/v1/executions/x", "/api/skills", "/metrics", "/studio/api/v1/x"]
)
def test_data_is_read_with_a_scope(path: str) -> None:
    assert find_scope("GET", path) == "read"


def test_anonymous_requests_are_refused_and_the_token_opens_everything() -> None:
    assert kind(GATE.authorize(request_head())) == "unauthorized"
    decision = GATE.authorize(request_head("POST", headers={"authorization": f"Bearer {TOKEN}"}))
    assert isinstance(decision, Caller)
    assert decision.scopes == frozenset(SCOPES)


@pytest.mark.parametrize(
    "more",
    [
        {"client": "203.0.113.5"},
        {"server": "192.0.2.1"},
        {"headers": {"host": "skills.example"}},
        {"headers": {"x-forwarded-for": "203.0.113.5"}},
        {"headers": {"forwarded": "for=203.0.113.5"}},
    ],
)
def test_the_token_and_the_open_paths_are_for_this_machine_only(more: dict[str, Any]) -> None:
    headers = more.pop("headers", {})
    assert kind(GATE.authorize(request_head(path="/api/skills", headers=headers, **more))) == "unauthorized"
    with_token = {**headers, "authorization": f"Bearer {TOKEN}"}
    assert kind(GATE.authorize(request_head(headers=with_token, **more))) == "unauthorized"
    cookie = {**headers, "cookie": f"{cookie_name(8000)}={TOKEN}"}
    assert kind(GATE.authorize(request_head(headers=cookie, **more))) == "unauthorized"
    with_key = {**headers, "authorization": "Bearer key"}
    assert kind(GATE.authorize(request_head(headers=with_key, **more))) == "key"


def test_a_cookie_of_a_service_on_another_port_is_not_ours() -> None:
    assert kind(GATE.authorize(request_head(headers={"cookie": f"{cookie_name(9000)}={TOKEN}"}))) == "unauthorized"
    assert kind(GATE.authorize(request_head(headers={"cookie": f"{cookie_name(8000)}={TOKEN}"}))) == "token"


def test_a_cookie_alone_changes_nothing() -> None:
    cookie = {"cookie": f"{cookie_name(8000)}={TOKEN}"}
    assert kind(GATE.authorize(request_head("POST", headers=cookie))) == "header_missing"
    assert kind(GATE.authorize(request_head("POST", headers={**cookie, "x-skills-runtime": "1"}))) == "token"


def test_a_token_in_the_address_counts_for_reading_only() -> None:
    assert kind(GATE.authorize(request_head(query=f"token={TOKEN}"))) == "token"
    assert kind(GATE.authorize(request_head("POST", query=f"token={TOKEN}"))) == "unauthorized"


def test_a_link_from_elsewhere_may_be_opened_but_not_read_by_a_script() -> None:
    site = {"sec-fetch-site": "cross-site"}
    assert kind(GATE.authorize(request_head(path="/", headers=site))) == "nobody"
    assert kind(GATE.authorize(request_head(path="/api/skills", headers=site))) == "foreign_origin"


@pytest.mark.parametrize(
    "essence", ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded", "x", "text/html"]
)
def test_a_body_that_a_form_could_send_is_refused(essence: str) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": f"{essence}; charset=utf-8"}
    assert kind(GATE.authorize(request_head("POST", headers=headers))) == "unsupported_media_type"


@pytest.mark.parametrize("essence", ["text/plain+json", "+json", "application/+json", "x+json"])
def test_only_json_of_an_application_is_json(essence: str) -> None:
    owner = {"authorization": f"Bearer {TOKEN}"}
    assert (
        kind(GATE.authorize(request_head("POST", headers={**owner, "content-type": essence})))
        == "unsupported_media_type"
    )
    assert (
        kind(GATE.authorize(request_head("POST", headers={**owner, "content-type": "application/merge-patch+json"})))
        == "token"
    )


def test_a_body_must_come_as_it_is() -> None:
    owner = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    assert (
        kind(GATE.authorize(request_head("POST", headers={**owner, "content-encoding": "gzip"})))
        == "unsupported_media_type"
    )
    assert kind(GATE.authorize(request_head("POST", headers={**owner, "content-encoding": "Identity"}))) == "token"


def test_a_request_with_two_lengths_is_refused_and_its_connection_closed() -> None:
    decision = GATE.authorize(request_head("POST", headers={"transfer-encoding": "chunked", "content-length": "5"}))
    assert isinstance(decision, Problem)
    assert (decision.status, decision.headers["Connection"]) == (400, "close")


@pytest.mark.parametrize(
    ("host", "answered"),
    [
        ("127.0.0.1:8000", True),
        ("LOCALHOST:8000", True),
        ("[::1]:8000", True),
        ("127.0.0.1", False),
        ("localhost:8001", False),
        ("skills.example", True),
        ("skills.example:9", True),
        ("fixed.example:8443", True),
        ("fixed.example", False),
        ("a.sub.example", True),
        ("sub.example", True),
        ("notsub.example", False),
        ("skills.example.evil", False),
    ],
)
def test_a_service_answers_to_its_names_exactly(host: str, answered: bool) -> None:
    parsed = parse_host(host)
    assert parsed is not None
    assert is_allowed_host(parsed, 8000, ("skills.example", "fixed.example:8443", ".sub.example")) is answered


@pytest.mark.parametrize("text", ["", "a b", "a/b", "user@host", "a:b", "[::1", "a, b", "host:999999"])
def test_what_is_no_host_is_none(text: str) -> None:
    assert parse_host(text) is None


@given(st.text(max_size=30))
def test_only_the_very_same_origin_is_our_own(origin: str) -> None:
    assert not is_own_origin(origin, "127.0.0.1:8000")
    assert is_own_origin("http://127.0.0.1:8000", "127.0.0.1:8000")


@given(
    st.dictionaries(
        st.sampled_from(["authorization", "cookie", "origin", "content-type", "host"]), st.text(max_size=20)
    )
)
def test_arbitrary_headers_never_grant_access(headers: dict[str, str]) -> None:
    decision = GATE.authorize(request_head("POST", headers=headers))
    assert isinstance(decision, Problem)
    assert 400 <= decision.status < 500


def test_without_a_peer_the_open_paths_need_a_token() -> None:
    for method, path in (("GET", "/api/health"), ("GET", "/api/skills"), ("POST", "/api/skills/execute")):
        assert kind(GATE.authorize(request_head(method, path))) == "unauthorized"
        assert (
            kind(GATE.authorize(request_head(method, path, peer=Peer(("127.0.0.1", 5), ("127.0.0.1", 8000)))))
            == "unauthorized"
        )


def test_an_open_skill_service_answers_every_program_of_this_machine() -> None:
    gate = msgspec.structs.replace(GATE, skill_service="open")
    for method, path in (("GET", "/api/health"), ("GET", "/api/skills"), ("POST", "/api/skills/execute")):
        assert kind(gate.authorize(request_head(method, path))) == "nobody"
    assert kind(gate.authorize(request_head(path="/api/skills", client="203.0.113.5"))) == "unauthorized"


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/api/v1/model"), ("POST", "/api/v1/skills/install"), ("POST", "/api/v1/skills/counter/trust"),
     ("POST", "/api/v1/skills/$[project].counter/trust"), ("PUT", "/api/v1/sessions/s/skills/sources"),
     ("PUT", "/studio/api/v1/sessions/s/skills/sources")],
)  # fmt: skip
def test_where_conversations_go_and_skills_come_from_is_the_owners_alone(method: str, path: str) -> None:
    key = ApiKey(id="1", name="ci", scopes=SCOPES, digest="", created_at="")
    gate = RequestAuthorizer(allowed_hosts=(), token=TOKEN, find_key=lambda _: key)
    assert kind(gate.authorize(request_head(method, path, headers={"authorization": "Bearer key"}))) == "permission"
    assert kind(gate.authorize(request_head(method, path, headers={"authorization": f"Bearer {TOKEN}"}))) == "token"
