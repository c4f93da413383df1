/* The kernels of one precision. kernels.cu includes this file once per precision, so it has no
 * include guard. */

/* The elements that a thread loads at once, so that enough memory requests are in flight. */
struct alignas(16) NAME(pack) {
    REAL v[KERNEL_PACK];
};

extern "C" __global__ void GLOBAL(affine)(size_t n, const REAL *x, REAL *y, const float *scale,
                                          const float *shift, int channels, int inner, int function,
                                          float low, float high)
{
    GRID_LOOP(i, (n + KERNEL_PACK - 1) / KERNEL_PACK)
    {
        const size_t first = i * KERNEL_PACK;
        if (n - first < KERNEL_PACK) {
            NAME(affine)
            (first, n - first, x + first, y + first, scale, shift, channels, inner, function, low,
             high);
            return;
        }
        NAME(pack) p = reinterpret_cast<const NAME(pack) *>(x)[i];
        NAME(affine)
        (first, KERNEL_PACK, p.v, p.v, scale, shift, channels, inner, function, low, high);
        reinterpret_cast<NAME(pack) *>(y)[i] = p;
    }
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
    GRID_LOOP(i, (n + KERNEL_PACK - 1) / KERNEL_PACK)
    {
        const size_t first = i * KERNEL_PACK;
        if (n - first < KERNEL_PACK) {
            for (size_t k = first; k < n; k++)
                NAME(binary)(k, a, b, y, multiply, function, low, high);
            return;
        }
        NAME(pack) p = reinterpret_cast<const NAME(pack) *>(a)[i];
        const NAME(pack) q = reinterpret_cast<const NAME(pack) *>(b)[i];
        for (size_t k = 0; k < KERNEL_PACK; k++)
            NAME(binary)(k, p.v, q.v, p.v, multiply, function, low, high);
        reinterpret_cast<NAME(pack) *>(y)[i] = p;
    }
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

/* Softmax over `length` elements at distance `stride`: 1 for rows, otherwise over the channels of
 * images. `scale` multiplies the input first (attention). */
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

extern "C" __global__ void GLOBAL(layer_norm)(const REAL *x, REAL *y, int length, float epsilon,
                                              const float *scale, const float *shift)
{
    const size_t start = (size_t)blockIdx.x * (size_t)length;
    float sum = 0;
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x)
        sum += LOAD(x[start + k]);
    const float mean = block_sum(sum) / (float)length;
    sum = 0;
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x)
        sum += (LOAD(x[start + k]) - mean) * (LOAD(x[start + k]) - mean);
    const float root = rsqrtf(block_sum(sum) / (float)length + epsilon);
    for (int k = (int)threadIdx.x; k < length; k += (int)blockDim.x) {
        const float value = (LOAD(x[start + k]) - mean) * root * (scale == NULL ? 1.0F : scale[k]) +
                            (shift == NULL ? 0.0F : shift[k]);
        y[start + k] = STORE(value);
    }
}

/* Calls visit(value) for each element of the block's part. Writes the results to y unless y is
 * NULL. If a plane's length is a multiple of KERNEL_PACK, its parts begin at pack boundaries. */
template <typename Visit>
__device__ static inline void NAME(visit_part)(const REAL *x, REAL *y, int count, bool packed,
                                               Visit visit)
{
    int first = (int)threadIdx.x * KERNEL_PACK;
    for (; packed && first + KERNEL_PACK <= count; first += (int)blockDim.x * KERNEL_PACK) {
        NAME(pack) p = *reinterpret_cast<const NAME(pack) *>(x + first);
        for (int k = 0; k < KERNEL_PACK; k++)
            p.v[k] = STORE(visit(LOAD(p.v[k])));
        if (y != NULL)
            *reinterpret_cast<NAME(pack) *>(y + first) = p;
    }
    for (int k = (int)threadIdx.x; !packed && k < count; k += (int)blockDim.x) {
        const float value = visit(LOAD(x[k]));
        if (y != NULL)
            y[k] = STORE(value);
    }
}

/* Mean of each part of a plane, and the sum of squared deviations from that mean. */
extern "C" __global__ void GLOBAL(plane_sums)(const REAL *x, float2 *sums, int length, int parts)
{
    const struct part part = part_of(length, parts);
    const REAL *start = x + (size_t)(blockIdx.x / parts) * (size_t)length + part.first;
    const bool packed = length % KERNEL_PACK == 0;
    float sum = 0;
    NAME(visit_part)(start, NULL, part.count, packed, [&](float value) { return sum += value; });
    const float mean = block_sum(sum) / (float)(part.count > 0 ? part.count : 1);
    sum = 0;
    NAME(visit_part)
    (start, NULL, part.count, packed,
     [&](float value) { return sum += (value - mean) * (value - mean); });
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = {mean, sum};
}

/* Normalizes one part of a plane per block. Each block combines the sums of all parts, in order. */
extern "C" __global__ void GLOBAL(instance_norm)(const REAL *x, REAL *y, const float2 *sums,
                                                 int length, int parts, float epsilon,
                                                 const float *scale, const float *shift,
                                                 int channels, int function, float low, float high)
{
    const unsigned plane = blockIdx.x / parts;
    const struct part part = part_of(length, parts);
    const size_t start = (size_t)plane * (size_t)length + part.first;
    const float2 all = join_sums(sums + (size_t)plane * parts, length, parts);
    const float root = rsqrtf(all.y / (float)length + epsilon);
    const float factor = scale == NULL ? root : root * scale[plane % channels];
    const float offset = shift == NULL ? 0.0F : shift[plane % channels];
    NAME(visit_part)
    (x + start, y + start, part.count, length % KERNEL_PACK == 0, [&](float value) {
        return NAME(activate)((value - all.x) * factor + offset, function, low, high);
    });
}

/* Mean of each row (global pooling). */
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
