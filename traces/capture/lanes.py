"""Runs PyTorch networks on shares of a GPU, for measure.py and worker.py.

A share is a green context's stream in this process, or a process with a share of its own (MPS, MIG)."""
import contextlib, gc, inspect, itertools, multiprocessing, os, runpy, signal, statistics, threading, time, zlib  # noqa: E401

MIB = 1 << 20

def load(name):
    """Returns a new network on the CPU, and the function that makes its inputs for a batch size.
    A name of torchvision may lack its underscores."""
    if ":" in name:
        path, function = name.rsplit(":", 1)
        return runpy.run_path(path)[function]()
    import torch, torchvision  # noqa: E401
    plain = {known.replace("_", ""): known for known in torchvision.models.list_models()}
    build = torchvision.models.get_model_builder(plain.get(name.replace("_", ""), name))
    random = {"weights", "weights_backbone"} & set(inspect.signature(build).parameters)  # no download
    return build(**dict.fromkeys(random)), lambda batch: (torch.randn(batch, 3, 224, 224),)

def short(name):
    """The name in tables: of FILE.py:FUNCTION it is FUNCTION."""
    return name.rsplit(":", 1)[-1]

loaded = {}  # networks on the GPU, which all streams share

def network(name, half):
    """Returns the network on the GPU, the function of its inputs, and the bytes of its weights."""
    if (name, half) not in loaded:
        import torch
        net, make = load(name)
        net = net.cuda().eval()
        if half:
            net = net.half().to(memory_format=torch.channels_last)
        gc.freeze()  # a capture collects garbage, and would look through all of this each time
        torch.cuda.synchronize()  # other streams do not wait for the default one
        weights = itertools.chain(net.parameters(), net.buffers())
        loaded[name, half] = net, make, sum(t.numel() * t.element_size() for t in weights)
    return loaded[name, half]

@contextlib.contextmanager
def on(stream):
    """Runs the body in inference mode with `stream` current. Both hold for this thread alone."""
    import torch
    with torch.inference_mode(), torch.cuda.stream(stream):
        yield

def form(tensor, half):
    import torch
    if half and tensor.is_floating_point():
        tensor = tensor.half()
    return tensor.to(memory_format=torch.channels_last) if half and tensor.dim() == 4 else tensor

def prepare(name, batch, half, graph, stream, pool=None):
    """Returns a function that launches one batch, and one that copies its inputs from the host before. Call
    both under on(stream). Graphs of one pool share memory: one of them runs at a time. Other threads may run
    theirs meanwhile."""
    import torch
    net, make, _ = network(name, half)

    def run():
        net(*inputs)

    def copy():
        for there, here in zip(inputs, sent):
            there.copy_(here, non_blocking=True)

    with on(stream):
        sent = tuple(form(tensor, half).pin_memory() for tensor in make(batch))  # pageable memory is copied twice
        inputs = tuple(tensor.cuda() for tensor in sent)
        if not graph:
            return run, copy
        for _ in range(3):  # what a first run allocates and chooses must not be captured
            run()
        stream.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured, pool=pool, stream=stream, capture_error_mode="thread_local"):
            run()

    def replay(_alive=(net, inputs)):  # a graph reads its inputs, and does not keep them alive
        captured.replay()
    return replay, copy

class Dry:
    """A GPU of 132 multiprocessors that does not exist."""
    def __init__(self, units):
        self.units, self.sms = units, 132
        self.each = self.sms // 8 // units * 8

    def sms_of(self, units):
        """Multiprocessors of a share. The whole device also has those that belong to no unit."""
        return self.sms if units >= self.units else units * self.each

