"""The checks of rules about Kubernetes' own objects; ``check: core.NAME`` means one of these."""

from policycheck.systems.core.checks.claims import request_not_nested
from policycheck.systems.core.checks.definitions import ambiguous_definition, contradiction_in_cluster
from policycheck.systems.core.checks.pods import memory_without_unit, request_above_limit
from policycheck.systems.core.checks.priority import (
    class_missing,
    high_default,
    reserved_value,
    several_defaults,
    system_class,
)
from policycheck.systems.core.checks.quota import key_without_prefix, quota_bypassed

__all__ = [
    "ambiguous_definition",
    "class_missing",
    "contradiction_in_cluster",
    "high_default",
    "key_without_prefix",
    "memory_without_unit",
    "quota_bypassed",
    "request_above_limit",
    "request_not_nested",
    "reserved_value",
    "several_defaults",
    "system_class",
]
