"""What was recorded and what we answer, both in the compact form in which they are compared."""

from __future__ import annotations

from typing import Any

from policycheck.model.amount import amount

from . import places
from .compact import NAMESPACE


def given(names: Any, admission: dict[str, Any]) -> str:
    """`q1: main 2x cpu=f1:3000` (amounts in base units)."""
    sets = []
    for s in admission.get("podSetAssignments") or ():
        usage = s.get("resourceUsage") or {}
        words = [
            f"{r}={names.of('f', f)}:{amount(r, usage[r])}"
            for r, f in sorted((s.get("flavors") or {}).items())
        ]
        where = places.written(s.get("topologyAssignment"))
        words += ["at", where] if where else []
        sets.append(" ".join([s["name"] or "-", f"{s['count']}x", *words]))
    return f"{names.of('q', admission['clusterQueue'])}: " + "; ".join(sets)


def input_of(  # noqa: PLR0912 - one branch a field
    r: Any, suite: str, raw: dict[str, Any] | None
) -> dict[str, Any] | None:
    """The input of a narrow suite in compact form."""
    from .restate import need

    if not raw:
        return None
    out: dict[str, Any] = {}
    for key, value in raw.items():
        if key == "requests":
            out[key] = [r.placing_text(v) for v in value]
        elif key in ("priorUsageThisFlavor", "priorUsageOtherFlavors"):
            short = "here" if key == "priorUsageThisFlavor" else "elsewhere"
            out |= {short: [r.placed(v) for v in value]} if value else {}
        elif key == "aggregatedDomainUsage":
            continue  # the sum of the two
        elif key in ("workload", "incoming"):
            out[key] = {r.named(value): r.work(value)}
        elif key in ("targetClusterQueue", "usageClusterQueue", "preemptorClusterQueue"):
            out[key] = r.names.of("q", value)
        elif key == "usage" and isinstance(value, dict):
            out[key] = {r.names.of("q", q): r.usage(u) for q, u in value.items()}
        elif key in (
            "usage",
            "clusterQueueUsage",
            "secondaryClusterQueueUsage",
            "assignmentUsage",
            "additionalRequest",
        ):
            out |= {key: r.usage(value)} if value else {}
        elif key == "preemptionOracle":
            table = [a | {"flavor": r.names.of("f", a["flavor"])} for a in value["byFlavorResource"]]
            out[key] = {"byFlavorResource": table, "default": value["default"]}
        elif key in ("entries", "candidates"):
            rows = {}
            for entry in value:
                extra = {k: v for k, v in entry.items() if k != "workload"}
                if extra.get("clusterQueue"):
                    extra["clusterQueue"] = r.names.of("q", extra["clusterQueue"])
                rows[r.named(entry["workload"])] = [r.work(entry["workload"]), extra]
            out[key] = rows
        elif key == "assignment":
            sets = []
            for s in value["podSets"]:
                need(s.get("requests") is None, "requests")
                words = [f"{k}:{r.names.of('f', f['name'])}:{f['mode']}" for k, f in s["flavors"].items()]
                sets.append(" ".join([s["name"], f"{s['count']}x", *words]))
            need(not value.get("borrowing"), "borrowing")
            out[key] = "; ".join(sets)
        elif key == "deleteWorkloads":
            need(not value or isinstance(value[0], str), "deleted")
            out[key] = [f"{NAMESPACE}/{r.names.of('w', w)}" for w in value]
        elif key == "initialConsumedUsageByLocalQueue":
            out[key] = {f"{NAMESPACE}/{r.names.of('l', q)}": u for q, u in value.items()}
        else:
            need(
                key in ("podSets", "fitsWhenTotalAtMost", "assignmentMode", "borrowing", "deletedLocalQueue"),
                key,
            )
            out |= {key: value} if key != "deletedLocalQueue" else {}
    return out


class Same:
    """Names left as they are: for answers to restated cases."""

    @staticmethod
    def of(kind: str, name: str) -> str:
        """``name`` without our namespace."""
        return name.removeprefix(f"{NAMESPACE}/") if kind == "w" else name


