#!/usr/bin/env python3
"""Measures PyTorch networks on shares of a GPU; writes tables that `esgsim calibrate DIR` reads.

  python3 measure.py resnet50,vgg16 --out DIR --half     torchvision's names, random weights
  python3 measure.py my_models.py:detector --out DIR     def detector(): return module, make_inputs
                                                         make_inputs(batch) returns a tuple of tensors
PROFILE.md, beside this file, is the manual."""
import argparse, collections, csv, datetime, itertools, json, multiprocessing, os, random  # noqa: E401
import shutil, signal, subprocess, sys, threading, time  # noqa: E401
from concurrent import futures

import lanes
from lanes import short

ANSWER_S = 120  # a lane that is silent for longer is given up
TABLES = {"solo": "model,batch,share,sms,sm_count,latency_ms,std_ms,gpu_memory_mb,turnaround_ms",
          "cold": "model,run,cold_start_ms", "starts": "model,run," + ",".join(lanes.START_PARTS), "groups": "members,latency_ms,std_ms,alone_ms,slowdown"}
KEYS = {"solo": 3, "cold": 2, "starts": 2, "groups": 1}  # columns that tell rows apart

class Table:
    """A CSV file. A row is on the disk before the next one is measured."""
    def __init__(self, folder, name):
        self.file = open(os.path.join(folder, name + ".csv"), "a+", newline="")
        self.file.seek(0)
        text = self.file.read()
        whole = text[:text.rfind("\n") + 1]  # drops what a kill cut off
        self.file.truncate(len(whole.encode()))
        if whole and whole.split("\n")[0].strip() != TABLES[name]:
            raise ValueError("%s.csv has not the columns of this version; give another --out" % name)
        self.key = KEYS[name]
        self.done = collections.Counter(tuple(row[:self.key]) for row in csv.reader(whole.splitlines()))
        if not whole:
            self.put(TABLES[name].split(","))

    def put(self, row):
        self.done[tuple(map(str, row[:self.key]))] += 1
        self.file.write(",".join("%.5g" % cell if isinstance(cell, float) else str(cell) for cell in row) + "\n")
        self.file.flush()

