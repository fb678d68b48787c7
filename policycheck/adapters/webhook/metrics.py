"""What Prometheus is told. One registry a process, made by whoever serves; nothing global."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from policycheck.adapters.webhook.review import Request
from policycheck.adapters.webhook.service import Outcome
from policycheck.model.cluster import GroupKind

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_MOST_KINDS = 60  # that are told apart; a kind is the sender's word


class Metrics:
    """Counters of reviews, and gauges that are asked for when scraped."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._kinds: set[str] = set()
        self.reviews = Counter(
            "policycheck_webhook_requests",
            "Admission requests answered.",
            ("kind", "operation", "verdict"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "policycheck_webhook_request_seconds",
            "Seconds from the whole body to the answer.",
            ("path",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.findings = Counter(
            "policycheck_webhook_findings",
            "Reviews in which a rule found something new.",
            ("rule",),
            registry=self.registry,
        )
        self.warnings = Counter(
            "policycheck_webhook_warnings", "Warnings sent to clients.", registry=self.registry
        )
        self.errors = Counter(
            "policycheck_webhook_rule_errors", "Rules that raised.", ("rule",), registry=self.registry
        )
        self.overrides = Counter(
            "policycheck_webhook_overrides", "Refusals that were overridden.", registry=self.registry
        )
        self.bad = Counter(
            "policycheck_webhook_bad_requests",
            "Requests that were no reviews, by HTTP status.",
            ("status",),
            registry=self.registry,
        )
        self.reloads = Counter(
            "policycheck_webhook_reloads",
            "Files taken up again while running.",
            ("what", "result"),
            registry=self.registry,
        )
        self.busy = Gauge(
            "policycheck_webhook_waiting", "Reviews that wait or are judged now.", registry=self.registry
        )

    def reviewed(self, request: Request, outcome: Outcome, seconds: float, path: str) -> None:
        """One answered review. An override in a dry run is none that took place."""
        self.reviews.labels(self._kind(request.kind), request.operation, outcome.verdict).inc()
        self.seconds.labels(path).observe(seconds)
        for rule in outcome.rules:
            self.findings.labels(rule).inc()
        for rule in outcome.broken:
            self.errors.labels(rule).inc()
        if outcome.answer.warnings:
            self.warnings.inc(len(outcome.answer.warnings))
        if outcome.override is not None and not request.dry_run:
            self.overrides.inc()

    def watch(
        self,
        age: Callable[[], Mapping[GroupKind, float]],
        size: Callable[[], int],
        days: Callable[[], Mapping[str, float]],
    ) -> None:
        """Gauges of what is known: seconds since each kind was heard of, objects, days until things end."""
        self.registry.register(_Known(age, size, days))

    def text(self) -> bytes:
        """All of it, in the text format."""
        return generate_latest(self.registry)

    def _kind(self, kind: str) -> str:
        if kind not in self._kinds and len(self._kinds) >= _MOST_KINDS:
            return "other"
        self._kinds.add(kind)
        return kind


class _Known(Collector):
    def __init__(
        self,
        age: Callable[[], Mapping[GroupKind, float]],
        size: Callable[[], int],
        days: Callable[[], Mapping[str, float]],
    ) -> None:
        self._age, self._size, self._days = age, size, days

    def collect(self) -> list[GaugeMetricFamily]:
        """The gauges as they are now."""
        age = GaugeMetricFamily(
            "policycheck_cache_age_seconds", "Seconds since a kind was last heard of.", labels=["kind"]
        )
        for (group, kind), seconds in sorted(self._age().items()):
            age.add_metric([f"{kind}.{group}" if group else kind], seconds)
        days = GaugeMetricFamily(
            "policycheck_expiry_days", "Days until a certificate ends.", labels=["certificate"]
        )
        for name, left in sorted(self._days().items()):
            days.add_metric([name], left)
        size = GaugeMetricFamily("policycheck_cache_objects", "Objects that are known.")
        size.add_metric([], self._size())
        return [age, days, size]
