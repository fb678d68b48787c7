"""Every mistake in a mix is told with its place, what was found and what is allowed."""

from __future__ import annotations

import pytest

from policycheck.simulate.mixfile import read
from policycheck.simulate.trouble import ArrivalsError

HEAD = "mix: x\nhorizon: 1d\nload: 1.0\nclasses:\n"
GOOD = "  - {name: a, share: 1, gpus: 1, duration: 1h}\n"
LONG = "  - name: a\n    share: 1\n    gpus: 1\n    duration: "

WRONG = {
    "": ["m.yaml:1:1: the file is empty; a mix is a map of keys and values"],
    "[]\n": ["m.yaml:1:1: a mix is a map of keys and values; found a list"],
    "a: [": [
        "m.yaml:1:5: a value is missing or starts with a character that needs quotes (did not find expected node content)"
    ],
    "mix: x\n---\nmix: y\n": ["m.yaml:3:1: a second document; a mix is one"],
    "mix: x\n": ["m.yaml:1:1: 'classes' is missing; it has to be written"],
    "mix: X_y\nclasses: []\n": [
        "m.yaml:1:1: 'mix' is 'X_y'; a name has small letters, digits and hyphens, as in large-training",
        "m.yaml:2:1: 'classes' is empty; it needs at least 1",
    ],
    HEAD + "  - {name: a, share: 1, gpu: 1, duration: 1h}\n": [
        "m.yaml:5:25: unknown key 'classes[0].gpu'; did you mean 'gpus'?"
    ],
    HEAD + "  - {name: a, share: 1, gpus: 1}\n": [
        "m.yaml:5:5: 'classes[0]': 'duration' is missing: how long its jobs run"
    ],
    HEAD + "  - {name: a, share: 1, gpus: 1, duration: 4 parsecs}\n": [
        "m.yaml:5:34: 'classes[0].duration': '4 parsecs' is no length of time; write a number with a unit of ms, s, m, h, d or w, as in 90s, 4h or 1h30m"
    ],
    HEAD + LONG + "{mean: 1h, median: 2h}\n": [
        "m.yaml:8:5: 'classes[0].duration': a median has to be above 0 and not above the mean: mean 1h, median 2h"
    ],
    HEAD + LONG + "{mean: 1h}\n": [
        "m.yaml:8:5: 'classes[0].duration': 'mean' and 'median' go together: both make a log-normal distribution"
    ],
    HEAD + LONG + "{}\n": [
        "m.yaml:8:5: 'classes[0].duration': found none of constant, mean, exponential, uniform, odds, quantiles, values, file; exactly one says what is drawn"
    ],
    HEAD + LONG + "{uniform: [2h, 1h]}\n": [
        "m.yaml:8:5: 'classes[0].duration': 'uniform' has two bounds, the lower one first, as in [10m, 2h]"
    ],
    HEAD + LONG + "{odds: {1h: 0}}\n": [
        "m.yaml:8:5: 'classes[0].duration': the odds are all 0; one has to be above"
    ],
    HEAD + LONG + "{odds: {now: 1}}\n": [
        "m.yaml:8:5: 'classes[0].duration': 'now' is no length of time; write a number with a unit of ms, s, m, h, d or w, as in 90s, 4h or 1h30m"
    ],
    HEAD + LONG + "{quantiles: {50: 1h}}\n": [
        "m.yaml:8:5: 'classes[0].duration': 'quantiles' gives lengths by percentage, both rising, from 0 to 100, as in {0: 1s, 50: 10m, 90: 4h, 100: 7d}"
    ],
    HEAD + LONG + "{exponential: 0}\n": [
        "m.yaml:8:5: 'classes[0].duration': 'exponential' is a mean above 0"
    ],
    HEAD + LONG + "{values: []}\n": [
        "m.yaml:8:16: 'classes[0].duration.values' is empty; it needs at least 1"
    ],
    HEAD + LONG + "{exponential: 1h, least: 2h, most: 1h}\n": [
        "m.yaml:8:5: 'classes[0].duration': 'most' is 1h, less than 'least' with 2h"
    ],
    HEAD + "  - {name: a, share: 1, gpus: 1.5, duration: 1h}\n": [
        "m.yaml:5:5: 'classes[0]': 'gpus' is 1.5; above 1 only whole ones can be asked for"
    ],
    HEAD + "  - {name: a, share: 1, gpus: -1, duration: 1h}\n": [
        "m.yaml:5:25: 'classes[0].gpus[-1]' is -1; it has to be 0 or more"
    ],
    HEAD + "  - {name: a, share: 1, gpus: many, duration: 1h}\n": [
        "m.yaml:5:25: 'classes[0].gpus' is 'many'; write a number, or numbers with odds, as in {1: 0.8, 8: 0.2}"
    ],
    HEAD + "  - {name: a, share: 1, gpus: {1: 0}, duration: 1h}\n": [
        "m.yaml:5:5: 'classes[0]': the odds of 'gpus' are all 0; one has to be above"
    ],
    HEAD + "  - {name: a, share: 1, gpus: {one: 1}, duration: 1h}\n": [
        "m.yaml:5:32: 'classes[0].gpus.one' is 'one'; write a number"
    ],
    HEAD + "  - {name: a, share: 1, pods: 0, gpus: 1, duration: 1h}\n": [
        "m.yaml:5:25: 'classes[0].pods[0]' is 0; it has to be 1 or more"
    ],
    HEAD + "  - {name: a, share: 1, job-gpus: 8, gpus: 1, duration: 1h}\n": [
        "m.yaml:5:5: 'classes[0]': 'job-gpus' is what the whole job has; leave 'pods' and 'gpus' out beside it"
    ],
    HEAD + "  - {name: a, share: 1, duration: 1h}\n": [
        "m.yaml:5:5: 'classes[0]': a job asks for something: write 'gpus', 'job-gpus' or 'requests'"
    ],
    HEAD + "  - {name: a, share: 0.5, gpus: 1, duration: 1h}\n": [
        "m.yaml:1:1: the shares of the classes add up to 0.5; they have to add up to 1"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h}\n": [
        "m.yaml:5:5: 'classes[0]': found none of share, rate and arrival.every; exactly one says how many jobs there are (start, replay need none)"
    ],
    HEAD + "  - {name: a, share: 1, rate: 3/h, gpus: 1, duration: 1h}\n": [
        "m.yaml:5:5: 'classes[0]': found share and rate of share, rate and arrival.every; exactly one says how many jobs there are (start, replay need none)"
    ],
    HEAD + "  - {name: a, rate: 3, gpus: 1, duration: 1h}\n": [
        "m.yaml:5:15: 'classes[0].rate': 3 is no rate; write a number for each unit of time, as in 30/h or 2/s"
    ],
    HEAD + "  - {name: a, share: 1, jobs: 3, gpus: 1, duration: 1h}\n": [
        "m.yaml:5:5: 'classes[0]': 'share' is of all jobs of the mix; it goes neither with 'jobs' nor with per: queue"
    ],
    HEAD + "  - {name: a, share: 2, gpus: 1, duration: 1h}\n": [
        "m.yaml:5:15: 'classes[0].share' is 2; it has to be at most 1"
    ],
    HEAD
    + "  - {name: a, share: 1, gpus: 1, duration: 1h}\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:1:1: classes have names of their own; a stands there twice"
    ],
    HEAD + "  - {name: a, share: 1, gpus: 1, duration: 1h, arrival: hourly}\n": [
        "m.yaml:5:48: 'classes[0].arrival' is 'hourly'; allowed are 'poisson', 'interval', 'start', 'replay'"
    ],
    HEAD + "  - {name: a, share: 1, gpus: 1, duration: 1h, arrival: replay}\n": [
        "m.yaml:5:48: 'classes[0].arrival': process 'replay' needs 'times', or a 'file' with a column of them"
    ],
    HEAD + "  - {name: a, share: 1, gpus: 1, duration: 1h, arrival: {times: [1]}}\n": [
        "m.yaml:5:48: 'classes[0].arrival': 'times' and 'file' go with process 'replay', not with 'poisson'"
    ],
    HEAD + "  - {name: a, share: 1, gpus: 1, duration: 1h, arrival: {jitter: 0.5}}\n": [
        "m.yaml:5:48: 'classes[0].arrival': 'jitter' goes with process 'interval', not with 'poisson'"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, arrival: {process: start, every: 1h}}\n": [
        "m.yaml:5:38: 'classes[0].arrival': 'every' goes with processes 'poisson' and 'interval', not with 'start'"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, arrival: start}\n": [
        "m.yaml:5:5: 'classes[0]': process 'start' needs 'jobs', or a 'share' of the mix's"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, rate: 1/h, arrival: start}\n": [
        "m.yaml:5:5: 'classes[0]': 'rate' does not go with process 'start': it has no rate"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, arrival: start}\n": [
        "m.yaml:1:1: class a has a share and starts at once: the mix has to say 'jobs'"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, replicas: {most: 1}}\n": [
        "m.yaml:5:5: 'classes[0]': 'replicas' goes with nature: service"
    ],
    HEAD + "  - {name: a, gpus: 1, nature: service}\n  - {name: b, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:5:5: 'classes[0]': a service needs 'replicas'"
    ],
    HEAD + "  - {name: a, gpus: 1, nature: service, share: 0.1, replicas: {most: 1}}\n": [
        "m.yaml:5:5: 'classes[0]': a service runs all the time: 'share' goes with nature: batch"
    ],
    HEAD + "  - {name: a, gpus: 1, nature: service, arrival: start, replicas: {most: 1}}\n": [
        "m.yaml:5:5: 'classes[0]': a service runs all the time: 'arrival' goes with nature: batch"
    ],
    HEAD + "  - {name: a, gpus: {1: 1, 2: 1}, nature: service, replicas: {most: 1}}\n": [
        "m.yaml:5:5: 'classes[0]': the replicas of a service are alike: give one number of pods, gpus and priority"
    ],
    HEAD + "  - {name: a, gpus: 1, nature: service, replicas: {most: 1, share: 0.1}}\n": [
        "m.yaml:5:41: 'classes[0].replicas': exactly one of 'most' (with 'least') and 'share' (of the capacity) is written"
    ],
    HEAD + "  - {name: a, gpus: 1, nature: service, replicas: {least: 2, most: 1}}\n": [
        "m.yaml:5:41: 'classes[0].replicas': 'most' is 1, less than 'least' with 2"
    ],
    HEAD + "  - {name: a, gpus: 1, nature: daemon, duration: 1h, share: 1}\n": [
        "m.yaml:5:24: 'classes[0].nature' is 'daemon'; allowed are 'batch', 'service'"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, topology: {mode: required}}\n": [
        "m.yaml:5:48: 'classes[0].topology': mode 'required' needs a 'level': a label, or a number (0 widest, -1 tightest)"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, topology: {pods: 2}}\n": [
        "m.yaml:5:48: 'classes[0].topology': a 'mode' or a 'slice-level' is needed"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, topology: {slice-level: rack}}\n": [
        "m.yaml:5:48: 'classes[0].topology': 'slice-level' needs a 'slice-size': pods in a slice"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, requests: {memory: 3 GB}}\n": [
        "m.yaml:5:48: 'classes[0].requests': '3 GB' is not a quantity; write a number with at most one suffix of m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, as in 8, 500m or 64Gi"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, requests: {memory: -3}}\n": [
        "m.yaml:5:48: 'classes[0].requests': memory is -3; it has to be 0 or more"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, priority: []}\n": [
        "m.yaml:5:48: 'classes[0].priority' is empty; it needs at least 1"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, priority: 3000000000}\n": [
        "m.yaml:5:48: 'classes[0].priority[0].value' is 3000000000; it has to be below 2147483648"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, priority: [{value: 1, share: 0}]}\n": [
        "m.yaml:5:5: 'classes[0]': the shares of 'priority' are all 0; one has to be above"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, tolerations: [{effect: Never}]}\n": [
        "m.yaml:5:63: 'classes[0].tolerations[0].effect' is 'Never'; allowed are '', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
    ],
    HEAD
    + "  - {name: a, gpus: 1, duration: 1h, match: {}}\n  - {name: b, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:5:38: 'classes[0].match': write 'labels', 'kinds' or 'queues': what the workloads have in common"
    ],
    HEAD + "  - {name: a, gpus: 1, duration: 1h, share: 1, curve: {daily: [1, 2]}}\n": [
        "m.yaml:5:48: 'classes[0].curve': a day has 24 hours and a week 7 days; found 2 and 7"
    ],
    "mix: x\nload: 1\nrate: 3/h\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:1:1: found load and rate; one of load, rate and jobs says how many jobs"
    ],
    "mix: x\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:1:1: classes have a 'share'; one of load, rate and jobs says of how many"
    ],
    "mix: x\nload: 0\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:2:1: 'load' is 0; it has to be above 0"
    ],
    "mix: x\njobs: 10\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:1:1: 'jobs' arrive over the horizon: write one, as in horizon: 7d"
    ],
    "mix: x\nrate: 10/h\nclasses:\n  - {name: a, rate: 1/h, gpus: 1, duration: 1h}\n": [
        "m.yaml:1:1: 'rate' is for classes with a 'share', and there is none"
    ],
    "mix: x\nload: 1\nstarts: soon\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:3:1: 'starts' is 'soon'; write a day and an hour, as in 'monday 09:00'"
    ],
    "mix: x\nload: 1\nlargest: 2\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:3:1: 'largest' is 2; it has to be at most 1"
    ],
    "mix: x\nload: 1\nspread: fairly\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:3:1: 'spread' is 'fairly'; allowed are 'guarantee', 'evenly'"
    ],
    "mix: x\nload: 1\nqueues: {a: -1}\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:3:10: 'queues.a' is -1; it has to be 0 or more"
    ],
    "mix: x\nload: 1\nfailures: [{mtbf: 0, repair: 1h}]\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:3:13: 'failures[0].mtbf' is 0; it has to be above 0"
    ],
    "mix: x\nload: 1\nfailures: [{mtbf: 1d}]\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:3:12: 'failures[0].repair' is missing; it has to be written"
    ],
    "mix: x\nload: 1\ndefaults: {gpus: none}\nclasses:\n  - {name: a, share: 1, duration: 1h}\n": [
        "m.yaml:3:12: 'classes[0].gpus' is 'none'; write a number, or numbers with odds, as in {1: 0.8, 8: 0.2}"
    ],
    "mix: x\nload: 1\ndefaults: {name: b}\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n": [
        "m.yaml:3:12: 'name' is each class's own and no default"
    ],
    HEAD + "  - {name: a, gpus: 1, share: 1, duration: {file: times.csv}}\n": [
        "m.yaml:5:45: files can not be read here; write the values out"
    ],
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_is_told_with_its_place(text):
    with pytest.raises(ArrivalsError) as error:
        read("m.yaml", text.encode())
    assert list(error.value.problems) == WRONG[text]


def test_every_mistake_is_told_at_once():
    text = (
        HEAD
        + "  - {name: a, share: 1, gpu: 1, duration: soon}\n  - {name: B, gpus: 1, rate: 1/h, duration: 1h}\n"
    )
    with pytest.raises(ArrivalsError) as error:
        read("m.yaml", text.encode())
    assert [problem.split(": ")[0] for problem in error.value.problems] == [
        "m.yaml:5:25",
        "m.yaml:5:33",
        "m.yaml:6:6",
    ]


def test_the_text_has_to_be_readable():
    with pytest.raises(ArrivalsError, match=r"m.yaml:2:3: .*UTF-8"):
        read("m.yaml", b"mix: x\nab\xff: 1\n")
