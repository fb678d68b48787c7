"""Timelines made by hand: a small simulation of its own, so that pages are tested without any system."""

from __future__ import annotations

import heapq

from policycheck.model.inventory import Accelerators, Node, Range
from policycheck.model.workload import PodSet
from policycheck.simulate.draw import stream
from policycheck.simulate.job import Job
from policycheck.simulate.timeline import (
    FINISHED,
    PENDING,
    RUNNING,
    Life,
    QueueLine,
    Stay,
    Step,
    Supply,
    Timeline,
)

HOUR = 3_600_000
RESOURCE = "nvidia.com/gpu"
LEVELS = ("net/block", "net/rack")


def nodes(count, gpus=8, model="NVIDIA-H100-80GB-HBM3", rack=8, block=4, prefix="node-", **more):
    return tuple(
        Node(
            name=f"{prefix}{n:03d}",
            labels={"net/block": f"b{n // (rack * block)}", "net/rack": f"r{n // rack}"},
            allocatable={RESOURCE: gpus},
            accelerators=Accelerators(model, Range(gpus, gpus), Range(gpus, gpus), resource=RESOURCE),
            **more,
        )
        for n in range(count)
    )


def teams(count, prefix="team-"):
    return tuple(f"{prefix}{n:02d}" for n in range(count))


