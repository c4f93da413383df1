/* The kernels that no library has, in two precisions: a thread for an element (kernels_body.h), or
 * a block for a row. Compiled to machine code for several architectures and carried in the program.
 */
#include <cuda_fp16.h>
#include <stddef.h>

#include "traces/capture/kernels.h"

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

#define REAL float
#define NAME(x) x##_body_f32
#define GLOBAL(x) x##_f32
#define LOAD(x) (x)
#define STORE(x) (x)
#include "traces/capture/kernels_body.h"
#include "traces/capture/kernels_global.h"
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
#include "traces/capture/kernels_body.h"
#include "traces/capture/kernels_global.h"
