/* What host and device agree on about the kernels that no library has. */
#ifndef ESGSIM_TRACES_CAPTURE_KERNELS_H
#define ESGSIM_TRACES_CAPTURE_KERNELS_H

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
 * block for a row, the others a thread for an element and the number of elements first. */
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
    X(instance_norm)                                                                               \
    X(mean)

enum { KERNEL_THREADS = 256 };

#endif
