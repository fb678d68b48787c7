"""From a recorded case to its restatement: names of our own, only what matters, what was decided.

A restated expectation comes from the record alone, never from our code: the fixtures must equal what
this makes of the recorded cases where those are present.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from . import places
from .compact import NOW

MOST_LINES = 25


class CannotRestateError(Exception):
    """The case needs something that the compact form has no word for."""


class Names:
    """New names, dense and in order of first use; workloads keep the order of their uid."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    def of(self, kind: str, name: str) -> str:
        """The new name of ``name``."""
        found = self._known.get((kind, name))
        if found is None:
            taken = sum(1 for k, _ in self._known if k == kind)
            found = self._known[kind, name] = (
                f"{kind}{taken + 1:02d}" if kind == "w" else f"{kind}{taken + 1}"
            )
        return found


def need(condition: object, what: str) -> None:
    """Give up unless ``condition``."""
    if not condition:
        raise CannotRestateError(what)


def only(value: dict[str, Any] | None, *known: str) -> dict[str, Any]:
    """``value``, which must have no other fields."""
    found = value or {}
    need(set(found) <= set(known), str(set(found) - set(known)))
    return found


def seconds(text: str, now: datetime) -> str:
    """A time as seconds from now."""
    delta = (datetime.fromisoformat(text) - now).total_seconds()
    return str(int(delta)) if delta == int(delta) else str(delta)


