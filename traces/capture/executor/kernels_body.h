/* The work of one thread of each kernel: it computes one or more output elements from plain arrays.
 * The same text is compiled for the device, in two precisions, and for the processor, on which the
 * tests check it.
 *
 * The including file defines KERNEL (qualifiers), REAL (type of an element), NAME(x) (the name of x
 * in that precision), LOAD and STORE (conversion from and to float), and READ_ONLY (restrict).
 * There is no include guard: the file is included once per precision. All arithmetic is in float.
 */

/* Unary functions that may be fused behind a layer. */
KERNEL float NAME(activate)(float x, int function, float low, float high)
{
    switch (function) {
    case KERNEL_RELU:
        return x > 0 ? x : 0;
    case KERNEL_CLAMP: /* relu6: low 0, high 6 */
        return x < low ? low : x > high ? high : x;
    case KERNEL_SLOPE: /* leaky and parametric relu: `low` is the slope for negative x */
        return x > 0 ? x : low * x;
    case KERNEL_SIGMOID:
        return 1.0F / (1.0F + expf(-x));
    case KERNEL_TANH:
        return tanhf(x);
    case KERNEL_GELU: /* exact: half x (1 + erf(x / sqrt 2)) */
        return 0.5F * x * (1.0F + erff(x * 0.70710678F));
    default:
        return x;
    }
}

/* y = activate(x * scale[c] + shift[c]) for channel c. A NULL scale is 1, a NULL shift is 0.
 * Processes `count` consecutive elements, of which the first has index `first` in the tensor. Only
 * the first element's channel needs a division. The channels of the others follow by counting. */
KERNEL void NAME(affine)(size_t first, size_t count, const REAL *x, REAL *y, const float *scale,
                         const float *shift, int channels, int inner, int function, float low,
                         float high)
{
    const size_t plane = first / (size_t)inner;
    int at = (int)(first - plane * (size_t)inner);
    int c = (int)(plane % (size_t)channels);
    float factor = scale == NULL ? 1.0F : scale[c];
    float offset = shift == NULL ? 0.0F : shift[c];
    for (size_t k = 0; k < count; k++) {
        y[k] = STORE(NAME(activate)(LOAD(x[k]) * factor + offset, function, low, high));
        if (++at == inner) {
            at = 0;
            c = c + 1 == channels ? 0 : c + 1;
            factor = scale == NULL ? 1.0F : scale[c];
            offset = shift == NULL ? 0.0F : shift[c];
        }
    }
}

/* One slope per channel, or one slope for all if `channels` is 1. */
KERNEL void NAME(prelu)(size_t i, const REAL *x, REAL *y, const float *slopes, int channels,
                        int inner)
{
    const float value = LOAD(x[i]);
    const float slope = slopes[i / (size_t)inner % (size_t)channels];
    y[i] = STORE(value > 0 ? value : slope * value);
}

KERNEL void NAME(binary)(size_t i, const REAL *a, const REAL *b, REAL *y, int multiply,
                         int function, float low, float high)
{
    const float left = LOAD(a[i]);
    const float right = LOAD(b[i]);
    y[i] = STORE(NAME(activate)(multiply ? left * right : left + right, function, low, high));
}

/* Copies rows of `width` elements into rows of `pitch` elements, starting at column `offset`
 * (concatenation). With `gather` it copies in the other direction (selection of one token). */
KERNEL void NAME(rows)(size_t i, const REAL *x, REAL *y, int width, int pitch, int offset,
                       int gather)
{
    const size_t row = i / (size_t)width;
    const size_t column = i % (size_t)width;
    const size_t far = row * (size_t)pitch + (size_t)offset + column;
    if (gather)
        y[i] = x[far];
    else
        y[far] = x[i];
}

KERNEL void NAME(pool)(size_t i, const REAL *x, REAL *y, struct kernel_window w, int average,
                       int count_pad)
{
    const int column = (int)(i % (size_t)w.out_width);
    const int row = (int)(i / (size_t)w.out_width % (size_t)w.out_height);
    const size_t plane = i / ((size_t)w.out_width * (size_t)w.out_height);
    const REAL *image = x + plane * (size_t)w.in_height * (size_t)w.in_width;
    const int top = row * w.stride_height - w.pad_height;
    const int left = column * w.stride_width - w.pad_width;
    float best = -3.4e38F;
    float sum = 0;
    int count = 0;
    int padded_height = w.in_height + w.pad_height - top;
    int padded_width = w.in_width + w.pad_width - left;
    for (int r = top; r < top + w.kernel_height; r++)
        for (int c = left; c < left + w.kernel_width; c++) {
            if (r < 0 || c < 0 || r >= w.in_height || c >= w.in_width)
                continue;
            const float value = LOAD(image[(size_t)r * (size_t)w.in_width + (size_t)c]);
            best = value > best ? value : best;
            sum += value;
            count++;
        }
    /* The mean counts the padding, but not what rounding up the size adds beyond it. */
    if (count_pad) {
        padded_height = padded_height < w.kernel_height ? padded_height : w.kernel_height;
        padded_width = padded_width < w.kernel_width ? padded_width : w.kernel_width;
        count = padded_height * padded_width;
    }
    y[i] = STORE(average ? sum / (float)count : best);
}

