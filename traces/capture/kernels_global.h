/* The kernels of one precision; included by kernels.cu once for each. No include guard. */

extern "C" __global__ void GLOBAL(affine)(size_t n, const REAL *x, REAL *y, const float *scale,
                                          const float *shift, int channels, int inner, int function,
                                          float low, float high)
{
    GRID_LOOP(i, n)
    NAME(affine)(i, x, y, scale, shift, channels, inner, function, low, high);
}

extern "C" __global__ void GLOBAL(prelu)(size_t n, const REAL *x, REAL *y, const float *slopes,
                                         int channels, int inner)
{
    GRID_LOOP(i, n)
    NAME(prelu)(i, x, y, slopes, channels, inner);
}

extern "C" __global__ void GLOBAL(binary)(size_t n, const REAL *a, const REAL *b, REAL *y,
                                          int multiply, int function, float low, float high)
{
    GRID_LOOP(i, n)
    NAME(binary)(i, a, b, y, multiply, function, low, high);
}

extern "C" __global__ void GLOBAL(rows)(size_t n, const REAL *x, REAL *y, int width, int pitch,
                                        int offset, int gather)
{
    GRID_LOOP(i, n)
    NAME(rows)(i, x, y, width, pitch, offset, gather);
}

extern "C" __global__ void GLOBAL(pool)(size_t n, const REAL *x, REAL *y, struct kernel_window w,
                                        int average, int count_pad)
{
    GRID_LOOP(i, n)
    NAME(pool)(i, x, y, w, average, count_pad);
}

extern "C" __global__ void GLOBAL(pixel_shuffle)(size_t n, const REAL *x, REAL *y,
                                                 struct kernel_window w)
{
    GRID_LOOP(i, n)
    NAME(pixel_shuffle)(i, x, y, w);
}

extern "C" __global__ void GLOBAL(upsample)(size_t n, const REAL *x, REAL *y,
                                            struct kernel_window w, int bilinear, int align_corners)
{
    GRID_LOOP(i, n)
    NAME(upsample)(i, x, y, w, bilinear, align_corners);
}

extern "C" __global__ void GLOBAL(reflect_pad)(size_t n, const REAL *x, REAL *y,
                                               struct kernel_window w)
{
    GRID_LOOP(i, n)
    NAME(reflect_pad)(i, x, y, w);
}

extern "C" __global__ void GLOBAL(embedding)(size_t n, const int *tokens, const REAL *table,
                                             REAL *y, int width)
{
    GRID_LOOP(i, n)
    NAME(embedding)(i, tokens, table, y, width);
}

/* Over `length` elements `stride` apart: rows where that is 1, channels of images else. `scale`
 * multiplies the input first (attention). */
extern "C" __global__ void GLOBAL(softmax)(const REAL *x, REAL *y, int length, int stride,
                                           float scale)
{
    const size_t start =
        (size_t)blockIdx.x / stride * ((size_t)length * stride) + (size_t)blockIdx.x % stride;
    float most = -3.4e38F;
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x)
        most = fmaxf(most, scale * LOAD(x[start + (size_t)k * stride]));
    most = block_max(most);
    float sum = 0;
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x)
        sum += expf(scale * LOAD(x[start + (size_t)k * stride]) - most);
    sum = block_sum(sum);
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x) {
        const size_t at = start + (size_t)k * stride;
        y[at] = STORE(expf(scale * LOAD(x[at]) - most) / sum);
    }
}

__device__ static inline void NAME(normalise)(const REAL *x, REAL *y, int length, float epsilon,
                                              const float *scale, const float *shift,
                                              int by_element, int channel, int function, float low,
                                              float high)
{
    float sum = 0;
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x)
        sum += LOAD(x[k]);
    const float mean = block_sum(sum) / (float)length;
    sum = 0;
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x)
        sum += (LOAD(x[k]) - mean) * (LOAD(x[k]) - mean);
    const float root = rsqrtf(block_sum(sum) / (float)length + epsilon);
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x) {
        const int p = by_element ? k : channel;
        const float value = (LOAD(x[k]) - mean) * root * (scale == NULL ? 1.0F : scale[p]) +
                            (shift == NULL ? 0.0F : shift[p]);
        y[k] = STORE(NAME(activate)(value, function, low, high));
    }
}

extern "C" __global__ void GLOBAL(layer_norm)(const REAL *x, REAL *y, int length, float epsilon,
                                              const float *scale, const float *shift)
{
    const size_t start = (size_t)blockIdx.x * (size_t)length;
    NAME(normalise)(x + start, y + start, length, epsilon, scale, shift, 1, 0, KERNEL_NONE, 0, 0);
}

extern "C" __global__ void GLOBAL(instance_norm)(const REAL *x, REAL *y, int length, float epsilon,
                                                 const float *scale, const float *shift,
                                                 int channels, int function, float low, float high)
{
    const size_t start = (size_t)blockIdx.x * (size_t)length;
    NAME(normalise)
    (x + start, y + start, length, epsilon, scale, shift, 0, (int)(blockIdx.x % (unsigned)channels),
     function, low, high);
}

/* Mean of a row: global pooling. */
extern "C" __global__ void GLOBAL(mean)(const REAL *x, REAL *y, int length)
{
    const size_t start = (size_t)blockIdx.x * (size_t)length;
    float sum = 0;
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x)
        sum += LOAD(x[start + (size_t)k]);
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        y[blockIdx.x] = STORE(sum / (float)length);
}