class Restater:
    """One case."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.names = Names()
        self.now = datetime.fromisoformat(case.get("now") or NOW.isoformat())
        self.kinds: dict[str, list[dict[str, Any]]] = {}
        for value in case["objects"]:
            self.kinds.setdefault(value["kind"], []).append(value)
        need("LimitRange" not in self.kinds, "kinds")
        self.placing = "tas-" in case["suite"] + "-" or case["suite"] == "random-topology"
        need(self.placing or not set(self.kinds) & {"Topology", "Node", "AdmissionCheck"}, "kinds")
        self.locals: dict[tuple[str, str], str] = {}

    # -- choosing what matters -------------------------------------------------------------------

    def workloads(self) -> list[dict[str, Any]]:
        created = [w for e in self.case.get("events") or () for w in e.get("create") or ()]
        return [*self.kinds.get("Workload", ()), *created]

    def relevant(self) -> tuple[set[str], set[str]]:
        """Queues and cohorts of the trees that anything happens in."""
        parent = {
            c["metadata"]["name"]: (c.get("spec") or {}).get("parentName", "")
            for c in self.kinds.get("Cohort", ())
        }

        def root(cohort: str) -> str:
            seen = set()
            while parent.get(cohort) and cohort not in seen:
                seen.add(cohort)
                cohort = parent[cohort]
            return cohort

        home = {}
        for queue in self.kinds.get("ClusterQueue", ()):
            name = queue["metadata"]["name"]
            cohort = queue["spec"].get("cohortName")
            home[name] = "cohort " + root(cohort) if cohort else "queue " + name
        asked = self.case.get("input") or {}
        usage = asked.get("usage")
        touched = {asked.get("targetClusterQueue"), asked.get("usageClusterQueue")}
        touched |= set(usage) if isinstance(usage, dict) else set()
        if not touched & set(home):
            lqs = {
                (q["metadata"]["namespace"], q["metadata"]["name"]): q["spec"]["clusterQueue"]
                for q in self.kinds.get("LocalQueue", ())
            }
            for w in self.workloads():
                touched.add((w.get("status") or {}).get("admission", {}).get("clusterQueue"))
                touched.add(lqs.get((w["metadata"].get("namespace", ""), w["spec"].get("queueName"))))
        trees = {home[t] for t in touched if t in home} or set(home.values())
        queues = {q for q, tree in home.items() if tree in trees}
        cohorts = {c for c in parent if "cohort " + root(c) in trees}
        return queues, cohorts

    # -- words -----------------------------------------------------------------------------------

    def holder(self, value: dict[str, Any]) -> str:
        spec = dict(value.get("spec") or {})
        words = []
        if spec.pop("queueingStrategy", "BestEffortFIFO") == "StrictFIFO":
            words.append("strict")
        misfits = [
            p for p in self.case["expected"].get("pending") or () if p.get("reason") == "Misconfigured"
        ]
        selector = spec.pop("namespaceSelector", {})
        need(selector == {} or (self.case["suite"].startswith("schedule") and not misfits), "selector")
        for field, word, kind in (("cohortName", "in", "c"), ("parentName", "under", "c")):
            if spec.get(field):
                words.append(f"{word}={self.names.of(kind, spec[field])}")
            spec.pop(field, None)
        fair = only(spec.pop("fairSharing", None), "weight")
        words += [f"weight={fair['weight']}"] if "weight" in fair else []
        scope = only(spec.pop("admissionScope", None), "admissionMode")
        words += [f"mode={scope['admissionMode']}"] if scope else []
        checks = only(spec.pop("admissionChecksStrategy", None), "admissionChecks")
        for one in checks.get("admissionChecks") or ():
            on = ",".join(
                self.names.of("f", f) for f in only(one, "name", "onFlavors").get("onFlavors") or ()
            )
            words.append(f"check={one['name']}" + (f":{on}" if on else ""))
        preemption = spec.pop("preemption", None)
        if preemption is not None:
            found = only(preemption, "withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort")
            borrow = only(found.get("borrowWithinCohort"), "policy", "maxPriorityThreshold")
            for key, text in (
                ("within", found.get("withinClusterQueue")),
                ("reclaim", found.get("reclaimWithinCohort")),
                ("borrow", borrow.get("policy")),
                ("threshold", borrow.get("maxPriorityThreshold")),
            ):
                words += [f"{key}={text}"] if text is not None else []
        fungible = only(spec.pop("flavorFungibility", None), "whenCanBorrow", "whenCanPreempt", "preference")
        for key, text, default in (
            ("canBorrow", fungible.get("whenCanBorrow"), "MayStopSearch"),
            ("canPreempt", fungible.get("whenCanPreempt"), "TryNextFlavor"),
            ("prefer", fungible.get("preference"), None),
        ):
            words += [f"{key}={text}"] if text not in (None, default) else []
        parts = [self.group(g) for g in spec.pop("resourceGroups", None) or ()]
        need(not spec, f"spec {sorted(spec)}")
        return " | ".join([" ".join(words), *parts]).strip()

    def group(self, value: dict[str, Any]) -> str:
        flavors = []
        for f in value.get("flavors", ()):
            need(
                [r["name"] for r in f.get("resources") or ()] == (value.get("coveredResources") or []),
                "resources out of order",
            )
            words = [self.names.of("f", f["name"])]
            for r in f.get("resources") or ():
                limit = f"+{r['borrowingLimit']}" if "borrowingLimit" in r else ""
                lend = f"-{r['lendingLimit']}" if "lendingLimit" in r else ""
                words.append(f"{r['name']}={r['nominalQuota']}{limit}{lend}")
            flavors.append(" ".join(words))
        return "; ".join(flavors)

    def flavor(self, value: dict[str, Any]) -> str:
        spec = only(value.get("spec"), "nodeLabels", "nodeTaints", "tolerations", "topologyName")
        words = ["topology", self.names.of("t", spec["topologyName"])] if spec.get("topologyName") else []
        for key, label in (spec.get("nodeLabels") or {}).items():
            words += ["label", key, label]
        for taint in spec.get("nodeTaints") or ():
            words += ["taint", taint["key"], taint.get("value") or "", taint["effect"]]
        for toleration in spec.get("tolerations") or ():
            need(
                set(toleration) <= {"key", "operator"} and toleration.get("operator") == "Exists",
                "toleration",
            )
            words += ["tolerates", toleration["key"], "Exists"]
        need("" not in words, "empty word")
        return " ".join(words)

    def set_(self, value: dict[str, Any], given: dict[str, Any] | None) -> str:
        only(value, "name", "count", "minCount", "template", "topologyRequest")
        spec = dict(value["template"]["spec"])
        spec.pop("restartPolicy", None)
        words = [value["name"] or "-", f"{value['count']}x"]
        containers = spec.pop("containers")
        need(len(containers or ()) == 1, "containers")
        resources = only(containers[0].get("resources"), "requests")
        words += [f"{r}={q}" for r, q in (resources.get("requests") or {}).items()]
        words += [f"min={value['minCount']}"] if "minCount" in value else []
        for key, label in (spec.pop("nodeSelector", None) or {}).items():
            words += ["select", key, label]
        for toleration in spec.pop("tolerations", None) or ():
            if set(toleration) == {"key", "operator", "value", "effect"}:
                need(toleration["operator"] == "Equal", "toleration")
                words += ["equal", toleration["key"], toleration["value"], toleration["effect"]]
                continue
            need(set(toleration) == {"key", "operator"} and toleration["operator"] == "Exists", "toleration")
            words += ["tolerates", toleration["key"], "Exists"]
        affinity = (spec.pop("affinity", None) or {}).get("nodeAffinity") or {}
        for one in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            expressions = one["preference"]["matchExpressions"]
            need(len(expressions) == 1 and expressions[0].get("values"), "preference")
            e = expressions[0]
            words += ["prefer", str(one["weight"]), e["key"], e["operator"], ",".join(e["values"])]
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        if required is not None:
            terms = required["nodeSelectorTerms"]
            need(
                len(terms) == 1
                and len(terms[0].get("matchExpressions", ())) == 1
                and set(terms[0]) == {"matchExpressions"},
                "affinity",
            )
            e = terms[0]["matchExpressions"][0]
            need(e.get("values"), "affinity values")
            words += ["affinity", e["key"], e["operator"], ",".join(e["values"])]
        words += self.asked(value.get("topologyRequest"))
        need(not spec, "pod spec")
        if given is not None:
            only(
                given,
                "name",
                "count",
                "flavors",
                "resourceUsage",
                "topologyAssignment",
                "delayedTopologyRequest",
            )
            words += ["->", *([f"{given['count']}x"] if given.get("count") != value["count"] else [])]
            flavors = given.get("flavors") or {}
            words += [f"{r}:{self.names.of('f', f)}:{given['resourceUsage'][r]}" for r, f in flavors.items()]
            words += self.at(given.get("topologyAssignment"))
            delayed = given.get("delayedTopologyRequest")
            words += ["delayed", delayed] if delayed else []
        return " ".join(words)

    def asked(self, request: dict[str, Any] | None) -> list[str]:
        try:
            words = places.request_words(request)
        except ValueError as error:
            raise CannotRestateError(str(error)) from error
        need(self.placing or not words or words[0] == "group", "topology")
        return words

    def at(self, assignment: dict[str, Any] | None) -> list[str]:
        if not assignment:
            return []
        levels = assignment["levels"]
        try:
            text = places.written(assignment)
        except ValueError as error:
            raise CannotRestateError(str(error)) from error
        return [*(["levels", ",".join(levels)] if levels != [places.HOSTNAME] else []), "at", text]

    def placing_text(self, value: dict[str, Any]) -> str:
        """One podset to place."""
        only(
            value,
            "count",
            "implied",
            "podSet",
            "singlePodRequests",
            "podSetGroupName",
            "previousAssignment",
        )
        asked = dict(value["podSet"])
        spec = dict(asked["template"]["spec"])
        spec["containers"] = [{"resources": {"requests": value["singlePodRequests"]}}]
        request = dict(asked.get("topologyRequest") or {})
        if value.get("podSetGroupName"):
            request["podSetGroupName"] = value["podSetGroupName"]
        whole = {"name": asked.get("name", ""), "count": value["count"], "template": {"spec": spec}}
        text = self.set_(whole | ({"topologyRequest": request} if request else {}), None)
        text += " implied" if value.get("implied") else ""
        before = self.at(value.get("previousAssignment"))
        return " ".join([text, *(["->", *before] if before else [])])

    def placed(self, value: dict[str, Any]) -> str:
        """What pods placed before take."""
        where = places.written({"domains": [{"values": value["values"], "count": value["count"]}]})
        return " ".join([where, *(f"{r}={q}" for r, q in value["singlePodRequests"].items())])

    def work(self, value: dict[str, Any]) -> str:
        meta, spec = dict(value["metadata"]), dict(value["spec"])
        status = only(
            value.get("status"),
            "conditions",
            "admission",
            "reclaimablePods",
            "unhealthyNodes",
            "admissionChecks",
        )
        need(spec.pop("active", True) is True, "inactive")
        only(spec, "queueName", "priority", "podSets")
        admission = status.get("admission")
        queue = "-"
        if spec.get("queueName"):
            queue = self.local(meta.get("namespace", ""), spec["queueName"])
        elif admission:
            queue = self.names.of("q", admission["clusterQueue"])
        if admission:
            need(
                self.locals.get(queue, queue).split()[0] == self.names.of("q", admission["clusterQueue"]),
                "admitted elsewhere",
            )
        words = [queue]
        words += [f"p={spec['priority']}"] if "priority" in spec else []
        if meta.get("creationTimestamp"):
            words.append(f"t={seconds(meta['creationTimestamp'], self.now)}")
        words += [f"uid={self.named(value)}"] if meta.get("uid") else []
        notes = only(
            meta.get("annotations"), "kueue.x-k8s.io/priority-boost", "kueue.x-k8s.io/is-group-workload"
        )
        for key, v in notes.items():
            words.append(f"boost={v}" if key.endswith("boost") else f"grouped={v}")
        words += [f"owner={o['kind']}:{o['name']}" for o in meta.get("ownerReferences") or ()]
        for c in status.get("conditions") or ():
            need(c["status"] == "True", "condition")
            short = {"QuotaReserved": "held", "Admitted": "admitted"}.get(c["type"])
            text = short or (f"{c['type']}:{c['reason']}" if c.get("reason") else c["type"])
            words.append(f"{text}={seconds(c['lastTransitionTime'], self.now)}")
        words += [f"lost={n['name']}" for n in status.get("unhealthyNodes") or ()]
        for c in status.get("admissionChecks") or ():
            only(c, "name", "state", "message")
            words.append(f"check={c['name']}:{c['state']}")
        words += [f"done={r['name']}:{r['count']}" for r in status.get("reclaimablePods") or ()]
        need(" " not in "".join(words), "space")
        given = {g["name"]: g for g in admission["podSetAssignments"]} if admission else {}
        sets = [self.set_(s, given.get(s["name"])) for s in spec["podSets"] or ()]
        return " ; ".join([" ".join(words), *sets])

    def local(self, namespace: str, name: str) -> str:
        """The name of a LocalQueue: its queue's where there is one alone."""
        found = [
            q
            for q in self.kinds.get("LocalQueue", ())
            if q["metadata"]["name"] == name and q["metadata"]["namespace"] == namespace
        ]
        need(len(found) == 1, "local queue")
        queue = self.names.of("q", found[0]["spec"]["clusterQueue"])
        if self.case["suite"] != "schedule-admission-fair-sharing":
            return queue
        new = self.names.of("l", f"{namespace}/{name}")
        weight = (found[0]["spec"].get("fairSharing") or {}).get("weight")
        self.locals[new] = queue if weight is None else f"{queue} weight={weight}"
        return new

    def named(self, value: dict[str, Any]) -> str:
        meta = value["metadata"]
        return self.names.of("w", f"{meta.get('namespace', '')}/{meta['name']}")

    def usage(self, raw: list[dict[str, Any]]) -> str:
        return ", ".join(f"{self.names.of('f', a['flavor'])}/{a['resource']} {a['amount']}" for a in raw)

    # -- the whole -------------------------------------------------------------------------------

    def restate(self, name: str) -> dict[str, Any]:
        """The restated document."""
        from .expectations import EXPECT, input_of

        case = self.case
        suite = case["suite"]
        queues, cohorts = self.relevant()
        everyone = sorted(
            self.workloads(),
            key=lambda w: (
                w["metadata"].get("uid", ""),
                w["metadata"].get("namespace", ""),
                w["metadata"]["name"],
            ),
        )
        for w in everyone:
            self.named(w)
        out: dict[str, Any] = {"name": name, "source": f"{suite} / {case['name']}", "area": suite}
        if case.get("featureGates"):
            out["gates"] = case["featureGates"]
        configuration = {k: v for k, v in case["configuration"].items() if v not in (False, None, "")}
        if configuration:
            out["configuration"] = configuration
        chosen = {
            k: [v for v in self.kinds.get(k, ()) if v["metadata"]["name"] in keep]
            for k, keep in (("Cohort", cohorts), ("ClusterQueue", queues))
        }
        for v in chosen["ClusterQueue"]:
            self.names.of("q", v["metadata"]["name"])
        texts = {
            k: {self.names.of(n, v["metadata"]["name"]): self.holder(v) for v in chosen[k]}
            for k, n in (("Cohort", "c"), ("ClusterQueue", "q"))
        }
        out |= {"cohorts": texts["Cohort"]} if texts["Cohort"] else {}
        out |= {"queues": texts["ClusterQueue"]} if texts["ClusterQueue"] else {}
        known = {v["metadata"]["name"]: v for v in self.kinds.get("ResourceFlavor", ())}
        used = [f for kind, f in list(self.names._known) if kind == "f"]
        written = {self.names.of("f", f): self.flavor(known[f]) for f in used if f in known}
        if any(written.values()):
            out["flavors"] = {n: t for n, t in written.items() if t}
        work = {self.named(w): self.work(w) for w in self.kinds.get("Workload", ())}
        if work:
            out["work"] = dict(sorted(work.items()))
        events = {
            e["cycle"]: {
                "create": {self.named(w): self.work(w) for w in e.get("create") or ()},
                "finish": [
                    self.names.of("w", n) for n in (*(e.get("finish") or ()), *(e.get("delete") or ()))
                ],
            }
            for e in case.get("events") or ()
        }
        if events:
            out["events"] = {c: {k: v for k, v in e.items() if v} for c, e in events.items()}
        asked = input_of(self, suite, case.get("input"))
        if asked is not None:
            out["ask"] = asked
        if self.locals:
            out["locals"] = dict(sorted(self.locals.items()))
        missing = [self.names.of("f", f) for f in used if f not in known and known]
        self.ground(out)
        if missing and suite != "quota-available":
            out["missing"] = missing
        out["expect"] = EXPECT(self, suite, case["expected"])
        return out

    def ground(self, out: dict[str, Any]) -> None:
        """Nodes and what belongs to them, before the work."""
        try:
            found = {
                "topologies": {
                    self.names.of("t", v["metadata"]["name"]): " ".join(
                        level["nodeLabel"] for level in v["spec"]["levels"]
                    )
                    for v in self.kinds.get("Topology", ())
                    if self.placing
                },
                "checks": {
                    v["metadata"]["name"]: v["spec"]["controllerName"]
                    for v in self.kinds.get("AdmissionCheck", ())
                },
                "nodes": dict(places.node_text(v) for v in self.kinds.get("Node", ())),
                "pods": dict(places.pod_text(v) for v in self.kinds.get("Pod", ())),
            }
        except (ValueError, KeyError) as error:
            raise CannotRestateError(str(error)) from error
        out |= {k: v for k, v in found.items() if v}
        if out["area"].startswith("tas-"):
            ((name, flavor),) = (
                (self.names.of("f", v["metadata"]["name"]), self.flavor(v))
                for v in self.kinds["ResourceFlavor"]
            )
            out["flavors"] = {name: flavor}


