/* The kernels that no library provides, in two precisions. They use one thread per element
 * (kernels_body.h) or one block per row. The build compiles them to machine code for several
 * architectures and embeds it in the program. */
#include <cuda_fp16.h>
#include <stddef.h>

#include "traces/capture/executor/kernels.h"

#define KERNEL __device__ static inline
#define GRID_LOOP(i, count)                                                                        \
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (count);                    \
         i += (size_t)gridDim.x * blockDim.x)

__device__ static inline float block_sum(float value)
{
    __shared__ float sums[KERNEL_THREADS];
    __syncthreads();
    sums[threadIdx.x] = value;
    for (unsigned half = KERNEL_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    return sums[0];
}

__device__ static inline float block_max(float value)
{
    __shared__ float most[KERNEL_THREADS];
    __syncthreads();
    most[threadIdx.x] = value;
    for (unsigned half = KERNEL_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && most[threadIdx.x + half] > most[threadIdx.x])
            most[threadIdx.x] = most[threadIdx.x + half];
    }
    __syncthreads();
    return most[0];
}

/* ---- Parts of planes ------------------------------------------------------------------------- */

struct part {
    int first, count; /* elements; the last parts may be shorter or empty */
};

__device__ static inline int part_length(int length, int parts)
{
    const int each = (length + parts - 1) / parts;
    return (each + KERNEL_PACK - 1) / KERNEL_PACK * KERNEL_PACK;
}

__device__ static inline struct part numbered_part(int length, int parts, int number)
{
    const int each = part_length(length, parts);
    const int first = number * each;
    const int rest = first < length ? length - first : 0;
    return {rest == 0 ? 0 : first, rest < each ? rest : each};
}

/* The part of the current block. */
__device__ static inline struct part part_of(int length, int parts)
{
    return numbered_part(length, parts, (int)(blockIdx.x % (unsigned)parts));
}

/* Combines partial sums: mean of the whole and sum of squared deviations from it (Chan, Golub and
 * LeVeque, 1983). */
__device__ static inline float2 join_sums(const float2 *sums, int length, int parts)
{
    float2 all = {0, 0};
    float before = 0;
    for (int p = 0; p < parts; p++) {
        const float count = (float)numbered_part(length, parts, p).count;
        const float off = sums[p].x - all.x;
        if (count == 0)
            break;
        all.x += off * count / (before + count);
        all.y += sums[p].y + off * off * before * count / (before + count);
        before += count;
    }
    return all;
}

/* ---- Both precisions ------------------------------------------------------------------------- */

#define REAL float
#define NAME(x) x##_body_f32
#define GLOBAL(x) x##_f32
#define LOAD(x) (x)
#define STORE(x) (x)
#include "traces/capture/executor/kernels_body.h"
#include "traces/capture/executor/kernels_global.h"
#undef REAL
#undef NAME
#undef GLOBAL
#undef LOAD
#undef STORE

#define REAL __half
#define NAME(x) x##_body_f16
#define GLOBAL(x) x##_f16
#define LOAD(x) __half2float(x)
#define STORE(x) __float2half(x)
#include "traces/capture/executor/kernels_body.h"
#include "traces/capture/executor/kernels_global.h"

/* ---- The probe's kernels --------------------------------------------------------------------- */

#ifdef __CUDACC__
__device__ static inline unsigned this_multiprocessor()
{
    unsigned id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

__device__ static inline unsigned long long now_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}
#endif

extern "C" __global__ void probe_nothing()
{
}

/* Marks the multiprocessors that execute blocks. Each block stays busy for a while, so that the
 * blocks spread over all multiprocessors. */
extern "C" __global__ void probe_where(unsigned *seen, unsigned room)
{
    const long long stay = 20000;
    const long long start = clock64();
    const unsigned id = this_multiprocessor();
    if (id < room)
        seen[id] = 1;
    while (clock64() - start < stay)
        ;
}

/* Spins for `ns` nanoseconds and writes the elapsed cycles and nanoseconds. */
extern "C" __global__ void probe_spin(unsigned long long ns, long long *cycles_ns)
{
    const long long first_cycle = clock64();
    const unsigned long long start = now_ns();
    unsigned long long now = start;
    while (now - start < ns)
        now = now_ns();
    if (cycles_ns != NULL && blockIdx.x == 0 && threadIdx.x == 0) {
        cycles_ns[0] = clock64() - first_cycle;
        cycles_ns[1] = (long long)(now - start);
    }
}