class Green(Dry):
    """Splits the GPU once into units of equally many groups of multiprocessors.
    The primary context stays current: a green context only confines the kernels of its stream."""
    def __init__(self, units):
        import torch
        from cuda.bindings import driver
        torch.zeros(1, device="cuda")  # makes the primary context
        self.driver, self.units, self.streams, self.contexts = driver, units, {}, []
        self.device = self.call(driver.cuDeviceGet(0))
        whole = self.call(driver.cuDeviceGetDevResource(
            self.device, driver.CUdevResourceType.CU_DEV_RESOURCE_TYPE_SM))
        count = self.call(driver.cuDevSmResourceSplitByCount(0, whole, 0, 1))[1]
        self.groups, count, _ = self.call(driver.cuDevSmResourceSplitByCount(count, whole, 0, 1))
        if count < units:
            raise RuntimeError("%d groups of multiprocessors do not make %d units" % (count, units))
        self.per_unit, self.sms = count // units, whole.sm.smCount
        self.each = self.per_unit * self.groups[0].sm.smCount

    @staticmethod
    def call(answer):
        if int(answer[0]) != 0:
            raise RuntimeError("the driver says %s" % answer[0])
        return answer[1] if len(answer) == 2 else answer[1:]

    def stream(self, first, units):
        """The stream of units first .. first + units - 1. All units: one of the whole device."""
        import torch
        key, d = (first, units) if units < self.units else (0, self.units), self.driver
        if key not in self.streams and units >= self.units:
            self.streams[key] = torch.cuda.Stream()
        elif key not in self.streams:
            groups = self.groups[first * self.per_unit:(first + units) * self.per_unit]
            flags = d.CUgreenCtxCreate_flags.CU_GREEN_CTX_DEFAULT_STREAM
            made = self.call(d.cuDevResourceGenerateDesc(groups, len(groups)))
            context = self.call(d.cuGreenCtxCreate(made, self.device, flags))
            flags = d.CUstream_flags.CU_STREAM_NON_BLOCKING
            handle = self.call(d.cuGreenCtxStreamCreate(context, flags, 0))
            self.contexts.append((context, handle))  # a stream does not keep its context alive
            self.streams[key] = torch.cuda.ExternalStream(int(handle))
        return self.streams[key]

# A lane is a thread with a stream of its own, or a process with a share of its own.
here = threading.local()

def start_thread(stream, share):
    here.stream, here.share = stream, share

def start_process(environment):
    for number in (signal.SIGINT, signal.SIGTERM):  # the row under way ends first
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    os.environ.update(environment)
    start_thread(None, None)