KERNEL void NAME(pixel_shuffle)(size_t i, const REAL *x, REAL *y, struct kernel_window w)
{
    const int r = w.stride_height;
    const int column = (int)(i % (size_t)w.out_width);
    const int row = (int)(i / (size_t)w.out_width % (size_t)w.out_height);
    const size_t channel = i / ((size_t)w.out_width * (size_t)w.out_height);
    const size_t from = channel * (size_t)(r * r) + (size_t)(row % r * r + column % r);
    y[i] = x[(from * (size_t)w.in_height + (size_t)(row / r)) * (size_t)w.in_width +
             (size_t)(column / r)];
}

/* Maps an output coordinate to an input coordinate, as PyTorch's interpolate does. */
KERNEL float NAME(source)(int at, int in, int out, int align_corners)
{
    float place = 0;
    if (align_corners)
        return out > 1 ? (float)at * (float)(in - 1) / (float)(out - 1) : 0;
    place = ((float)at + 0.5F) * (float)in / (float)out - 0.5F;
    return place < 0 ? 0 : place;
}

KERNEL void NAME(upsample)(size_t i, const REAL *x, REAL *y, struct kernel_window w, int bilinear,
                           int align_corners)
{
    const int column = (int)(i % (size_t)w.out_width);
    const int row = (int)(i / (size_t)w.out_width % (size_t)w.out_height);
    const size_t plane = i / ((size_t)w.out_width * (size_t)w.out_height);
    const REAL *image = x + plane * (size_t)w.in_height * (size_t)w.in_width;
    if (!bilinear) {
        const size_t r = (size_t)row * (size_t)w.in_height / (size_t)w.out_height;
        const size_t c = (size_t)column * (size_t)w.in_width / (size_t)w.out_width;
        y[i] = image[r * (size_t)w.in_width + c];
        return;
    }
    const float down = NAME(source)(row, w.in_height, w.out_height, align_corners);
    const float along = NAME(source)(column, w.in_width, w.out_width, align_corners);
    const int r0 = (int)down;
    const int c0 = (int)along;
    const int r1 = r0 + (r0 < w.in_height - 1);
    const int c1 = c0 + (c0 < w.in_width - 1);
    const float fr = down - (float)r0;
    const float fc = along - (float)c0;
    const float upper = LOAD(image[(size_t)r0 * (size_t)w.in_width + (size_t)c0]) * (1 - fc) +
                        LOAD(image[(size_t)r0 * (size_t)w.in_width + (size_t)c1]) * fc;
    const float lower = LOAD(image[(size_t)r1 * (size_t)w.in_width + (size_t)c0]) * (1 - fc) +
                        LOAD(image[(size_t)r1 * (size_t)w.in_width + (size_t)c1]) * fc;
    y[i] = STORE(upper * (1 - fr) + lower * fr);
}

KERNEL int NAME(mirror)(int at, int size)
{
    if (at < 0)
        at = -at;
    return at >= size ? 2 * (size - 1) - at : at;
}

KERNEL void NAME(reflect_pad)(size_t i, const REAL *x, REAL *y, struct kernel_window w)
{
    const int column = (int)(i % (size_t)w.out_width);
    const int row = (int)(i / (size_t)w.out_width % (size_t)w.out_height);
    const size_t plane = i / ((size_t)w.out_width * (size_t)w.out_height);
    const int r = NAME(mirror)(row - w.pad_height, w.in_height);
    const int c = NAME(mirror)(column - w.pad_width, w.in_width);
    y[i] = x[(plane * (size_t)w.in_height + (size_t)r) * (size_t)w.in_width + (size_t)c];
}

KERNEL void NAME(embedding)(size_t i, const int *tokens, const REAL *table, REAL *y, int width)
{
    y[i] = table[(size_t)tokens[i / (size_t)width] * (size_t)width + i % (size_t)width];
}
