/* What host and device agree on about the kernels that no library has. */
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

/* Planes of in_height x in_width to planes of out_height x out_width. A pixel shuffle's factor is
 * its stride. */
struct kernel_window {
    int in_height, in_width;
    int out_height, out_width;
    int kernel_height, kernel_width;
    int stride_height, stride_width;
    int pad_height, pad_width;
};

/* Kernels of kernels.cu, each as NAME_f32 and NAME_f16, 256 threads a block. Those of rows take a
 * block for a row, those of planes a block for a part of one; the others a thread for an element,
 * or for KERNEL_PACK of them (affine, binary), and the number of elements first. */
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

/* Blocks for a plane of so many elements among so many planes: enough to occupy a device, each with
 * work enough. */
static inline int kernel_parts(size_t planes, int length)
{
    enum { BLOCKS = 1024, LEAST = 2048, MOST = 32 };
    const size_t wanted = BLOCKS / planes;
    const size_t room = (size_t)length / LEAST;
    const size_t parts = wanted < room ? wanted : room;
    return parts < 1 ? 1 : parts > MOST ? MOST : (int)parts;
}

#endif
