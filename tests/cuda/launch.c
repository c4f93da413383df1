/* Kernel launches, and esgsim's kernels: the built machine code is inspected but not executed. */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/stand_in.h"
#include "traces/capture/executor/kernels.h"

enum { MACHINE_CODE = 2, INTERMEDIATE = 1, ARCHITECTURE = 90 };

/* The layout of nvcc's fat binaries: a header, followed by entries. */
struct fatbin {
    uint32_t magic;
    uint16_t version, header;
    uint64_t bytes; /* following the header */
};

struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header;
    uint64_t bytes; /* following the header */
    uint32_t packed, unknown;
    uint16_t minor, major;
    uint32_t architecture;
};

struct library {
    struct handle handle;
    const char *code; /* for this architecture */
    size_t bytes;
};

struct kernel {
    struct handle handle;
    struct library *library;
    int index;
    bool loaded; /* the first launch loads its code */
    char name[64];
};

/* The fat binary's entry that a device of ARCHITECTURE uses: its machine code, otherwise
 * intermediate code of the same or an older architecture. */
static bool find_code(const char *image, const char **code, size_t *bytes)
{
    struct fatbin head;
    memcpy(&head, image, sizeof head);
    if (head.magic != 0xba55ed50U || head.header < sizeof head)
        return false;
    bool found = false;
    for (uint64_t at = 0; at + sizeof(struct fatbin_entry) <= head.bytes && !found;) {
        struct fatbin_entry entry;
        memcpy(&entry, image + head.header + at, sizeof entry);
        found = (entry.kind == MACHINE_CODE && entry.architecture == ARCHITECTURE) ||
                (entry.kind == INTERMEDIATE && entry.architecture <= ARCHITECTURE);
        *code = image + head.header + at + entry.header;
        *bytes = (size_t)entry.bytes;
        at += entry.header + entry.bytes;
    }
    return found;
}

CUresult cuLibraryLoadData(CUlibrary *place, const void *code, CUjit_option *options, void **values,
                           unsigned count, CUlibraryOption *library_options, void **library_values,
                           unsigned library_count)
{
    const CUresult result = enter("cuLibraryLoadData", NEED_CONTEXT);
    const char *found = NULL;
    size_t bytes = 0;
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (options != NULL || values != NULL || count != 0 || library_options != NULL ||
        library_values != NULL || library_count != 0)
        return leave(refuse(CUDA_ERROR_INVALID_VALUE, "options are not made up for"));
    if (!find_code(code, &found, &bytes))
        return leave(refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "nothing for compute capability 9.0"));
    struct library *library = handle_create(HANDLE_LIBRARY, sizeof *library);
    if (library == NULL)
        return leave(CUDA_ERROR_OUT_OF_MEMORY);
    library->code = found;
    library->bytes = bytes;
    *place = (CUlibrary)(void *)library;
    return leave(CUDA_SUCCESS);
}

