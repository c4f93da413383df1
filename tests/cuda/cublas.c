/* cuBLAS: matrix products in column-major order. */
#include "tests/cuda/stand_in.h"

static const long long workspace_bytes = 32LL << 20; /* a handle's default on this architecture */

static cublasStatus_t leave_with(cublasStatus_t status)
{
    (void)leave(CUDA_SUCCESS);
    return status;
}

static cublasStatus_t enter_cublas(const char *function)
{
    return enter(function, NEED_CONTEXT) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS
                                                         : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* ---- Handles --------------------------------------------------------------------------------- */

cublasStatus_t cublasCreate(cublasHandle_t *place)
{
    const cublasStatus_t status = enter_cublas("cublasCreate");
    if (status != CUBLAS_STATUS_SUCCESS)
        return leave_with(status);
    if (settings()->refuse_create && current_context()->green)
        return leave_with(CUBLAS_STATUS_NOT_SUPPORTED);
    struct library_handle *made =
        memory_book(workspace_bytes) ? handle_create(HANDLE_CUBLAS, sizeof *made) : NULL;
    if (made == NULL)
        return leave_with(CUBLAS_STATUS_ALLOC_FAILED);
    made->context = current_context();
    *place = (cublasHandle_t)(void *)made;
    return leave_with(CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    const cublasStatus_t status = enter_cublas("cublasDestroy");
    if (status != CUBLAS_STATUS_SUCCESS)
        return leave_with(status);
    struct library_handle *found = library_find(handle, HANDLE_CUBLAS);
    if (found == NULL)
        return leave_with(CUBLAS_STATUS_NOT_INITIALIZED);
    found->handle.alive = false;
    (void)memory_book(-workspace_bytes);
    return leave_with(CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version)
{
    const cublasStatus_t status = enter_cublas("cublasGetVersion");
    if (status != CUBLAS_STATUS_SUCCESS)
        return leave_with(status);
    if (library_find(handle, HANDLE_CUBLAS) == NULL)
        return leave_with(CUBLAS_STATUS_NOT_INITIALIZED);
    *version = CUBLAS_VERSION;
    return leave_with(CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    const cublasStatus_t status = enter_cublas("cublasSetStream");
    if (status != CUBLAS_STATUS_SUCCESS)
        return leave_with(status);
    struct library_handle *found = library_find(handle, HANDLE_CUBLAS);
    if (found == NULL || (stream != NULL && handle_find(stream, HANDLE_STREAM) == NULL))
        return leave_with(CUBLAS_STATUS_NOT_INITIALIZED);
    found->stream = stream;
    found->workspace = false; /* cuBLAS returns to its own workspace */
    return leave_with(CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    const cublasStatus_t status = enter_cublas("cublasSetWorkspace");
    if (status != CUBLAS_STATUS_SUCCESS)
        return leave_with(status);
    struct library_handle *found = library_find(handle, HANDLE_CUBLAS);
    if (found == NULL || !memory_aligned((CUdeviceptr)workspace, 256, "the workspace"))
        return leave_with(CUBLAS_STATUS_INVALID_VALUE);
    if (bytes < (size_t)workspace_bytes)
        fault("a workspace of %zu bytes", bytes);
    found->workspace = true;
    return leave_with(CUBLAS_STATUS_SUCCESS);
}

/* ---- Products -------------------------------------------------------------------------------- */

/* Parameters common to all three calls. */
struct gemm {
    struct product shape;
    cudaDataType type[3];
    const float *alpha, *beta;
    cublasComputeType_t compute;
};

static bool check_gemm(const struct gemm *g)
{
    const struct product *m = &g->shape;
    if (m->rows < 1 || m->columns < 1 || m->inner < 1 ||
        m->pitch_a < (m->turn_a ? m->inner : m->rows) ||
        m->pitch_b < (m->turn_b ? m->columns : m->inner) || m->pitch_c < m->rows) {
        fault("%d x %d x %d with rows apart by %d, %d, %d", m->rows, m->columns, m->inner,
              m->pitch_a, m->pitch_b, m->pitch_c);
        return false;
    }
    if (g->type[0] != g->type[1] || g->type[0] != g->type[2] ||
        (g->type[0] != CUDA_R_16F && g->type[0] != CUDA_R_32F) ||
        g->compute != CUBLAS_COMPUTE_32F || *g->alpha != 1 || *g->beta != 0) {
        fault("types or factors that are not made up for");
        return false;
    }
    return true;
}

/* Alignment that a product needs. If the addresses are in an array on the device, cuBLAS cannot
 * inspect them before it chooses a kernel. It then loads eight halves at once if the inner
 * dimension is a multiple of eight, two if it is even, and four floats (documentation of the
 * batched products). */
static size_t alignment_of(const struct product *m, bool listed)
{
    if (!listed)
        return m->half ? 2 : 4;
    if (m->half)
        return m->inner % 8 == 0 ? 16 : m->inner % 2 == 0 ? 4 : 2;
    return m->inner % 4 == 0 ? 16 : 4;
}

static bool check_matrices(const struct product *m, struct stream *stream, bool listed,
                           const void *a, const void *b, const void *c)
{
    const size_t element = m->half ? 2 : 4;
    const struct {
        const void *at;
        int rows, columns, pitch;
        bool write;
        const char *what;
    } all[] = {
        {a, m->turn_a ? m->inner : m->rows, m->turn_a ? m->rows : m->inner, m->pitch_a, false, "A"},
        {b, m->turn_b ? m->columns : m->inner, m->turn_b ? m->inner : m->columns, m->pitch_b, false,
         "B"},
        {c, m->rows, m->columns, m->pitch_c, true, "C"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const size_t bytes =
            ((size_t)(all[i].columns - 1) * (size_t)all[i].pitch + (size_t)all[i].rows) * element;
        if (!memory_aligned((CUdeviceptr)all[i].at, alignment_of(m, listed), all[i].what) ||
            !memory_access(stream, (CUdeviceptr)all[i].at, bytes, all[i].write, all[i].what))
            return false;
    }
    return true;
}

static bool multiply(const struct product *m, struct stream *stream, bool listed, const void *a,
                     const void *b, void *c)
{
    if (!check_matrices(m, stream, listed, a, b, c))
        return false;
    if ((double)m->rows * m->columns * m->inner <= settings()->compute)
        product_run(m, a, b, c);
    return true;
}

/* The products of one call. Their addresses differ by strides, or come from arrays on
 * the device. */
struct call {
    struct product shape;
    const char *a, *b;
    char *c;
    long long stride_a, stride_b, stride_c; /* bytes */
    bool listed;
    int batch;
};

/* Reads the addresses from the device. The array is small enough that its copy was carried out. */
static bool run_listed(struct stream *stream, const struct call *call)
{
    const void *const *a = (const void *const *)(const void *)call->a;
    const void *const *b = (const void *const *)(const void *)call->b;
    void *const *c = (void *const *)(void *)call->c;
    const size_t bytes = (size_t)call->batch * sizeof(void *);
    if (!memory_access(stream, (CUdeviceptr)a, bytes, false, "addresses of A") ||
        !memory_access(stream, (CUdeviceptr)b, bytes, false, "addresses of B") ||
        !memory_access(stream, (CUdeviceptr)c, bytes, false, "addresses of C"))
        return false;
    for (int i = 0; i < call->batch; i++)
        if (!multiply(&call->shape, stream, true, a[i], b[i], c[i]))
            return false;
    return true;
}

static bool run_call(struct stream *stream, const void *data)
{
    const struct call *call = data;
    const struct product *m = &call->shape;
    if (call->listed && !run_listed(stream, call))
        return false;
    for (long long i = 0; !call->listed && i < call->batch; i++)
        if (!multiply(m, stream, false, call->a + i * call->stride_a, call->b + i * call->stride_b,
                      call->c + i * call->stride_c))
            return false;
    stream_issue(stream, (double)m->rows * m->columns * m->inner * call->batch,
                 settings()->floor_ms);
    count_launch();
    return true;
}

static cublasStatus_t execute(cublasHandle_t handle, const struct gemm *g, const struct call *call)
{
    const struct library_handle *library = library_find(handle, HANDLE_CUBLAS);
    struct stream *stream = library == NULL || !check_gemm(g) ? NULL : stream_find(library->stream);
    if (stream == NULL || call->batch < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (library_refuses(stream))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (thread_captures() && !library->workspace)
        fault("cuBLAS allocates while a stream is captured: it was given no workspace");
    if (stream_records(stream, run_call, call, sizeof *call))
        return CUBLAS_STATUS_SUCCESS;
    return run_call(stream, call) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

static struct gemm read_gemm(cublasOperation_t turn_a, cublasOperation_t turn_b, int rows,
                             int columns, int inner, cudaDataType type)
{
    return (struct gemm){.shape = {.half = type == CUDA_R_16F,
                                   .turn_a = turn_a == CUBLAS_OP_T,
                                   .turn_b = turn_b == CUBLAS_OP_T,
                                   .rows = rows,
                                   .columns = columns,
                                   .inner = inner}};
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t turn_a,
                            cublasOperation_t turn_b, int rows, int columns, int inner,
                            const void *alpha, const void *a, cudaDataType type_a, int pitch_a,
                            const void *b, cudaDataType type_b, int pitch_b, const void *beta,
                            void *c, cudaDataType type_c, int pitch_c, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm)
{
    const cublasStatus_t status = enter_cublas("cublasGemmEx");
    (void)algorithm;
    if (status != CUBLAS_STATUS_SUCCESS)
        return leave_with(status);
    struct gemm g = read_gemm(turn_a, turn_b, rows, columns, inner, type_a);
    g.shape.pitch_a = pitch_a;
    g.shape.pitch_b = pitch_b;
    g.shape.pitch_c = pitch_c;
    g = (struct gemm){g.shape, {type_a, type_b, type_c}, alpha, beta, compute};
    const struct call call = {.shape = g.shape, .a = a, .b = b, .c = c, .batch = 1};
    return leave_with(execute(handle, &g, &call));
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t turn_a, cublasOperation_t turn_b, int rows,
    int columns, int inner, const void *alpha, const void *a, cudaDataType type_a, int pitch_a,
    long long stride_a, const void *b, cudaDataType type_b, int pitch_b, long long stride_b,
    const void *beta, void *c, cudaDataType type_c, int pitch_c, long long stride_c, int batch,
    cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    const cublasStatus_t status = enter_cublas("cublasGemmStridedBatchedEx");
    (void)algorithm;
    if (status != CUBLAS_STATUS_SUCCESS)
        return leave_with(status);
    struct gemm g = read_gemm(turn_a, turn_b, rows, columns, inner, type_a);
    g.shape.pitch_a = pitch_a;
    g.shape.pitch_b = pitch_b;
    g.shape.pitch_c = pitch_c;
    g = (struct gemm){g.shape, {type_a, type_b, type_c}, alpha, beta, compute};
    const long long element = g.shape.half ? 2 : 4;
    const struct call call = {.shape = g.shape,
                              .a = a,
                              .b = b,
                              .c = c,
                              .stride_a = stride_a * element,
                              .stride_b = stride_b * element,
                              .stride_c = stride_c * element,
                              .batch = batch};
    return leave_with(execute(handle, &g, &call));
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t turn_a,
                                   cublasOperation_t turn_b, int rows, int columns, int inner,
                                   const void *alpha, const void *const *a, cudaDataType type_a,
                                   int pitch_a, const void *const *b, cudaDataType type_b,
                                   int pitch_b, const void *beta, void *const *c,
                                   cudaDataType type_c, int pitch_c, int batch,
                                   cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    const cublasStatus_t status = enter_cublas("cublasGemmBatchedEx");
    (void)algorithm;
    if (status != CUBLAS_STATUS_SUCCESS)
        return leave_with(status);
    struct gemm g = read_gemm(turn_a, turn_b, rows, columns, inner, type_a);
    g.shape.pitch_a = pitch_a;
    g.shape.pitch_b = pitch_b;
    g.shape.pitch_c = pitch_c;
    g = (struct gemm){g.shape, {type_a, type_b, type_c}, alpha, beta, compute};
    const struct call call = {.shape = g.shape,
                              .a = (const void *)a,
                              .b = (const void *)b,
                              .c = (void *)(uintptr_t)c,
                              .listed = true,
                              .batch = batch};
    return leave_with(execute(handle, &g, &call));
}
