"""What users of Kueue find in Prometheus and Grafana beside each of our metrics.

Keys are places in the JSON of ``simulate`` without the leading ``metrics.``; ``*`` stands for any name.
Kueue's are counters, gauges and histograms of a running cluster: percentiles of a histogram are read to
the next bucket, and what still waits is in none of them. Source: the metrics reference of Kueue's
documentation (reference/metrics).
"""

from __future__ import annotations

from collections.abc import Mapping

_WAIT = "kueue_admission_wait_time_seconds"
_RESERVED = "kueue_quota_reserved_wait_time_seconds"
_READY = "kueue_admitted_until_ready_wait_time_seconds"

NAMES: Mapping[str, str] = {
    "jobs.wait": _WAIT,
    "jobs.quotaReservedWait": _RESERVED,
    "jobs.readyWait": _READY,
    "jobs.started": "kueue_admitted_workloads_total",
    "queues.*.wait": _WAIT,
    "queues.*.quotaReservedWait": _RESERVED,
    "queues.*.readyWait": _READY,
    "queues.*.started": "kueue_admitted_workloads_total",
    "queues.*.holding": "kueue_reserving_active_workloads",
    "queues.*.pending": "kueue_pending_workloads",
    "queues.*.nominal": "kueue_cluster_queue_nominal_quota",
    "queues.*.utilisation": "kueue_cluster_queue_resource_usage over kueue_cluster_queue_nominal_quota",
    "preemption.byReason": "kueue_preempted_workloads_total{reason}",
    "preemption.evictions": "kueue_evicted_workloads_total{reason}",
    "preemption.evictions.*.jobs": "kueue_evicted_workloads_once_total{reason}",
    "scheduler.cycles": "kueue_admission_attempt_duration_seconds_count",
}
