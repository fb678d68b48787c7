"""A new rule file: one that passes its own test as it is, to be changed piece by piece."""

from __future__ import annotations

from policycheck.model.schema import Table


def scaffold(identity: str, name: str, table: Table) -> str:
    """A rule about ``table``'s kind: that its objects carry a label."""
    group = f"{table.group}/" if table.group else ""
    head = f"apiVersion: {group}{table.newest}\nkind: {table.kind}\nmetadata:"
    bad = f"{head}\n  name: example"
    good = f"{bad}\n  labels:\n    team: research"
    title = name.replace("-", " ").capitalize()
    return f"""# Change it piece by piece and run the rule tests after each: `policycheck rules test`.
id: {identity}
name: {name}
title: {title}
severity: warning        # error | warning | info
confidence: medium       # high | medium | low: how sure a finding is to be a fault
phase: observe           # observe | pilot | queues | topology: the rollout step from which it matters
status: preview          # preview | stable | deprecated
subject: {table.name}
# each: a list in the object, as in spec.groups[*]; binds `it`, and a finding points there
at: metadata.labels      # where a finding points, below `it` or the object
expression: "has(object.metadata.labels) && 'team' in object.metadata.labels"   # true = fine
message: "{{object.metadata.name}} has no label 'team'"
rationale: Say why it hurts, in the words of someone who has been paged for it.
remediation: Say what to write instead.
# fix: {{safety: unsafe, changes: [{{set: object.metadata.labels.team, value: research}}]}}   # docs/fixes.md
sources:
  - Say where the claim is documented.
since: "0.1"
examples:
  bad:
    - manifest: |
{_indented(bad)}
      findings: ["3:1 metadata.labels"]
  good:
    - manifest: |
{_indented(good)}
"""


def _indented(text: str) -> str:
    return "\n".join(" " * 8 + line for line in text.splitlines())
