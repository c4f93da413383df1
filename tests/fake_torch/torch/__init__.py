"""A PyTorch without a GPU, for traces/capture/lanes.py: it checks the use of streams, contexts, events,
graphs and memory, and takes times from a law. Its networks are in the torchvision beside it."""
import contextlib, json, math, os, threading, time, types, weakref  # noqa: E401

__version__, channels_last = "0.0+fake", "channels_last"
version = types.SimpleNamespace(cuda="0.0")
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 0))
MEMORY = int(os.environ.get("FAKE_MEMORY_MB", "4096")) << 20
PART = int(os.environ.get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100")) / 100
SLICE = " MIG " + os.environ["CUDA_VISIBLE_DEVICES"] if "CUDA_VISIBLE_DEVICES" in os.environ else ""
COPY_MS = .2, .1  # of a batch, and of each of its inputs
LAUNCH_MS, HOT = .05, .9  # of a launch on an idle stream; of the time where the L2 cache has the batch's data
lock, here = threading.Lock(), threading.local()  # `here`: what PyTorch keeps for each thread
state = types.SimpleNamespace(cached=None, allocated=0, peak=0, entered=[], capturing=None,
                                                            pending=False, streams={})

def check(holds, text):
    if not holds:
        raise AssertionError("misused: " + text)

def give(size):
    state.allocated -= size

def current():
    return getattr(here, "stream", None)

class Tensor:
    def __init__(self, shape, on_gpu=False, is_half=False, layout=None, pinned=False):
        self.kind = {"shape": shape, "on_gpu": on_gpu, "is_half": is_half, "layout": layout, "pinned": pinned}
        vars(self).update(self.kind)
        state.pending = state.pending or (on_gpu and current() is None)  # made on the default stream
        size = self.numel() * self.element_size()
        if on_gpu:
            with lock:
                if state.allocated + size > MEMORY:
                    raise cuda.OutOfMemoryError("fake: out of memory")
                state.allocated += size
                state.peak = max(state.peak, state.allocated)
            weakref.finalize(self, give, size)

    def like(self, **changes):
        return Tensor(**{**self.kind, **changes})
    numel = lambda self: math.prod(self.shape)
    element_size = lambda self: 2 if self.is_half else 4
    dim = lambda self: len(self.shape)
    is_floating_point = lambda self: True
    cuda = lambda self, non_blocking=False: self.like(on_gpu=True, pinned=False)
    pin_memory = lambda self: self.like(pinned=True)
    half = lambda self: self.like(is_half=True)
    to = lambda self, memory_format: self.like(layout=memory_format)

    def zero_(self):
        check(self.on_gpu and not state.pending, "an overwriting of what is not there")
        state.cached = None

    def copy_(self, host, non_blocking=False):
        check(self.on_gpu and not host.on_gpu and {**self.kind, "on_gpu": False, "pinned": True} == host.kind,
              "a copy of another kind, or of pageable memory")
        check(non_blocking, "a copy that the host waits for")
        current().busy = True
        current().now += COPY_MS[0] + COPY_MS[1] * self.shape[0]
        current().awaited = False

device = lambda name: contextlib.nullcontext(check(name == "meta", "another device"))

def save(weights, path):
    with open(path, "w") as file:
        json.dump({name: tensor.kind for name, tensor in weights.items()}, file)

def load(path, weights_only):
    check(weights_only, "a file that may run code")
    with open(path) as file:
        return {name: Tensor(**kind) for name, kind in json.load(file).items()}

randn = lambda *shape: Tensor(shape)
zeros = lambda *shape, device: Tensor(shape, device == "cuda")

@contextlib.contextmanager
def inference_mode():
    here.inference = True
    yield
    here.inference = False

def launch(ms, reads):
    """A network's kernels, on the current stream: a tenth slower for each stream beside it."""
    stream = current()
    check(stream is not None, "a launch on the default stream")
    check(not state.pending, "a launch that does not wait for what the default stream makes")
    check(getattr(here, "inference", False), "a launch outside inference mode")
    check(stream.context is None or stream.context() is not None, "a stream whose green context is gone")
    if state.capturing is None:
        stream.warm.add(ms)
        stream.work(ms, ms(stream.part))
        return
    check(state.capturing.stream is stream, "a launch while another stream captures")
    check(ms in stream.warm, "a capture of what has not run on its stream")
    state.capturing.ms, state.capturing.law, state.capturing.reads = ms(stream.part), ms, [weakref.ref(tensor) for tensor in reads]

class Stream:
    def __init__(self, groups=None, part=PART, context=None):
        self.groups, self.part, self.context, self.now, self.warm = groups, part, context, 0.0, set()
        self.awaited, self.busy = True, False

    def work(self, law, ms):
        """A launch counts on an idle stream; the cache has a batch's data where it alone ran before."""
        alone = len(state.entered) == 1
        self.now += (0 if self.busy else LAUNCH_MS) + ms * (.9 + .1 * len(state.entered)) * (
            HOT if alone and state.cached is law else 1)
        state.cached, self.busy = law if alone else None, True

    def synchronize(self):
        time.sleep(1e-4)
        self.awaited, self.busy = True, False

def clock():
    """The host's time where all was waited for: that of its stream."""
    check(current().awaited, "a time of work that is not waited for")
    return current().now / 1e3

time.perf_counter = clock

@contextlib.contextmanager
def enter(stream):
    with lock:
        for other in state.entered:
            check(stream.groups and other.groups and not stream.groups & other.groups, "streams that share units")
        state.entered.append(stream)
    before, here.stream = current(), stream
    try:
        yield
    finally:
        here.stream = before
        state.entered.remove(stream)

class Event:
    def __init__(self, enable_timing=False):
        self.timing, self.at, self.seen, self.asked = enable_timing, None, False, False

    def record(self, stream):
        check(stream is current(), "an event on a stream that is not current")
        self.at, self.seen, self.stream = stream.now, False, stream

    def synchronize(self):
        check(self.at is not None, "a wait for an event that is not recorded")
        time.sleep(1e-4)
        self.seen = True
        self.stream.busy = self.at < self.stream.now  # what was launched after it

    def query(self):
        """At the second question: nobody may wait for a stream while others run."""
        check(self.at is not None, "a question for an event that is not recorded")
        ended, self.asked = self.asked, True
        self.seen, self.stream.busy = ended, self.stream.busy and not ended
        return ended

    def elapsed_time(self, last):
        check(self.timing and last.timing and last.seen, "a time of events without timing, or not waited for")
        return last.at - self.at

class CUDAGraph:
    def replay(self):
        check(self.stream is current(), "a replay on another stream")
        check(all(read() is not None for read in self.reads), "a replay whose inputs are gone")
        self.stream.work(self.law, self.ms)

@contextlib.contextmanager
def capture(graph, pool, stream, capture_error_mode):
    check(stream is current() and type(pool) in (object, type(None)), "a capture elsewhere, or in no pool")
    check(capture_error_mode == "thread_local", "a capture that other threads disturb")
    graph.stream, state.capturing = stream, graph
    yield
    state.capturing = None

cuda = types.SimpleNamespace(
    _sleep=lambda cycles: vars(current()).update(now=current().now + cycles / 2e6, busy=True),
    get_device_properties=lambda device: types.SimpleNamespace(L2_cache_size=64),
    Stream=Stream, ExternalStream=state.streams.__getitem__, stream=enter, Event=Event, CUDAGraph=CUDAGraph, graph=capture,
    OutOfMemoryError=type("OutOfMemoryError", (RuntimeError,), {}), empty_cache=lambda: None,
    synchronize=lambda: vars(state).update(pending=False),
    graph_pool_handle=object, memory_allocated=lambda: state.allocated, max_memory_allocated=lambda: state.peak,
    reset_peak_memory_stats=lambda: vars(state).update(peak=state.allocated), memory_reserved=lambda: state.allocated,
    mem_get_info=lambda: (MEMORY - state.allocated - (300 << 20), MEMORY), get_device_name=lambda: "fake, no GPU" + SLICE)
