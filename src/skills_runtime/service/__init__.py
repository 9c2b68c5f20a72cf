"""The service behind everything that speaks HTTP: one app, one port, closed to whoever has no business there."""

from skills_runtime.service.app import create_app, openapi_document
from skills_runtime.service.opening import opened_parts
from skills_runtime.service.parts import Parts
from skills_runtime.service.settings import Given, ServiceSettings, settings_from

__all__ = ["Given", "Parts", "ServiceSettings", "create_app", "openapi_document", "opened_parts", "settings_from"]
