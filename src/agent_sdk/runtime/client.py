"""The old place of `RuntimeClient`."""

from skills_runtime.runtime import RuntimeClient as RuntimeClient
