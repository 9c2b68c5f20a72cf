"""Access control over HTTP: host names, origins, a token, and API keys with scopes."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names

if TYPE_CHECKING:
    from skills_runtime.service.access.keys import ApiKey, KeyFile
    from skills_runtime.service.access.token import RunningService, find_services, service_token

__getattr__ = lazy_names(
    __name__,
    {
        "keys": "ApiKey KeyFile",
        "token": "RunningService find_services service_token",
    },
)

__all__ = [
    "ApiKey",
    "KeyFile",
    "RunningService",
    "find_services",
    "service_token",
]
