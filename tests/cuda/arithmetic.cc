/* Arithmetic of the mock GPU. It runs the kernels' source on the processor, with the threads of a
 * block as fibers. Library products are plain loops. */
#include "tests/cuda/stand_in.h"

#include <math.h>
#include <string.h>
#include <ucontext.h>

#include <utility>

#include <cuda_fp16.h>

#include "traces/capture/executor/kernels.h"

/* ---- A block's threads ----------------------------------------------------------------------- */

namespace
{

/* A switch of fibers takes far longer than the work in between, so blocks have fewer
 * threads here. */
enum { FIBERS = 8, STACK = 65536 };

struct place {
    unsigned x, y, z;
};

struct place threadIdx, blockIdx, blockDim, gridDim;

struct {
    ucontext_t scheduler, threads[FIBERS];
    bool over[FIBERS];
    unsigned current;
    void (*run)(void **parameters);
    void **parameters;
} block;

char stacks[FIBERS][STACK];

/* Barrier: control returns to the scheduler, which resumes every thread of the block in turn. */
void __syncthreads()
{
    swapcontext(&block.threads[block.current], &block.scheduler);
}

void run_thread()
{
    block.run(block.parameters);
    block.over[block.current] = true;
}

void begin_thread(unsigned thread)
{
    block.over[thread] = false;
    getcontext(&block.threads[thread]);
    block.threads[thread].uc_stack.ss_sp = stacks[thread];
    block.threads[thread].uc_stack.ss_size = STACK;
    block.threads[thread].uc_link = &block.scheduler;
    makecontext(&block.threads[thread], run_thread, 0);
}

/* Runs all threads to the next barrier, repeatedly. Every other round runs them in reverse order,
 * to expose code that depends on the order. Returns false if some threads end while others wait. */
bool run_block()
{
    for (unsigned t = 0; t < FIBERS; t++)
        begin_thread(t);
    for (bool backward = false;; backward = !backward) {
        unsigned over = 0;
        for (unsigned t = 0; t < FIBERS; t++) {
            block.current = backward ? FIBERS - 1 - t : t;
            threadIdx.x = block.current;
            swapcontext(&block.scheduler, &block.threads[block.current]);
            over += block.over[block.current];
        }
        if (over > 0)
            return over == FIBERS;
    }
}

inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}

/* The multiprocessors on which blocks execute, and clocks that advance at each read. */
unsigned multiprocessors[256], multiprocessor_count;

inline unsigned this_multiprocessor()
{
    return multiprocessors[blockIdx.x % multiprocessor_count];
}

inline long long clock64()
{
    static long long cycles;
    return cycles += 10000;
}

inline unsigned long long now_ns()
{
    static unsigned long long ns;
    return ns += 1000000;
}

} // namespace

#undef __shared__
#define __shared__ static
#define KERNEL_THREADS FIBERS
#include "traces/capture/executor/kernels.cu"

/* ---- The kernels ----------------------------------------------------------------------------- */

