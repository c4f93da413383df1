#!/usr/bin/env python3
"""Executes the batches of `esgsim replay` with PyTorch on parts of a GPU.

  esgsim replay EXP.json --worker "python3 worker.py --measured DIR" --out F.h5

Reads `run ID FUNCTION BATCH UNITS` and answers `done ID MS` when the batch has ended. UNITS is a bit set
as a decimal integer, bit 0 the lowest unit of the GPU. MS is the time between two events round the batch.
What a set of units needs is made on its first use. A batch that fails ends the worker with status 1.

One thread does all, and never sleeps while it has work: a thread that is woken takes longer than many
batches. It launches on the stream of the batch's units, and asks all streams in turn whether they have ended.
Batches of one lowest unit run one after another. README.md is the manual."""
import argparse
import collections
import gc
import json
import os
import signal
import sys
import time

sys.dont_write_bytecode = True  # the folder may be read-only
import lanes  # noqa: E402


class Dry:
    """Takes the time of lanes.py's formula, and leaves the processor to others meanwhile."""

    def __init__(self, units):
        self.gpu = lanes.Dry(units)

    def start(self, network, batch, numbers):
        ms = lanes.dry_ms(network, batch, self.gpu.sms_of(len(numbers)) / self.gpu.sms)
        return time.monotonic() + ms / 1e3, ms

    def ended(self, started):
        return started[1] if time.monotonic() >= started[0] else None

    def rest(self):
        time.sleep(1e-4)


class Green:
    """Runs networks as they were measured: the same precision, streams and graphs."""

    def __init__(self, units, half, graphs):
        self.gpu = lanes.Green(units)
        self.half, self.graphs = half, graphs
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

    def start(self, network, batch, numbers):
        key = network, batch, numbers
        if key not in self.made:
            self.made[key] = self.make(*key)
        lanes.here.stream, run = self.made[key]
        with lanes.on(lanes.here.stream):
            first = lanes.mark()
            run()
            return first, lanes.mark()

    def ended(self, started):
        first, last = started
        return first.elapsed_time(last) if last.query() else None

    def rest(self):
        pass


class Worker:
    def __init__(self, backend, units, networks, answers):
        self.backend, self.units, self.networks, self.answers = backend, units, networks, answers
        self.waiting = collections.defaultdict(collections.deque)  # by lowest unit
        self.running = {}  # lowest unit: task, and what the backend started

    def fail(self, text):
        """Ends the process at once: the device may be lost."""
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

    def take(self, line):
        try:
            task = self.parse(line)
        except ValueError:
            self.fail("wants \"run ID FUNCTION BATCH UNITS\" with 1 to %d as units, got %r"
                      % ((1 << self.units) - 1, line.strip()))
        self.waiting[task[3][0]].append(task)

    def advance(self, lowest):
        """Answers the batch of this lowest unit if it has ended, and starts the next one."""
        task, started = self.running.get(lowest) or (None, None)
        try:
            ms = self.backend.ended(started) if task else None
            if ms is not None:
                os.write(self.answers, b"done %s %.6f\n" % (task[0].encode(), ms))
                del self.running[lowest]
            if lowest not in self.running and self.waiting[lowest]:
                task = self.waiting[lowest].popleft()
                self.running[lowest] = task, self.backend.start(*task[1:])
        except BrokenPipeError:
            self.fail("nobody reads the answers")
        except Exception as fault:  # any: a worker that goes on would answer for less than it was asked
            self.fail("batch %s: %s at batch %d on units %s: %s: %s"
                      % (task[0], task[1], task[2], list(task[3]), type(fault).__name__, fault))

    def serve(self, pipe):
        os.set_blocking(pipe, False)
        text, more = b"", True
        while more or self.running or any(self.waiting.values()):
            try:
                read = os.read(pipe, 1 << 16) if more else None
            except BlockingIOError:
                read = None
            more = more and read != b""
            if read is not None:
                *lines, text = (text + read + (b"" if more else b"\n")).split(b"\n")
                for line in filter(None, lines):
                    self.take(line.decode(errors="replace"))
            for lowest in list(self.waiting):
                self.advance(lowest)
            if read is None:
                self.backend.rest()


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
    Worker(backend, units, networks, answers).serve(sys.stdin.fileno())


if __name__ == "__main__":
    main()