def restate(case: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The restatement of ``case``, or None when it has none."""
    try:
        return Restater(case).restate(name)
    except CannotRestateError:
        return None


# Of the generated runs, so many of each kind are restated; of the named situations all that can be.
GENERATED = 12
FEW_NODES = 8  # more stand on one line, and so do flavors and topologies then
EXCUSED = {"goOnly", "injectedAdmissionStatusPatchError", "siblingOrderNondeterministic", "inputLost"}


def title(doc: dict[str, Any]) -> str:
    """A few words on what happens."""
    e = doc["expect"]
    if "victims" in e:
        return ", ".join(f"{w} goes: {r}" for w, r in e["victims"].items()) or "nobody goes"
    if "mode" in e:
        return " ".join([e["mode"], *([e["reason"]] if "reason" in e else [])])
    if "cycles" in e:
        return "thrash" if not e["converged"] else f"{len(e['holds'])} admitted, {len(e['pending'])} wait"
    if "pending" in e:
        return f"{len(e.get('reserved', ()))} admitted, {len(e.get('evicted', ()))} evicted, {len(e['pending'])} wait"
    return ", ".join(sorted(e))


def dump(doc: dict[str, Any]) -> str:
    """The document as text: one line an entry."""
    import yaml

    def flow(value: Any) -> str:
        return (
            yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False)
            .removesuffix("\n...\n")
            .strip()
        )

    many = len(doc.get("nodes") or ()) > FEW_NODES
    lines = []
    for key, value in doc.items():
        flat = key in ("gates", "configuration") or (many and key in ("nodes", "flavors", "topologies"))
        if isinstance(value, dict) and value and not flat:
            lines.append(f"{key}:")
            lines += [f"  {k}: {flow(v)}" for k, v in value.items()]
        else:
            lines.append(f"{key}: {flow(value)}")
    return "\n".join(lines) + "\n"


def documents(cases: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The texts of all fixtures by area, from all recorded cases."""
    out: dict[str, list[str]] = {}
    for case in cases:
        area = case["suite"]
        if area in ("validation", "big") or set(case.get("portability") or ()) & EXCUSED:
            continue
        found = out.setdefault(area, [])
        if area.startswith("random") and len(found) >= GENERATED:
            continue
        doc = restate(case, "")
        if doc is None:
            continue
        doc["name"] = f"{area} {len(found) + 1:02d}: {title(doc)}"
        text = dump(doc)
        if text.count("\n") <= MOST_LINES:
            found.append(text)
    return {area: texts for area, texts in out.items() if texts}
