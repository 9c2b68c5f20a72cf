"""The HTTP service: one app on one port for the API, the skill service and Studio.

Import from the modules: the command line uses keys and the token without loading the server.
"""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names

if TYPE_CHECKING:
    from skills_runtime.service.audit import AuditEntry, AuditLog
    from skills_runtime.service.settings import Listener, ServiceOptions, ServiceSettings, notices, settings_from

__getattr__ = lazy_names(
    __name__,
    {
        "audit": "AuditEntry AuditLog",
        "settings": "Listener ServiceOptions ServiceSettings notices settings_from",
    },
)

__all__ = [
    "AuditEntry",
    "AuditLog",
    "Listener",
    "ServiceOptions",
    "ServiceSettings",
    "notices",
    "settings_from",
]