namespace
{

template <auto F> struct invoke;
template <typename... A, void (*F)(A...)> struct invoke<F> {
    static void run(void **parameters)
    {
        call(parameters, std::index_sequence_for<A...>{});
    }
    static size_t sizes([[maybe_unused]] size_t *of)
    {
        size_t count = 0;
        ((of[count++] = sizeof(A)), ...);
        return count;
    }
    template <size_t... I> static void call(void **parameters, std::index_sequence<I...>)
    {
        F(*static_cast<A *>(parameters[I])...);
    }
};

template <typename T> T parameter(void **parameters, int index)
{
    return *static_cast<T *>(parameters[index]);
}

uint64_t address(void **parameters, int index)
{
    return parameter<uint64_t>(parameters, index);
}

size_t size(void **parameters, int index)
{
    return (size_t)parameter<int>(parameters, index);
}

/* Lists the memory that a launch touches. `element` is the size of an element. */
typedef touched touches(void **p, unsigned blocks, size_t element);

touched touch_affine(void **p, unsigned, size_t element)
{
    const size_t n = parameter<size_t>(p, 0);
    const size_t channels = size(p, 5) * sizeof(float);
    return {{{address(p, 1), n * element, false, "x"},
             {address(p, 2), n * element, true, "y"},
             {address(p, 3), channels, false, "scale"},
             {address(p, 4), channels, false, "shift"}},
            4,
            (double)n,
            false};
}

touched touch_prelu(void **p, unsigned, size_t element)
{
    const size_t n = parameter<size_t>(p, 0);
    return {{{address(p, 1), n * element, false, "x"},
             {address(p, 2), n * element, true, "y"},
             {address(p, 3), size(p, 4) * sizeof(float), false, "slopes"}},
            3,
            (double)n,
            false};
}

touched touch_binary(void **p, unsigned, size_t element)
{
    const size_t bytes = parameter<size_t>(p, 0) * element;
    return {{{address(p, 1), bytes, false, "a"},
             {address(p, 2), bytes, false, "b"},
             {address(p, 3), bytes, true, "y"}},
            3,
            (double)parameter<size_t>(p, 0),
            false};
}

touched touch_rows(void **p, unsigned, size_t element)
{
    const size_t n = parameter<size_t>(p, 0);
    const size_t rows = n / size(p, 3);
    const size_t far = ((rows - 1) * size(p, 4) + size(p, 5) + size(p, 3)) * element;
    const bool gather = parameter<int>(p, 6) != 0;
    return {{{address(p, 1), gather ? far : n * element, false, "x"},
             {address(p, 2), gather ? n * element : far, true, "y"}},
            2,
            (double)n,
            false};
}

/* Kernels on windows of planes. */
touched touch_planes(void **p, unsigned, size_t element)
{
    const size_t n = parameter<size_t>(p, 0);
    const kernel_window w = parameter<kernel_window>(p, 3);
    const size_t planes = n / ((size_t)w.out_height * (size_t)w.out_width);
    return {
        {{address(p, 1), planes * (size_t)w.in_height * (size_t)w.in_width * element, false, "x"},
         {address(p, 2), n * element, true, "y"}},
        2,
        (double)n,
        false};
}

touched touch_shuffle(void **p, unsigned, size_t element)
{
    const size_t n = parameter<size_t>(p, 0);
    return {{{address(p, 1), n * element, false, "x"}, {address(p, 2), n * element, true, "y"}},
            2,
            (double)n,
            false};
}

/* The embedding table, up to the largest token. */
touched touch_embedding(void **p, unsigned, size_t element)
{
    const size_t n = parameter<size_t>(p, 0);
    const size_t width = size(p, 4);
    const int *tokens = parameter<const int *>(p, 1);
    size_t most = 0;
    for (size_t i = 0; i < n / width; i++)
        most = (size_t)tokens[i] > most ? (size_t)tokens[i] : most;
    return {{{address(p, 1), n / width * sizeof(int), false, "tokens"},
             {address(p, 2), (most + 1) * width * element, false, "table"},
             {address(p, 3), n * element, true, "y"}},
            3,
            (double)n,
            false};
}

touched touch_softmax(void **p, unsigned blocks, size_t element)
{
    const size_t stride = size(p, 3);
    const size_t count = (blocks + stride - 1) / stride * stride * size(p, 2);
    return {
        {{address(p, 0), count * element, false, "x"}, {address(p, 1), count * element, true, "y"}},
        2,
        (double)count,
        true};
}

touched touch_layer_norm(void **p, unsigned blocks, size_t element)
{
    const size_t bytes = blocks * size(p, 2) * element;
    return {{{address(p, 0), bytes, false, "x"},
             {address(p, 1), bytes, true, "y"},
             {address(p, 4), size(p, 2) * sizeof(float), false, "scale"},
             {address(p, 5), size(p, 2) * sizeof(float), false, "shift"}},
            4,
            (double)(blocks * size(p, 2)),
            true};
}

touched touch_plane_sums(void **p, unsigned blocks, size_t element)
{
    const size_t count = blocks / size(p, 3) * size(p, 2);
    return {{{address(p, 0), count * element, false, "x"},
             {address(p, 1), blocks * sizeof(float2), true, "sums"}},
            2,
            (double)count,
            true};
}

touched touch_instance_norm(void **p, unsigned blocks, size_t element)
{
    const size_t count = blocks / size(p, 4) * size(p, 3);
    const size_t channels = size(p, 8) * sizeof(float);
    return {{{address(p, 0), count * element, false, "x"},
             {address(p, 1), count * element, true, "y"},
             {address(p, 2), blocks * sizeof(float2), false, "sums"},
             {address(p, 6), channels, false, "scale"},
             {address(p, 7), channels, false, "shift"}},
            5,
            (double)count,
            true};
}

touched touch_mean(void **p, unsigned blocks, size_t element)
{
    return {{{address(p, 0), blocks * size(p, 2) * element, false, "x"},
             {address(p, 1), blocks * element, true, "y"}},
            2,
            (double)(blocks * size(p, 2)),
            true};
}

touched touch_nothing(void **, unsigned, size_t)
{
    return {{}, 0, 1, false};
}

touched touch_where(void **p, unsigned, size_t)
{
    return {{{address(p, 0), size(p, 1) * sizeof(unsigned), true, "marks"}}, 1, 1, false};
}

touched touch_spin(void **p, unsigned, size_t)
{
    const size_t count = address(p, 1) != 0;
    return {{{address(p, 1), 2 * sizeof(long long), true, "cycles"}}, count, 1, false};
}

#define ONE(name, touch, element) {#name, invoke<name>::run, invoke<name>::sizes, touch, element}
#define BOTH(name, touch) ONE(name##_f32, touch, 4), ONE(name##_f16, touch, 2)

const struct {
    const char *name;
    void (*run)(void **parameters);
    size_t (*sizes)(size_t *of);
    touches *touch;
    size_t element;
} kernels[] = {
    BOTH(affine, touch_affine),
    BOTH(prelu, touch_prelu),
    BOTH(binary, touch_binary),
    BOTH(rows, touch_rows),
    BOTH(pool, touch_planes),
    BOTH(pixel_shuffle, touch_shuffle),
    BOTH(upsample, touch_planes),
    BOTH(reflect_pad, touch_planes),
    BOTH(embedding, touch_embedding),
    BOTH(softmax, touch_softmax),
    BOTH(layer_norm, touch_layer_norm),
    BOTH(plane_sums, touch_plane_sums),
    BOTH(instance_norm, touch_instance_norm),
    BOTH(mean, touch_mean),
    ONE(probe_nothing, touch_nothing, 1),
    ONE(probe_where, touch_where, 1),
    ONE(probe_spin, touch_spin, 1),
};

} // namespace

