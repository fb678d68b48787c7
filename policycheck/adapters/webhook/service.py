"""From a request to an answer, with everything that logs and metrics tell about it. No network in here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from policycheck.adapters.webhook import mode, override
from policycheck.adapters.webhook.answer import Answer, refusal, told
from policycheck.adapters.webhook.review import Request, completed
from policycheck.app.admission import Change, Judgement, TooLateError
from policycheck.app.certified import Register, Standing
from policycheck.app.world import read, slim
from policycheck.lint.finding import Finding
from policycheck.record import NamedTuple

if TYPE_CHECKING:
    from policycheck.adapters.webhook.override import Override
    from policycheck.app.admission import Judge
    from policycheck.lint.settings import Admission

_OURS = ("status", "metadata")
_KEPT = (
    "name",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
)  # of metadata; finalizers are others'


class Outcome(NamedTuple):
    """An answer and what is told of it. ``verdict`` is allowed, warned, denied, overridden, skipped, late or failed."""

    answer: Answer
    verdict: str
    why: str = ""  # of "skipped", "late" and "failed"
    rules: tuple[str, ...] = ()  # with new findings
    broken: tuple[str, ...] = ()  # rules that raised
    override: Override | None = None
    reach: str = ""


class Conditions(NamedTuple):
    """What holds while requests are answered; each function is asked every time."""

    settings: Admission
    today: Callable[[], str]  # ISO date
    now: Callable[[], str]  # RFC 3339 in UTC with seconds
    age: Callable[[], float]  # seconds since the oldest of what is watched was heard of
    certificates: Callable[[], Standing | None]  # None: not only what is certified is admitted
    namespace: str = ""  # our own: its repair is never in the way
    allow_late: bool = False  # whether the critical path admits what could not be judged in time


class Service:
    """Answers requests about one world. ``review`` is for one thread at a time."""

    def __init__(self, judge: Judge, conditions: Conditions) -> None:
        self.judge = judge
        self.conditions = conditions
        self._register = Register()
        self._rules = {rule.id: rule for rule in judge.bench.rulebook.rules}

    # -- without looking at the cluster ---------------------------------------------------------

    def at_once(self, request: Request) -> Outcome | None:
        """The answer to what is never judged; None for the rest."""
        why = self._never(request)
        return (
            Outcome(Answer(allowed=True, notes={"verdict": "skipped", "why": why}), "skipped", why)
            if why
            else None
        )

    def _never(self, request: Request) -> str:
        """Why a request is not judged; "" when it is."""
        settings, namespace = self.conditions.settings, request.namespace
        if request.subresource:
            return f"subresource {request.subresource[:40]}"
        if request.operation == "CONNECT":
            return "CONNECT"
        if namespace and namespace == self.conditions.namespace:
            return "the namespace of the webhook"
        if mode.is_exempt(namespace, settings):
            return "an exempt namespace"
        if request.new is not None and _meta(request.new).get("deletionTimestamp"):
            return "being deleted"
        if request.operation == "UPDATE" and request.old is not None:
            old, new = completed(request, request.old), completed(request, request.new)
            if _substance(old) == _substance(new):
                return "nothing changed that rules look at"
        return ""

    # -- with the cluster -----------------------------------------------------------------------

    def review(self, request: Request, late: Callable[[], bool], *, critical: bool) -> Outcome:
        """The answer, on the cluster as it is. Never raises: what goes wrong is answered as ``late`` is."""
        try:
            return self._review(request, late)
        except TooLateError:
            return self.late(critical=critical)
        except Exception as error:  # noqa: BLE001 - whatever a rule or an object does, the API server gets an answer
            return self.failed(f"{type(error).__name__}: {error}", critical=critical)

    def late(self, *, critical: bool) -> Outcome:
        """The answer when time is up."""
        return self._undecided("late", "the deadline passed before it was judged", critical=critical)

    def failed(self, what: str, *, critical: bool) -> Outcome:
        """The answer when judging went wrong."""
        why = f"it could not be judged ({' '.join(what.split())[:200]})"
        return self._undecided("failed", why, critical=critical)

    def unready(self, why: str, *, critical: bool) -> Outcome:
        """The answer while the cluster is not in sight."""
        return self._undecided("failed", why, critical=critical)

    def _undecided(self, verdict: str, why: str, *, critical: bool) -> Outcome:
        notes = {"verdict": verdict, "why": why}
        if critical and not self.conditions.allow_late:
            message = f"policycheck: {why}; try again"
            return Outcome(
                Answer(allowed=False, message=message, code=504, reason="Timeout", notes=notes), verdict, why
            )
        text = f"policycheck: {why}; it was admitted without that"
        return Outcome(Answer(allowed=True, warnings=(text,), notes=notes), verdict, why)

    def _review(self, request: Request, late: Callable[[], bool]) -> Outcome:
        new, old = completed(request, request.new), completed(request, request.old)
        deleted = request.operation == "DELETE"
        change = Change(
            read(old) if old is not None and request.operation != "CREATE" else None,
            read(new) if new is not None and not deleted else None,
        )
        if change.old is None and change.new is None:
            why = "a deletion without the object"
            return Outcome(Answer(allowed=True, notes={"verdict": "skipped", "why": why}), "skipped", why)
        if not change.facts.system:
            why = "nothing reads this kind"
            return Outcome(Answer(allowed=True, notes={"verdict": "skipped", "why": why}), "skipped", why)
        today = self.conditions.today()
        found = self.judge.judge(change, today=today, late=late)
        return self._decided(request, change, found, new, today)

    def _decided(
        self,
        request: Request,
        change: Change,
        found: Judgement,
        value: Mapping[str, Any] | None,
        today: str,
    ) -> Outcome:
        sorted_ = mode.sort(found.new, self._rules, request.namespace, self.conditions.settings)
        refused = "" if change.new is None else self._uncertified(change, found)
        deny = () if change.new is None else sorted_.deny
        warn = (*sorted_.deny, *sorted_.warn) if change.new is None else sorted_.warn
        warnings = [told(finding) for finding in warn]
        asked = override.asked(request, self.conditions.settings, today)
        message = _message(refused, deny, value, self._rules)
        notes = self._notes(found, sorted_)
        rules = tuple(dict.fromkeys(finding.rule for finding in found.new))
        broken = tuple(dict.fromkeys(error.rule for error in found.errors))
        if broken:
            warnings.append(
                f"policycheck: {', '.join(broken)} could not be evaluated; nothing is said of what it is about"
            )
        if found.left_out:
            warnings.append(
                f"policycheck: {found.left_out} more shapes of waiting workloads were not looked at"
            )
        if not message:
            verdict = "warned" if warnings else "allowed"
            made = Answer(allowed=True, warnings=tuple(warnings), notes={**notes, "verdict": verdict})
            return Outcome(made, verdict, "", rules, broken, None, found.reach)
        if asked is not None and not asked.wrong:
            said = f"overridden by {request.user}: {asked.reason} (owner {asked.owner}, until {asked.until})"
            first = message.partition("\n")[0]
            every = (f"policycheck: {said}", f"policycheck: would be refused: {first}", *warnings)
            made = Answer(
                allowed=True, warnings=every, notes={**notes, "verdict": "overridden", "override": said}
            )
            return Outcome(made, "overridden", first, rules, broken, asked, found.reach)
        if asked is not None:
            message += f"\nIts override does not count: {asked.wrong}"
        made = Answer(
            allowed=False, message=message, warnings=tuple(warnings), notes={**notes, "verdict": "denied"}
        )
        return Outcome(made, "denied", message.partition("\n")[0], rules, broken, None, found.reach)

    def _uncertified(self, change: Change, found: Judgement) -> str:
        """Why the change is refused where only what is certified is admitted; "" when it is not."""
        certificates = self.conditions.certificates()
        if certificates is None or change.new is None:
            return ""
        picture = self.judge.bench.world.picture()
        cluster, generation = picture.cluster, picture.generation
        refused = self._register.refusal(change.new, cluster, generation, certificates, self.conditions.now())
        if refused is not None:
            return refused.why
        errors = [f for f in found.new if f.severity == "error"]
        is_config = self._register.is_about(change.new)
        if errors and is_config:
            return f"it is certified, and with what is there now it breaks {told(errors[0])}"
        return ""

    def _notes(self, found: Judgement, done: mode.Sorted) -> dict[str, str]:
        certificates = self.conditions.certificates()
        return {
            "rules": _ids(found.new),
            "denied-rules": _ids(done.deny),
            "audited-rules": _ids(done.audit),
            "suppressed-rules": _ids(one.finding for one in found.suppressed),
            "rulebook": self.judge.bench.rulebook.digest,
            "certificate": certificates.digest if certificates is not None else "",
            "staleness": f"{self.conditions.age():.1f}s",
            "mode": self.conditions.settings.mode,
            "reach": found.reach,
        }


def _message(
    uncertified: str, deny: tuple[Finding, ...], value: Mapping[str, Any] | None, rules: Mapping[str, Any]
) -> str:
    """Why it is refused; "" when it is not."""
    parts = []
    if uncertified:
        parts.append(f"policycheck certified: {uncertified}")
    if deny:
        parts.append(refusal(deny, value, rules))
    return "\n".join(parts)


def _ids(findings: Any) -> str:
    return ",".join(dict.fromkeys(finding.rule for finding in findings))


def _meta(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found = value.get("metadata")
    return found if isinstance(found, Mapping) else {}


def _substance(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """What rules may look at: not status, nor what the server keeps about the object."""
    if value is None:
        return {}
    plain = slim(value)
    made = {key: held for key, held in plain.items() if key not in _OURS}
    made["metadata"] = {key: held for key, held in _meta(plain).items() if key in _KEPT}
    return made