def about():
    import torch
    free, total = torch.cuda.mem_get_info()
    device = torch.cuda.get_device_name().split(" MIG ")[0]  # instances of all sizes are of one device
    return {"device": device, "torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(), "evidence": "measured",
            "context_mb": (total - free - torch.cuda.memory_reserved()) // MIB}

SLEEP_CYCLES = 100_000  # 50 us: longer than a launch takes

def mark():
    import torch
    event = torch.cuda.Event(enable_timing=True)
    event.record(here.stream)
    return event

def cache():
    """What, overwritten, takes all else out of the L2 cache."""
    if "cache" not in loaded:
        import torch
        loaded["cache"] = torch.zeros(torch.cuda.get_device_properties(0).L2_cache_size // 2, device="cuda")
        torch.cuda.synchronize()
    return loaded["cache"]

START_PARTS = ("process_ms", "import_ms", "context_ms", "build_ms", "read_ms", "to_gpu_ms", "first_ms", "disk_ms", "pinned_ms")
START_BESIDE = "disk_ms", "pinned_ms"  # no part of a start: read_ms from the disk, to_gpu_ms from pinned memory

def start(name, half, path, begun):
    """The parts of a cold start in ms: START_PARTS. The weights are read from a file, which the first start of
    a network writes: no time goes into drawing them."""
    marks = [begun, time.monotonic()]
    import torch
    marks.append(time.monotonic())
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    marks.append(time.monotonic())
    if not os.path.exists(path):
        torch.save(load(name)[0].state_dict(), path)
        marks[-1] = time.monotonic()
    with torch.device("meta"):
        net, make = load(name)
    marks.append(time.monotonic())
    weights = torch.load(path, weights_only=True)
    net.load_state_dict(weights, assign=True)
    marks.append(time.monotonic())
    net = net.cuda().eval()
    if half:
        net = net.half().to(memory_format=torch.channels_last)
    torch.cuda.synchronize()
    marks.append(time.monotonic())
    with on(torch.cuda.Stream()):
        net(*(form(tensor, half).cuda() for tensor in make(1)))
    torch.cuda.synchronize()
    marks.append(time.monotonic())
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    marks.append(time.monotonic())
    torch.load(path, weights_only=True)
    disk = time.monotonic() - marks[-1]
    pinned = [tensor.pin_memory() for tensor in weights.values()]
    begun = time.monotonic()
    for tensor in pinned:
        tensor.cuda(non_blocking=True)
    torch.cuda.synchronize()
    pinned = time.monotonic() - begun
    parts = [end - before for before, end in zip(marks, marks[1:-1])]
    return [1e3 * part for part in parts + [disk, pinned]]

def once(hot=True):
    """Time of a batch in ms. The GPU sleeps until all is launched: an event on an idle stream is before the
    launch, which would count. Cold: a server finds the L2 cache as other networks have left it."""
    import torch
    if not hot:
        cache().zero_()
    torch.cuda._sleep(SLEEP_CYCLES)
    first = mark()
    here.run()
    last = mark()
    last.synchronize()
    return first.elapsed_time(last)

def served(count):
    """Median time in ms from the end of a batch to that of the next, each copied, launched and waited for."""
    ends = []
    for _ in range(count + 1):
        here.copy()
        here.run()
        here.stream.synchronize()
        ends.append(time.perf_counter())
    return 1e3 * statistics.median(end - before for before, end in zip(ends, ends[1:]))

def alone(name, batch, half, graph, seconds, hot):
    """Median and deviation in ms, MiB of memory, when the first batch had ended, and the turnaround: what a
    batch takes longer where another follows at once. None: out of memory. Hot: the batch before has left
    its data in the L2 cache; so it has where another follows at once.
    The clock has settled after 50 ms, once two windows of five agree within 1 %, or after half a second."""
    import torch
    here.stream = here.stream or torch.cuda.Stream()
    try:
        weights = network(name, half)[2]
        if not hot:
            cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        here.run, here.copy = prepare(name, batch, half, graph, here.stream)
        with on(here.stream):
            once(hot)
            begun, last, ms = time.monotonic(), 0, 1
            while (gone := time.monotonic() - begun) < .05 or (abs(ms - last) > .01 * ms and gone < .5):
                last, ms = ms, max(1e-3, statistics.median(once(hot) for _ in range(5)))
            times = [once(hot) for _ in range(max(10, min(200, int(1e3 * seconds / ms))))]
            ms = statistics.median(times)
            again = ms if hot else statistics.median(once() for _ in range(10))
            turnaround = max(0., served(max(10, len(times) // 4)) - again)
    except torch.cuda.OutOfMemoryError:
        drop()
        loaded.clear()
        torch.cuda.empty_cache()
        return None
    memory = weights + torch.cuda.max_memory_allocated() - before
    return ms, statistics.pstdev(times), memory / MIB, begun, turnaround

def drop():
    """Gives back the memory of what the lane ran last."""
    here.run = here.copy = None
    dry_running.pop(threading.get_ident(), None)

def beside(begin, end):
    """Runs the network of alone() until after `end` of the monotonic clock, which all processes share.
    Median and deviation of the batches within [begin, end]; None: the first of all came too late.
    A batch is launched while the one before runs, so that the stream has no pause and no launch counts."""
    import torch
    times, started = [], time.monotonic()
    with on(here.stream):
        torch.cuda._sleep(SLEEP_CYCLES)
        before = mark()
        here.run()
        last = mark()
        while not times or times[-1][2] < end + .02:
            here.run()
            following = mark()
            last.synchronize()
            times.append((started, before.elapsed_time(last), time.monotonic()))
            before, last, started = last, following, times[-1][2]
        last.synchronize()
    within = [ms for start, ms, stop in times if start >= begin and stop <= end]
    if times[0][0] > begin or not within:
        return None
    return statistics.median(within), statistics.pstdev(within)

dry_running = {}  # how much the networks of the lanes slow others

def dry_kind(name):
    return zlib.crc32(short(name).encode()) / 2 ** 32

def dry_ms(name, batch, share):
    """A floor of launches, and work that `share`, the fraction of the GPU, divides."""
    kind = dry_kind(name)
    work = (.05 + .45 * kind) * (.3 + batch) / (share + .02)
    return ((.4 + 1.6 * kind) ** 4 + work ** 4) ** .25

def dry_about():
    return {"device": "no GPU", "evidence": "rehearsal: drawn from a formula, not measured", "context_mb": 400}

def dry_alone(name, batch, _half, _graph, seconds, hot):
    time.sleep(seconds)
    here.ms = dry_ms(name, batch, here.share) * (.9 if hot else 1)
    dry_running[threading.get_ident()] = here.slows = .02 + .1 * dry_kind(name)
    return here.ms, .01 * here.ms, 100.0 + 20 * len(short(name)) + 30 * batch, None, ""

def dry_start(name, run):
    work = 50. * len(short(name))
    return [200., 1500. + 30 * (run * 7 % 5), 200., 20., .5 * work, .3 * work, 80. + .2 * work, 2 * work, .1 * work]

def dry_beside(_begin, _end):
    return here.ms * (1 + sum(dry_running.values()) - here.slows), .01 * here.ms