int kernel_find(const char *name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return (int)i;
    return -1;
}

struct touched kernel_touches(int kernel, void **parameters, unsigned blocks)
{
    return kernels[kernel].touch(parameters, blocks, kernels[kernel].element);
}

size_t kernel_parameters(int kernel, size_t sizes[])
{
    return kernels[kernel].sizes(sizes);
}

void kernel_place(const unsigned *places, unsigned count)
{
    memcpy(multiprocessors, places, count * sizeof *places);
    multiprocessor_count = count;
}

/* Threads of a kernel that is not by row never wait for each other. */
bool kernel_run(int kernel, void **parameters, unsigned blocks, unsigned threads, bool by_row)
{
    gridDim = {blocks, 1, 1};
    blockDim = {by_row ? (unsigned)FIBERS : threads, 1, 1};
    block.run = kernels[kernel].run;
    block.parameters = parameters;
    for (unsigned b = 0; b < blocks; b++) {
        blockIdx.x = b;
        if (by_row && !run_block())
            return false;
        for (threadIdx.x = 0; !by_row && threadIdx.x < threads; threadIdx.x++)
            block.run(parameters);
    }
    return true;
}

/* ---- Products -------------------------------------------------------------------------------- */

namespace
{

inline float load(const float *from)
{
    return *from;
}

inline float load(const __half *from)
{
    return __half2float(*from);
}

inline void store(float *to, float value)
{
    *to = value;
}

inline void store(__half *to, float value)
{
    *to = __float2half(value);
}

/* Index of the input element that a filter tap multiplies for an output element. -1: padding. */
long source(const convolution &c, int out_row, int out_column, int tap)
{
    const int row = out_row * c.stride[0] - c.pad[0] + tap / c.kernel[1] * c.dilation[0];
    const int column = out_column * c.stride[1] - c.pad[1] + tap % c.kernel[1] * c.dilation[1];
    if (row < 0 || column < 0 || row >= c.height || column >= c.width)
        return -1;
    return (long)row * c.width + column;
}

/* Calls visit(output index, input index, filter index) for every product of the forward
 * convolution. */
template <typename Visit> void visit_products(const convolution &c, Visit visit)
{
    const long in_plane = (long)c.height * c.width;
    const long out_plane = (long)c.out_height * c.out_width;
    const int in_group = c.channels / c.groups;
    const int taps = c.kernel[0] * c.kernel[1];
    for (int n = 0; n < c.items; n++)
        for (int o = 0; o < c.out_channels; o++)
            for (long p = 0; p < out_plane; p++)
                for (int i = 0; i < in_group; i++)
                    for (int tap = 0; tap < taps; tap++) {
                        const long at =
                            source(c, (int)(p / c.out_width), (int)(p % c.out_width), tap);
                        const long channel = o / (c.out_channels / c.groups) * in_group + i;
                        if (at >= 0)
                            visit(((long)n * c.out_channels + o) * out_plane + p,
                                  ((long)n * c.channels + channel) * in_plane + at,
                                  ((long)o * in_group + i) * taps + tap);
                    }
}

template <typename T> void convolve(const convolution &c, const T *x, const T *filters, T *y)
{
    const long in_count = (long)c.items * c.channels * c.height * c.width;
    const long out_count = (long)c.items * c.out_channels * c.out_height * c.out_width;
    const long count = c.backward ? in_count : out_count;
    float *sums = new float[(size_t)count]();
    visit_products(c, [&](long out, long in, long filter) {
        sums[c.backward ? in : out] += load(&x[c.backward ? out : in]) * load(&filters[filter]);
    });
    for (long i = 0; i < count; i++)
        store(&y[i], sums[i]);
    delete[] sums;
}

template <typename T> void multiply(const product &m, const T *a, const T *b, T *c)
{
    for (long column = 0; column < m.columns; column++)
        for (long row = 0; row < m.rows; row++) {
            float sum = 0;
            for (long k = 0; k < m.inner; k++)
                sum += load(&a[m.turn_a ? row * m.pitch_a + k : k * m.pitch_a + row]) *
                       load(&b[m.turn_b ? k * m.pitch_b + column : column * m.pitch_b + k]);
            store(&c[column * m.pitch_c + row], sum);
        }
}

} // namespace

void convolution_run(const struct convolution *shape, const void *x, const void *filters, void *y)
{
    if (shape->half)
        convolve(*shape, static_cast<const __half *>(x), static_cast<const __half *>(filters),
                 static_cast<__half *>(y));
    else
        convolve(*shape, static_cast<const float *>(x), static_cast<const float *>(filters),
                 static_cast<float *>(y));
}

void product_run(const struct product *shape, const void *a, const void *b, void *c)
{
    if (shape->half)
        multiply(*shape, static_cast<const __half *>(a), static_cast<const __half *>(b),
                 static_cast<__half *>(c));
    else
        multiply(*shape, static_cast<const float *>(a), static_cast<const float *>(b),
                 static_cast<float *>(c));
}
