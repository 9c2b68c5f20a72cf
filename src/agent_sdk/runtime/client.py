"""The old place of `RuntimeClient`."""

from skills_runtime.runtime.client import RuntimeClient as RuntimeClient