class Engine:
    """First come, first served by priority, with preemption of lower priorities of other queues."""

    def __init__(self, queues, jobs, machines, end):
        self.queues, self.machines, self.end = queues, machines, end
        self.free = {node.name: 8 for node in machines}
        self.waiting, self.running = [], {}
        self.stays = {job.id: [] for job, _ in jobs}
        self.queue = {job.id: queue for job, queue in jobs}
        self.jobs = {job.id: job for job, _ in jobs}
        self.left = {job.id: job.duration for job, _ in jobs}
        self.steps = {queue: [] for queue in queues}
        self.nominal = len(machines) * 8 // max(len(queues), 1)
        self.supply, self.ended, self.events = [], {}, []
        self.held = {queue: [0, 0, 0, 0] for queue in queues}  # used, waiting, jobs waiting, running
        self.changed = set(queues)

    def run(self):
        for job in self.jobs.values():
            heapq.heappush(self.events, (job.submit, 0, job.id))
        self.note(0)
        while self.events and self.events[0][0] < self.end:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                _, kind, name = heapq.heappop(self.events)
                if kind == 0:
                    self.waiting.append(name)
                    self.count(name, 0, 1, 1, 0)
                elif self.running.get(name, (None,))[0] is not None and self.running[name][1] == now:
                    self.stop(name, now, "Finished")
                    self.ended[name] = now
            self.start(now)
            self.note(now)

    def start(self, now):
        self.waiting.sort(key=lambda name: (-self.jobs[name].priority, self.jobs[name].submit, name))
        for name in list(self.waiting):
            pods = self.jobs[name].pods
            if sum(v // 8 for v in self.free.values()) < pods:
                self.preempt(name, now, pods)
            whole = [node for node, left in self.free.items() if left == 8]
            if len(whole) < pods:
                continue
            where = tuple((node, 1) for node in whole[:pods])
            for node, _ in where:
                self.free[node] = 0
            self.waiting.remove(name)
            self.count(name, 1, -1, -1, 1)
            until = now + 60_000 + self.left[name]
            self.running[name] = (where, until)
            heapq.heappush(self.events, (until, 1, name))
            racks = len({int(node.split("-")[-1]) // 8 for node, _ in where})
            self.stays[name].append(
                Stay(
                    now,
                    now,
                    now + 60_000,
                    nodes=where,
                    domains=(("net/rack", racks, -(-pods // 8)),) if pods > 1 else (),
                )
            )

    def preempt(self, name, now, pods):
        lower = [
            other
            for other in self.running
            if self.jobs[other].priority < self.jobs[name].priority and self.queue[other] != self.queue[name]
        ]
        lower.sort(key=lambda other: (self.jobs[other].priority, -self.stays[other][-1].reserved, other))
        free = sum(v // 8 for v in self.free.values())
        chosen = []
        for other in lower:
            if free + sum(self.jobs[o].pods for o in chosen) >= pods:
                break
            chosen.append(other)
        if free + sum(self.jobs[o].pods for o in chosen) < pods:
            return
        for other in chosen:
            self.stop(
                other, now, "Preempted", "InCohortReclamation" if now % 2 else "InCohortFairSharing", name
            )
            self.waiting.append(other)
            self.count(other, 0, 1, 1, 0)

    def stop(self, name, now, why, cause="", by=""):
        where, _ = self.running.pop(name)
        self.count(name, -1, 0, 0, -1)
        for node, _ in where:
            self.free[node] = 8
        stay = self.stays[name][-1]
        lost = max(0, now - stay.ready) // 2 if cause else 0
        self.stays[name][-1] = stay._replace(ended=now, ended_by=why, cause=cause, by=by, lost=lost)

    def count(self, name, used, waiting, jobs, running):
        units = self.jobs[name].pods * 8
        held = self.held[self.queue[name]]
        for n, more in enumerate((used * units, waiting * units, jobs, running)):
            held[n] += more
        self.changed.add(self.queue[name])

    def note(self, now):
        for queue in sorted(self.changed):
            used, waiting, jobs, running = self.held[queue]
            fitting = min(waiting, max(0, self.nominal - used))
            step = Step(now, used, waiting, fitting, jobs, running)
            known = self.steps[queue]
            if not known or known[-1][1:] != step[1:]:
                known.append(step)
        self.changed.clear()
        free = sum(self.free.values())
        racks = {}
        for node, left in self.free.items():
            rack = int(node.split("-")[-1]) // 8
            racks[rack] = racks.get(rack, 0) + left
        self.supply.append(
            Supply(now, len(self.machines) * 8, free, max(racks.values(), default=0), free, free // 5)
        )


def timeline(queues=12, jobs=170, machines=32, hours=48, seed=7, names=None, priorities=3):
    """A Timeline of some queues on some nodes; the same arguments give the same one."""
    names = teams(queues) if names is None else names
    ground = nodes(machines)
    end = hours * HOUR
    made = []
    for n in range(jobs):
        draw = stream(seed, "job", n)
        queue = names[draw.below(len(names))]
        pods = (1, 1, 1, 2, 2, 4, 8)[draw.below(7)]
        rank = draw.below(priorities)
        job = Job(
            f"{queue}/job-{n:04d}",
            queue,
            int(draw.unit() * end * 0.9),
            int(draw.exponential(3 * HOUR)) + 60_000,
            (PodSet("main", pods, {RESOURCE: 8}),),
            priority=(0, 100, 1000)[rank],
            priority_class=("best-effort", "normal", "production")[rank],
            klass="train",
        )
        made.append((job, queue))
    made.sort(key=lambda item: (item[0].submit, item[0].id))
    engine = Engine(names, made, ground, end)
    engine.run()
    lives = []
    for job, queue in made:
        name = job.id
        stays = tuple(engine.stays[name])
        state = FINISHED if name in engine.ended else RUNNING if name in engine.running else PENDING
        waits = state == PENDING
        lives.append(
            Life(
                job,
                queue,
                job.pods * 8,
                state,
                stays,
                engine.ended.get(name, -1),
                "WaitingForQuota" if waits else "",
                "insufficient unused quota for nvidia.com/gpu in flavor h100, 16 more needed"
                if waits
                else "",
                max(0, len(stays) - 1),
            )
        )
    lines = tuple(
        QueueLine(name, "all", engine.nominal, machines * 8, 1000, tuple(engine.steps[name]))
        for name in sorted(names)
    )
    return Timeline(
        RESOURCE,
        end,
        tuple(lives),
        lines,
        tuple(engine.supply),
        cycles=len(engine.supply),
        nominations=jobs * 2,
        notes=("Durations of 12 jobs were not given and taken as one hour.",),
    ), ground