def EXPECT(r: Any, suite: str, e: dict[str, Any]) -> Any:  # noqa: N802 - read as a word
    """What is compared of an answer, in compact form. Workloads are ids."""
    names = r.names if hasattr(r, "names") else r

    def w(name: str) -> str:
        return str(names.of("w", name))

    if "final" in e:
        cycles = {
            c["cycle"]: _cycle(names, w, c) for c in e["cycles"] if c.get("reserved") or c.get("evicted")
        }
        final = e["final"]
        return {
            "cycles": cycles,
            "holds": sorted(map(w, final["reserved"])),
            "evictions": {w(n): k for n, k in sorted(final.get("evictions", {}).items())},
            "pending": {w(n): x for n, x in sorted(final.get("pending", {}).items())},
            "converged": e["converged"],
        }
    if suite.startswith("schedule"):
        pending = {
            w(p["workload"]): f"{p.get('state')} {p.get('reason') or ''}".strip()
            for p in e.get("pending") or ()
        }
        return _cycle(names, w, e) | {"pending": dict(sorted(pending.items()))}
    if "targets" in e:
        rows = {w(t["workload"]): t["reason"] for t in e["targets"] or ()}
        return {"victims": dict(sorted(rows.items()))}
    if "assignment" in e:
        return _assignment(names, e["assignment"])
    if "order" in e:
        return {
            "order": [str(names.of("w", f"{NAMESPACE if names is Same else ''}/{n}")) for n in e["order"]]
        }
    if "result" in e:
        rows = {p or "-": places.written((x or {}).get("topologyAssignment")) for p, x in e["result"].items()}
        return {"placed": {p: t or "no place" for p, t in sorted(rows.items())}}
    if "available" in e:
        return {
            k: {str(names.of("q", q)): _usage(names, u) for q, u in sorted(e[k].items())}
            for k in ("available", "potentiallyAvailable")
        }
    if "reserved" in e:
        return {"reserved": _usage(names, e["reserved"])}
    if "shares" in e:
        kinds = {"ClusterQueue": "q", "Cohort": "c"}
        rows = {
            str(
                names.of(kinds[s["kind"]], s["name"])
            ): f"{s['weightedShareRounded']} {s['dominantResource'] or '-'} {s['borrowing']}"
            for s in e["shares"]
        }
        return {"shares": dict(sorted(rows.items()))}
    if "reservedResources" in e:
        return {k: _resources(names, e[k]) for k in ("reservedResources", "usedResources")}
    return {k: v for k, v in e.items() if k in ("found", "total")}


def _resources(names: Any, rows: list[dict[str, Any]]) -> str:
    words = []
    for f in rows:
        for r in f["resources"]:
            words.append(
                f"{names.of('f', f['name'])}/{r['name']} {amount(r['name'], r['total'])}+{amount(r['name'], r['borrowed'])}"
            )
    return ", ".join(sorted(words))


def _usage(names: Any, rows: list[dict[str, Any]]) -> str:
    return ", ".join(sorted(f"{names.of('f', a['flavor'])}/{a['resource']} {a['amount']}" for a in rows))


def _cycle(names: Any, w: Any, c: dict[str, Any]) -> dict[str, Any]:
    rows = {}
    for row in c.get("reserved") or ():
        text = given(names, row["admission"]) if row.get("admission") else ""
        rows[w(row["workload"])] = text if row.get("admitted", True) else text + " (not admitted)"
    gone = {w(x["workload"]): x.get("preemptedReason") or "" for x in c.get("evicted") or ()}
    out: dict[str, Any] = {"reserved": dict(sorted(rows.items()))} if rows else {}
    return out | ({"evicted": dict(sorted(gone.items()))} if gone else {})


def _assignment(names: Any, a: dict[str, Any]) -> dict[str, Any]:
    sets = []
    for s in a.get("podSets") or ():
        words = [
            f"{r}={names.of('f', f['name'])}:{f['mode']}:{f.get('borrow') or 0}"
            for r, f in sorted((s.get("flavors") or {}).items())
        ]
        sets.append(" ".join([s["name"], f"{s['count']}x", *words]))
    out = {"mode": a["representativeMode"], "borrowing": a.get("borrowing") or 0, "sets": sets}
    return out | ({"reason": a["noFitReason"]} if a.get("noFitReason") else {})