CUresult cuLibraryUnload(CUlibrary handle)
{
    const CUresult result = enter("cuLibraryUnload", NEED_CONTEXT);
    const void *library = result == CUDA_SUCCESS ? handle_end(handle, HANDLE_LIBRARY) : NULL;
    if (result != CUDA_SUCCESS)
        return leave(result);
    return leave(library == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

CUresult cuLibraryGetKernel(CUkernel *place, CUlibrary handle, const char *name)
{
    char symbol[80];
    const CUresult result = enter("cuLibraryGetKernel", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    struct library *library = handle_find(handle, HANDLE_LIBRARY);
    if (library == NULL)
        return leave(CUDA_ERROR_INVALID_HANDLE);
    (void)snprintf(symbol, sizeof symbol, ".text.%s", name);
    if (kernel_find(name) < 0 ||
        memmem(library->code, library->bytes, symbol, strlen(symbol) + 1) == NULL)
        return leave(refuse(CUDA_ERROR_NOT_FOUND, "no kernel %s", name));
    struct kernel *kernel = handle_create(HANDLE_KERNEL, sizeof *kernel);
    if (kernel == NULL)
        return leave(CUDA_ERROR_OUT_OF_MEMORY);
    kernel->library = library;
    kernel->index = kernel_find(name);
    (void)snprintf(kernel->name, sizeof kernel->name, "%s", name);
    *place = (CUkernel)(void *)kernel;
    return leave(CUDA_SUCCESS);
}

/* ---- Launches -------------------------------------------------------------------------------- */

static bool check_extents(struct stream *stream, const struct kernel *kernel,
                          const struct touched *touched)
{
    char what[96];
    for (size_t i = 0; i < touched->count; i++) {
        const struct extent *extent = &touched->extents[i];
        (void)snprintf(what, sizeof what, "%s, %s", kernel->name, extent->what);
        if (extent->at == 0 && strcmp(extent->what, "scale") != 0 &&
            strcmp(extent->what, "shift") != 0) {
            fault("%s is NULL", what);
            return false;
        }
        if (extent->at != 0 &&
            !memory_access(stream, extent->at, extent->bytes, extent->write, what))
            return false;
    }
    return true;
}

/* Runs the blocks on the multiprocessors of the stream's context, and on extra ones
 * if requested. */
static void place(const struct stream *stream)
{
    unsigned multiprocessors[STAND_IN_SMS];
    unsigned count = 0;
    unsigned long more =
        current_context()->green ? settings()->wrong_by_context : settings()->wrong_by_stream;
    for (unsigned i = 0; i < STAND_IN_SMS; i++) {
        const bool own =
            !stream->context->green || (stream->context->groups >> i / STAND_IN_SMS_GROUP & 1) != 0;
        if (own || more > 0)
            multiprocessors[count++] = i;
        more -= !own && more > 0;
    }
    kernel_place(multiprocessors, count);
}

/* Probe kernels are always computed, whatever STAND_IN_COMPUTE is. */
static bool is_probe(const struct kernel *kernel)
{
    return strncmp(kernel->name, "probe_", 6) == 0;
}

static double spin_ms(const struct kernel *kernel, void **parameters)
{
    return strcmp(kernel->name, "probe_spin") == 0 ? (double)*(uint64_t *)parameters[0] / 1e6 : 0;
}

/* A launch with a copy of its parameters. */
struct launch {
    struct kernel *kernel;
    unsigned blocks, threads;
    struct kernel_window values[PARAMETERS]; /* large enough for any parameter */
};

static bool run_launch(struct stream *stream, const void *data)
{
    enum { THREADS = 256 }; /* block size assumed by block_sum and block_max of the kernels */
    struct launch l = *(const struct launch *)data;
    void *parameters[PARAMETERS];
    for (size_t i = 0; i < PARAMETERS; i++)
        parameters[i] = &l.values[i];
    const struct touched touched = kernel_touches(l.kernel->index, parameters, l.blocks);
    if (touched.by_row && l.threads != THREADS)
        fault("%s: blocks of %u threads", l.kernel->name, l.threads);
    if (touched.elements < 1)
        fault("%s: nothing to do", l.kernel->name);
    if (!check_extents(stream, l.kernel, &touched))
        return false;
    place(stream);
    if ((is_probe(l.kernel) || touched.elements <= settings()->compute) &&
        !kernel_run(l.kernel->index, parameters, l.blocks, l.threads, touched.by_row))
        fault("%s: threads wait for others that have ended", l.kernel->name);
    stream_issue(stream, 0, settings()->floor_ms + spin_ms(l.kernel, parameters));
    count_launch();
    return true;
}

static CUresult launch(struct kernel *kernel, struct stream *stream, unsigned blocks,
                       unsigned threads, void **parameters)
{
    struct launch l = {kernel, blocks, threads, {{0}}};
    size_t sizes[PARAMETERS];
    if (kernel == NULL || stream == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!kernel->library->handle.alive)
        return refuse(CUDA_ERROR_INVALID_HANDLE, "%s: its library was unloaded", kernel->name);
    if (blocks == 0 || blocks > INT32_MAX || threads == 0 || threads > 1024)
        return refuse(CUDA_ERROR_INVALID_VALUE, "%s: %u blocks of %u threads", kernel->name, blocks,
                      threads);
    const size_t count = kernel_parameters(kernel->index, sizes);
    for (size_t i = 0; i < count; i++)
        memcpy(&l.values[i], parameters[i], sizes[i]);
    if (thread_captures() && !kernel->loaded)
        fault("%s: its code is loaded while a stream is captured", kernel->name);
    kernel->loaded = true;
    if (stream_records(stream, run_launch, &l, sizeof l))
        return CUDA_SUCCESS;
    return run_launch(stream, &l) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult cuLaunchKernel(CUfunction kernel, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                        unsigned threads_x, unsigned threads_y, unsigned threads_z,
                        unsigned shared_bytes, CUstream stream, void **parameters, void **extra)
{
    CUresult result = enter("cuLaunchKernel", NEED_CONTEXT);
    if (result == CUDA_SUCCESS &&
        (blocks_y != 1 || blocks_z != 1 || threads_y != 1 || threads_z != 1 || shared_bytes != 0 ||
         parameters == NULL || extra != NULL))
        result = refuse(CUDA_ERROR_INVALID_VALUE, "not how our kernels are launched");
    if (result == CUDA_SUCCESS)
        result = launch(handle_find(kernel, HANDLE_KERNEL), stream_find(stream), blocks_x,
                        threads_x, parameters);
    return leave(result);
}
