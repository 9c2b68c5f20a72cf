"""API keys over HTTP: list, create and revoke them."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.errors import RequestConflict, ValidationFailed
from skills_runtime.service.access.callers import Scope
from skills_runtime.service.access.keys import ApiKey
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses, json_response
from skills_runtime.service.run_documents import Answer, Body
from skills_runtime.service.state import state_of

router = APIRouter(prefix="/api/v1/keys", tags=["keys"])

KeyId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="The id of a key.")]


class KeyDocument(Answer):
    """A stored key, without its secret."""

    id: str
    name: str
    scopes: list[str]
    created_at: str
    last_used_at: str | None
    revoked_at: str | None


class KeyList(Answer):
    """All keys, including revoked ones, in order of creation."""

    keys: list[KeyDocument]


class NewKey(Body):
    """A key to create."""

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=20)]


class MadeKey(Answer):
    """A new key and its secret, which is shown only once and not stored."""

    key: KeyDocument
    secret: str


class OneKey(Answer):
    """One key."""

    key: KeyDocument


@router.get("", response_model=KeyList, responses=failure_responses(*COMMON_STATUSES))
def list_keys(request: Request) -> Response:
    """List the keys of this user; needs the scope `admin`."""
    return json_response({"keys": [_document(key) for key in state_of(request).keys.list()]})


@router.post(
    "", status_code=201, response_model=MadeKey, responses=failure_responses(*COMMON_STATUSES, 408, 409, 413, 415)
)
def create_key(request: Request, body: NewKey) -> Response:
    """Create a key and show its secret once; needs the scope `admin`."""
    try:
        key, secret = state_of(request).keys.create(body.name, body.scopes)
    except ValidationFailed as error:
        if "already" in error.message:
            raise RequestConflict(error.message, hint=error.hint) from error
        raise
    return json_response({"key": _document(key), "secret": secret}, 201)


@router.delete("/{key_id}", response_model=OneKey, responses=failure_responses(*COMMON_STATUSES, 404))
def revoke_key(request: Request, key_id: KeyId) -> Response:
    """Revoke a key; needs the scope `admin`."""
    return json_response({"key": _document(state_of(request).keys.revoke(key_id))})


def _document(key: ApiKey) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(key).items() if name != "digest"}
