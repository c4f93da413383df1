#!/usr/bin/env python3
"""Executes the batches of `esgsim replay` with PyTorch on parts of a GPU.

  esgsim replay EXP.json --worker "python3 worker.py --measured DIR" --out F.h5

Reads `run ID FUNCTION BATCH UNITS` and answers `done ID MS` when the batch has ended. UNITS is a bit set
as a decimal integer, bit 0 the lowest unit of the GPU. MS is the time between two events round the batch.
What a set of units needs is made on its first use. A batch that fails ends the worker with status 1.

A thread for each unit executes the batches whose lowest unit it is. Batches that run at one time have
disjoint sets, so none waits for a thread. README.md is the manual."""
import argparse
import gc
import json
import os
import queue
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True  # the folder may be read-only
import lanes  # noqa: E402


class Dry:
    """Sleeps the time of lanes.py's formula."""

    def __init__(self, units):
        self.gpu = lanes.Dry(units)

    def run(self, network, batch, numbers):
        ms = lanes.dry_ms(network, batch, self.gpu.sms_of(len(numbers)) / self.gpu.sms)
        time.sleep(ms / 1e3)
        return ms


class Green:
    """Runs networks as they were measured: the same precision, streams and graphs."""

    def __init__(self, units, half, graphs):
        self.gpu = lanes.Green(units)
        self.half, self.graphs = half, graphs
        self.making = threading.Lock()
        self.made = {}  # (network, batch, numbers): stream, and what launches the batch on it
        self.pools = {}  # lowest unit: memory of its graphs, of which one runs at a time

    def make(self, network, batch, numbers):
        import torch
        if len(numbers) != numbers[-1] - numbers[0] + 1:
            raise ValueError("these units are no neighbours: give `esgsim replay` --sets side-by-side")
        pool = self.pools.setdefault(numbers[0], torch.cuda.graph_pool_handle())
        stream = self.gpu.stream(numbers[0], len(numbers))
        run, _ = lanes.prepare(network, batch, self.half, self.graphs, stream, pool)
        gc.freeze()  # a capture collects garbage first, and would look at all of torch each time
        return stream, run

    def run(self, network, batch, numbers):
        key = network, batch, numbers
        if key not in self.made:
            with self.making:
                self.made[key] = self.make(*key)
        lanes.here.stream, lanes.here.run = self.made[key]
        with lanes.on(lanes.here.stream):
            return lanes.once()


class Worker:
    def __init__(self, backend, units, networks, answers):
        self.backend, self.units, self.networks, self.answers = backend, units, networks, answers
        self.queues, self.threads = {}, []

    def fail(self, text):
        """Ends the process at once: other threads may wait for a device that is lost."""
        sys.stderr.write("worker: %s\n" % text)
        sys.stderr.flush()
        os._exit(1)

    def parse(self, line):
        """Returns identity, network, batch and the units' numbers, lowest first."""
        word, identity, function, batch, units = line.split()
        batch, units = int(batch), int(units)
        if word != "run" or batch < 1 or not 0 < units < 1 << self.units:
            raise ValueError
        numbers = tuple(n for n in range(self.units) if units >> n & 1)
        return identity, self.networks.get(function, function), batch, numbers

    def work(self, tasks):
        while True:
            task = tasks.get()
            if task is None:
                return
            identity, *what = task
            try:
                ms = self.backend.run(*what)
                os.write(self.answers, b"done %s %.6f\n" % (identity.encode(), ms))
            except BrokenPipeError:
                self.fail("nobody reads the answers")
            except Exception as fault:  # any: a worker that goes on would answer for less than it was asked
                self.fail("batch %s: %s at batch %d on units %s: %s: %s"
                          % (identity, what[0], what[1], list(what[2]), type(fault).__name__, fault))

    def serve(self, lines):
        for line in lines:
            try:
                task = self.parse(line)
            except ValueError:
                self.fail("wants \"run ID FUNCTION BATCH UNITS\" with 1 to %d as units, got %r"
                          % ((1 << self.units) - 1, line.strip()))
            lowest = task[3][0]
            if lowest not in self.queues:
                self.queues[lowest] = queue.SimpleQueue()
                self.threads.append(threading.Thread(target=self.work, args=(self.queues[lowest],), daemon=True))
                self.threads[-1].start()
            self.queues[lowest].put(task)
        for tasks in self.queues.values():
            tasks.put(None)
        for thread in self.threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--by", choices=("green", "dry"), default="green", help="green contexts, or a formula's sleep")
    parser.add_argument("--measured", metavar="DIR", help="measure.py's folder: precision, graphs, units")
    parser.add_argument("--units", type=int, help="units of the GPU (default: as measured, else 7)")
    parser.add_argument("--network", metavar="FUNCTION=NAME", action="append", default=[],
                        help="another network than the one of the function's name: a name or FILE.py:FUNCTION")
    options = parser.parse_args()
    device = {}
    if options.measured:
        with open(os.path.join(options.measured, "device.json"), encoding="utf-8") as file:
            device = json.load(file)
    elif options.by == "green":
        parser.error("--measured DIR is wanted: batches run as its networks were measured")
    for text in options.network:
        if not all(text.partition("=")):
            parser.error("--network wants FUNCTION=NAME, got %s" % text)
    units = options.units or device.get("units", 7)
    networks = dict(text.split("=", 1) for text in options.network)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the end of the input ends it
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")  # fewer queues: streams wait for each other
    answers = os.dup(1)
    os.dup2(2, 1)  # what a network prints is no answer
    backend = Dry(units) if options.by == "dry" else Green(units, device.get("half"), device.get("graphs"))
    Worker(backend, units, networks, answers).serve(sys.stdin)


if __name__ == "__main__":
    main()
