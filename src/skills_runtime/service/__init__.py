"""The service behind everything that speaks HTTP: one app, one port, closed to whoever has no business there.

Import its parts by their modules: the keys and the token are for the command line too, which needs no server for them.
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