class Session:
    def __init__(self, a):
        self.a, self.lanes, self.failed, self.status, self.ended = a, {}, set(), 0, False
        self.gpu = {"green": lanes.Green, "dry": lanes.Dry}[a.by](a.units) if a.by in ("green", "dry") else None
        self.whole = {"mps": 100, "mig": 7}.get(a.by, a.units)
        self.shares = sorted({share for _, share in a.uuids}) or a.shares or (
            [*range(1, a.units + 1)] if self.gpu else [10, 20, 30, 40, 50, 60, 80, 100])
        self.tables = {name: Table(a.out, name) for name in TABLES}
        self.errors = open(os.path.join(a.out, "errors.txt"), "a")

    def process(self, share, place=0):
        """A fresh process with that share: the `place`-th instance of MIG that has it."""
        uuids = [uuid for uuid, k in self.a.uuids if k == share]
        variable = {"CUDA_VISIBLE_DEVICES": uuids[place]} if uuids else (
            {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(share)} if self.a.by == "mps" else {})
        return futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), lanes.start_process, (variable,))

    def group(self, shares):
        """Lanes beside each other, made at first use: threads from unit 0 on, or a process for each."""
        for place, share in enumerate(shares):
            key = (sum(shares[:place]) if self.gpu else shares[:place].count(share)), share
            if key not in self.lanes and self.gpu:
                stream = self.gpu.stream(*key) if self.a.by == "green" else None
                self.lanes[key] = futures.ThreadPoolExecutor(1, "", lanes.start_thread, (
                    stream, self.gpu.sms_of(share) / self.gpu.sms))
            elif key not in self.lanes:
                self.lanes[key] = self.process(share, key[0])
            yield self.lanes[key]

    def ask(self, lane, what, *values):
        if self.a.by == "dry":
            what = getattr(lanes, "dry_" + what.__name__)
        return lane.submit(what, *values)

    def alone(self, lane, name, batch, graph):
        self.blame = name
        return self.ask(lane, lanes.alone, name, batch, self.a.half, graph, self.a.seconds, self.a.hot).result(ANSWER_S)

    def points(self):
        """Corners of the grid first, then middles, then the middles between those."""
        def late(i, count):
            return 0 if i in (0, count - 1) else 1 / (i & -i)
        sizes = len(self.a.batch), len(self.shares)
        places = sorted(itertools.product(*map(range, sizes)), key=lambda at: sum(map(late, at, sizes)))
        for (b, s), name in itertools.product(places, self.a.networks):
            batch, share = self.a.batch[b], self.shares[s]
            yield "solo", (short(name), batch, "%d/%d" % (share, self.whole)), self.solo, [(name, batch, share)]

    def solo(self, member):
        name, batch, share = member
        lane, = self.group([share])
        sms = [self.gpu.sms_of(share), self.gpu.sms] if self.gpu else ["", ""]
        answer = self.alone(lane, name, batch, self.a.graphs)
        return [*sms, *(answer[:2] + (answer[2] + self.context_mb, answer[4]) if answer else ["oom", "", "", ""])]

    def starts(self):
        for run, name in itertools.product(range(self.a.starts), self.a.networks):
            yield "cold", (short(name), run), self.cold, [(name, run, self.shares[-1])]

    def cold(self, member):
        """From before a process starts to the end of its first inference, on the largest share, with weights
        from a file. Its parts become a row of starts.csv, with what is beside it: the same weights from the
        disk, and copied from pinned memory."""
        self.blame, run, share = member
        path = os.path.join(self.a.out, "weights-%s.pt" % short(self.blame))
        if self.a.by == "dry":
            parts = lanes.dry_start(self.blame, run)
        else:
            begun, process = time.monotonic(), self.process(share)
            parts = process.submit(lanes.start, self.blame, self.a.half, path, begun).result(ANSWER_S)
            process.shutdown()
        self.tables["starts"].put([short(self.blame), run, *parts])
        return [sum(ms for ms, part in zip(parts, lanes.START_PARTS) if part not in lanes.START_BESIDE)]

    def company(self):
        """A victim at batch 1 on the least share beside one to as many others as there is room for."""
        least, share = min(self.shares), "%d/%d" % (min(self.shares), self.whole)
        most = min(self.whole // least, 7) - 1 if self.gpu else 0
        for victim, n, batch in itertools.product(self.a.networks, range(1, most + 1), (1, max(self.a.batch))):
            place = self.a.networks.index(victim)
            others = [self.a.networks[(place + 1 + i) % len(self.a.networks)] for i in range(n)]
            members = [(victim, 1, least)] + [(name, batch, least) for name in others]
            key = "+".join("%s:%d:%s" % (short(name), b, share) for name, b, _ in members)
            yield "groups", (key,), self.together, members

    def groups(self, size, rounds):
        """Each round: every pair, at other batches and shares; or one larger group, drawn."""
        most = [sum(share == k for _, k in self.a.uuids) or size for share in self.shares]
        fit = [split for split in itertools.combinations_with_replacement(self.shares, size)
               if sum(split) <= self.whole and all(split.count(k) <= n for k, n in zip(self.shares, most))]
        fit.sort(key=lambda split: (-sum(split), split[-1] - split[0]))
        for turn in range(rounds if fit else 0):
            networks = [name for name in self.a.networks if name not in self.failed]
            drawn = [random.Random(100 * turn + size).choices(networks, k=size)] if networks else []
            pairs = itertools.combinations_with_replacement(networks, 2)
            for place, names in enumerate(pairs if size == 2 else drawn, turn):
                batches = [self.a.batch[(place + 2 * i) % len(self.a.batch)] for i in range(size)]
                members = list(zip(names, batches, fit[place % len(fit)][::1 if turn % 2 else -1]))
                key = "+".join("%s:%d:%d/%d" % (short(n), b, k, self.whole) for n, b, k in members)
                yield "groups", (key,), self.together, members

    def together(self, *members):
        """Each member alone, then all at once. Threads run graphs: Python's lock delays eager launches."""
        group, before = list(self.group([share for _, _, share in members])), []
        for lane, (name, batch, _) in zip(group, members):
            before.append(self.alone(lane, name, batch, self.a.graphs or self.a.by == "green"))
        self.blame = None
        if None in before:
            return ["oom"] * 4
        for lead in (.1, .5, 2.5):  # seconds until all run
            begin = time.monotonic() + lead
            end = begin + max(self.a.seconds, .02 * max(ms for ms, *_ in before))
            asked = [self.ask(lane, lanes.beside, begin, end) for lane in group]
            both = [answer.result(ANSWER_S) for answer in asked]
            if None not in both:
                break
        columns = zip(*((ms, std, ms_alone, ms / ms_alone) for (ms, std), (ms_alone, *_) in zip(both, before)))
        return ["+".join("%.5g" % value for value in column) for column in columns]

    def run(self, rows, until, visit=1):
        """Measures the rows that are missing, for the second time at the second visit: what differs between
        two times, minutes apart, is the error of a measured cell. A network that fails is noted, and left
        out from then on."""
        for table, key, measure, members in rows:
            if self.ended or time.monotonic() > until:
                return
            if self.tables[table].done[tuple(map(str, key))] >= visit or self.failed & {name for name, *_ in members}:
                continue
            try:
                self.tables[table].put([*key, *measure(*members)])
                print(*key, flush=True)
            except Exception as fault:
                print(*key, type(fault).__name__, fault, sep=": ", file=self.errors, flush=True)
                self.status = 1
                self.failed.add(self.blame)
                self.lanes.clear()
                if isinstance(fault, futures.TimeoutError):  # a GPU that hangs would hold up the exit
                    os._exit(1)
            futures.wait([lane.submit(lanes.drop) for lane in self.lanes.values()], ANSWER_S)

def log_clocks(folder):
    """Clocks, power and what limits them, twice a second. nvidia-smi ends with the pipe's reader."""
    fields = "timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_throttle_reasons.active"
    if shutil.which("nvidia-smi"):
        smi = subprocess.Popen(["nvidia-smi", "--query-gpu=" + fields, "--format=csv", "-lms", "500"],
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
        file = open(os.path.join(folder, "clocks.csv"), "a", buffering=1)
        threading.Thread(target=file.writelines, args=(smi.stdout,), daemon=True).start()

def numbers(text):
    return sorted({int(part) for part in text.split(",")})

def instances(text):
    return [(uuid, int(share)) for uuid, share in (part.rsplit("=", 1) for part in text.split(","))]

def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.error = lambda text: p.exit(2, "measure.py: %s\n" % text)
    p.add_argument("networks", type=lambda text: text.split(","), help="NAME or FILE.py:FUNCTION, by commas")
    p.add_argument("--out", default="measured", metavar="DIR", help="default: %(default)s")
    p.add_argument("--by", default="green", choices=["green", "mps", "mig", "dry"],
                   help="shares: green contexts in one process (default), a process for each percentage of MPS "
                        "or each instance of MIG, or a formula in place of a GPU")
    p.add_argument("--batch", type=numbers, default=[1, 2, 4, 8, 16], metavar="N,...", help="default: 1,2,4,8,16")
    p.add_argument("--units", type=int, default=7, metavar="N", help="parts of a GPU by green contexts (7)")
    p.add_argument("--shares", type=numbers, metavar="N,...", help="units (all), or percentages of MPS")
    p.add_argument("--uuids", type=instances, default=[], metavar="UUID=SEVENTHS,...", help="instances of MIG")
    p.add_argument("--half", action="store_true", help="FP16, channels last")
    p.add_argument("--graphs", action="store_true", help="time CUDA graphs, not eager launches")
    p.add_argument("--company", action="store_true", help="also each network beside one to six others")
    p.add_argument("--hot", action="store_true", help="leave the L2 cache as the batch before has left it")
    p.add_argument("--budget-s", type=float, default=480, metavar="S", help="for all tables; default: %(default)g")
    p.add_argument("--seconds", type=float, metavar="S", help="a timing takes; default: 0.25, of a formula 0")
    p.add_argument("--starts", type=int, default=5, metavar="N", help="cold starts of each network (5)")
    p.add_argument("--rounds", type=lambda text: [int(part) for part in text.split(",")], default=[4, 20, 5],
                   metavar="N,N,N", help="co-locations of each pair, triples, crowds of seven (4,20,5)")
    a = p.parse_args()
    a.shares, whole = a.shares or [], {"mps": 100, "mig": 7}.get(a.by, a.units)
    a.seconds = a.seconds if a.seconds is not None else 0 if a.by == "dry" else .25
    names = {short(name) for name in a.networks}
    if len(names) < len(a.networks) or not all(name.isidentifier() for name in names):
        p.error("networks have names of letters, digits and _, and no two have the same")
    if min(a.batch + a.shares + [a.units]) < 1 or max(a.shares + [k for _, k in a.uuids] + [1]) > whole:
        p.error("batches and shares are above 0, and shares are at most %d by %s" % (whole, a.by))
    if len(a.rounds) != 3:
        p.error("--rounds takes three numbers")
    if (a.by == "mig") != bool(a.uuids):
        p.error("--by mig and --uuids UUID=SEVENTHS,... go together")
    for path in (name.rsplit(":", 1)[0] for name in a.networks if ":" in name):
        if not os.path.exists(path):
            p.error("%s: there is no such file" % path)
    return p, a

def describe(p, a, session):
    """Writes device.json, or compares with the one that is there: a folder is of one device and one way."""
    lane, = session.group(session.shares[-1:])
    facts = {"by": a.by, "units": session.whole, "half": a.half, "graphs": a.graphs,
             "l2": "hot" if a.hot else "cold",
             **session.ask(lane, lanes.about).result(ANSWER_S)}
    path = os.path.join(a.out, "device.json")
    if os.path.exists(path):
        with open(path) as file:
            before = json.load(file)
        session.context_mb = before["context_mb"]
        for key in ("by", "units", "half", "graphs", "l2", "device"):
            if before.get(key, "hot") != facts[key]:
                p.error("%s: has %s %s, not %s; give another --out" % (path, key, before.get(key), facts[key]))
        return
    session.context_mb = facts["context_mb"]
    facts["date"] = datetime.date.today().isoformat()
    if shutil.which("nvidia-smi"):
        facts["driver"] = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                                         stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    with open(path + ".new", "w") as file:  # whoever kills this leaves no file or a whole one
        json.dump(facts, file, indent=1)
    os.replace(path + ".new", path)

def main():
    p, a = arguments()
    try:
        os.makedirs(a.out, exist_ok=True)
        session = Session(a)
        describe(p, a, session)
    except Exception as fault:
        p.exit(1, "measure.py: %s: %s\n" % (type(fault).__name__, fault))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: setattr(session, "ended", True))
    if a.by != "dry":
        log_clocks(a.out)
    begun = time.monotonic()
    for part, rows in ((.4, session.points()), (.5, session.starts()), (.65, session.groups(2, a.rounds[0])),
                       (.7, session.groups(3, a.rounds[1])), (.75, session.groups(7, a.rounds[2]))):
        session.run(rows, begun + part * a.budget_s)
    if a.company:
        session.run(session.company(), begun + .9 * a.budget_s)
    session.run(session.points(), begun + a.budget_s, visit=2)
    sys.exit(session.status)

if __name__ == "__main__":
    main()
