/* Types and constants shared by host and device for the kernels that no library provides. */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_KERNELS_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_KERNELS_H

#include <stddef.h>

enum kernel_function {
    KERNEL_NONE,
    KERNEL_RELU,
    KERNEL_CLAMP,
    KERNEL_SLOPE,
    KERNEL_SIGMOID,
    KERNEL_TANH,
    KERNEL_GELU
};

/* A window operation from planes of in_height x in_width to planes of out_height x out_width. For a
 * pixel shuffle, the stride is its factor. */
struct kernel_window {
    int in_height, in_width;
    int out_height, out_width;
    int kernel_height, kernel_width;
    int stride_height, stride_width;
    int pad_height, pad_width;
};

/* Kernels of kernels.cu. Each exists as NAME_f32 and NAME_f16 and has 256 threads per block.
 * Kernels on rows use one block per row. Kernels on planes use one block per part of a plane. All
 * others take the number of elements as their first parameter and use one thread per element, or
 * one per KERNEL_PACK elements (affine, binary). */
#define KERNEL_NAMES(X)                                                                            \
    X(affine)                                                                                      \
    X(prelu)                                                                                       \
    X(binary)                                                                                      \
    X(rows)                                                                                        \
    X(pool)                                                                                        \
    X(pixel_shuffle)                                                                               \
    X(upsample)                                                                                    \
    X(reflect_pad)                                                                                 \
    X(embedding)                                                                                   \
    X(softmax)                                                                                     \
    X(layer_norm)                                                                                  \
    X(plane_sums)                                                                                  \
    X(instance_norm)                                                                               \
    X(mean)

enum { KERNEL_THREADS = 256, KERNEL_PACK = 8 };

/* Number of blocks per plane of `length` elements if there are `planes` planes. It yields enough
 * blocks to occupy a device and enough work per block. */
static inline int kernel_parts(size_t planes, int length)
{
    enum { BLOCKS = 1024, LEAST = 2048, MOST = 32 };
    const size_t wanted = BLOCKS / planes;
    const size_t room = (size_t)length / LEAST;
    const size_t parts = wanted < room ? wanted : room;
    return parts < 1 ? 1 : parts > MOST ? MOST : (int)parts;
}

#endif
