#!/usr/bin/env python3
"""Rebuilds the latency of each request of four replays on an H200 from h200-replay.csv.gz, which has the begins and
ends of all batches, and from the arrivals, which the program generates, into runs.json.

  python3 results/reality/h200.py build/esgsim      in the root of the tree; needs h5dump

fifo: a batch is the oldest ready job of its network. clipper: three batches in a row are one group of the oldest
requests of an application. Batches of esg cannot be told apart, so esg is not rebuilt."""
import csv, gzip, heapq, json, os, re, statistics, subprocess, sys, tempfile  # noqa: E401

RATES = {"light": 350.28080809849, "heavy": 700.5616168962117}
SLO = '{"proof-cascade":{"ms":9.62505},"proof-fork":{"ms":12.2953}}'
AFTER = {0: {"mobilenetv2": ["resnet50"], "resnet50": ["vgg19"]}, 1: {"mobilenetv2": ["resnet152", "vgg19"]}}


def arrivals(esgsim, load):
    """[arrival in us, application] of each request."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.h5")
        subprocess.run([esgsim, "run", "proof-" + load, "--policy", "fifo", "--quiet", "--out", path, "--set", "slo=" + SLO,
                        "--set", "requests=6074", "--set", "warmup_requests=0", "--set",
                        'arrivals={"process":"poisson","rate_per_s":%r}' % RATES[load]], check=True, stdout=subprocess.DEVNULL)
        name = subprocess.run(["h5ls", path + "/runs"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0]
        rows = subprocess.run(["h5dump", "-y", "-w", "0", "-d", "/runs/%s/requests" % name, path], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for row in re.findall(r"\{\s*(\d+),\s*([01]),\s*[01],\s*[01],\s*[01],\s*(\d+),", rows):
        found[int(row[0])] = [int(row[2]) / 1e3, int(row[1])]
    return [found[i] for i in range(6074)]


def batches(load, policy):
    with gzip.open("results/reality/h200-replay.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["run"] == "proof-" + load and row["policy"] == policy]
    return sorted((int(r["begun_us"]), r["network"], int(r["batch"]), int(r["clock_us"])) for r in rows)


def fifo(requests, log):
    """The end of each request in us."""
    ready, later, ends, left = {}, [], [0.] * len(requests), 0
    for k, (at, _) in enumerate(requests):
        heapq.heappush(later, (at, "mobilenetv2", k))
    for begun, network, _, clock in log:
        queue = ready.setdefault(network, [])
        slack = 3  # us between the end of a batch and its row
        while later and (later[0][0] <= begun + slack or (not queue and later[0][0] <= begun + 2500)):
            heapq.heappush(ready.setdefault(later[0][1], []), later[0][2])
            heapq.heappop(later)
            queue = ready[network]
        if not queue:
            left += 1
            continue
        k, end = heapq.heappop(queue), begun + clock
        ends[k] = max(ends[k], end)
        for then in AFTER[requests[k][1]].get(network, []):
            heapq.heappush(later, (end, then, k))
    assert not left and not later and not any(ready.values()), "jobs without a batch, or batches without a job"
    return ends


def clipper(requests, log):
    queues = [[k for k, r in enumerate(requests) if r[1] == a] for a in (0, 1)]
    places, ends = [0, 0], [0.] * len(requests)
    for first, second, third in zip(log[::3], log[1::3], log[2::3]):
        assert (first[1], third[1]) == ("mobilenetv2", "vgg19") and first[2] == second[2] == third[2]
        a = 0 if second[1] == "resnet50" else 1
        for k in queues[a][places[a]:places[a] + first[2]]:
            ends[k] = max(second[0] + second[3], third[0] + third[3])
        places[a] += first[2]
    assert places == [len(queue) for queue in queues]
    return ends


def main():
    path = "results/reality/runs.json"
    with open(path) as file:
        before = file.read()
    text = before
    for rule in (fifo, clipper):
        for load, name in (("light", "load 0.3"), ("heavy", "load 0.6")):
            requests = arrivals(sys.argv[1], load)
            ends = rule(requests, batches(load, rule.__name__))
            ms = [round((end - at) / 1e3, 3) for end, (at, _) in zip(ends, requests)]
            print("%s, %s: mean %.3f ms" % (rule.__name__, name, statistics.mean(ms)))
            there = re.compile(r'("One H200 under %s".*?"%s": )\[.*?\]' % (rule.__name__, re.escape(name)), re.S)
            text = there.sub(lambda found: found.group(1) + json.dumps(ms, separators=(",", ":")), text, count=1)
    print("as in runs.json" if text == before else "runs.json is written anew")
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
