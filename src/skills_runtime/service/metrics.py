"""Prometheus metrics of requests and executions."""

from collections.abc import Callable
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The metrics of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "skills_runtime_http_requests",
            "Answered requests.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "skills_runtime_http_request_seconds",
            "Duration of requests.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._executions = Counter(
            "skills_runtime_executions",
            "Finished skill executions by status.",
            ("skill", "status"),
            registry=self._registry,
        )
        self._execution_seconds = Histogram(
            "skills_runtime_execution_seconds",
            "Duration of skill executions.",
            ("skill",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._removed = Counter(
            "skills_runtime_executions_removed",
            "Executions that were removed, by request or by retention.",
            ("by",),
            registry=self._registry,
        )
        self._open = Gauge("skills_runtime_http_requests_open", "Open requests.", registry=self._registry)

    def start_request(self) -> None:
        """Count an open request."""
        self._open.inc()

    def finish_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a finished request; `route` is the pattern, because there are infinitely many paths."""
        self._open.dec()
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def finish_execution(self, skill: str, status: str, seconds: float) -> None:
        """Count a finished execution."""
        self._executions.labels(skill, status).inc()
        self._execution_seconds.labels(skill).observe(seconds)

    def count_removed(self, by: Literal["request", "retention"], count: int = 1) -> None:
        """Count removed executions."""
        self._removed.labels(by).inc(count)

    def add_gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is computed on every scrape."""
        Gauge(f"skills_runtime_{name}", text, registry=self._registry).set_function(value)

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)
