/* Device memory: addresses, order of accesses, copies. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/stand_in.h"

static const size_t total_bytes = (size_t)140 << 30;
static const size_t address_room = (size_t)4 << 40; /* address space; addresses are never reused */
static const size_t largest_copy = (size_t)1 << 20; /* larger copies are only checked */

enum { GRANULE = 256, PINNED = 64 };

size_t memory_total(void)
{
    return total_bytes;
}

/* ---- Addresses ----------------------------------------------------------------------- */

struct reading {
    const struct stream *stream;
    uint64_t operation;
};

struct allocation {
    CUdeviceptr base;
    size_t bytes;
    const struct stream *writer;
    uint64_t write;
    struct reading *readings;
    size_t reading_count;
};

static struct allocation *allocations; /* sorted by address */
static size_t allocation_count, allocation_room;
static void *pinned[PINNED];
static char *addresses;
static size_t addresses_used;
static long long *booked;
static long long booked_here;

/* The count of used device memory: in a file that processes share, or private to this process. */
static long long *open_books(void)
{
    static long long own;
    const char *path = getenv("STAND_IN_MEMORY");
    const int file = path == NULL ? -1 : open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0)
        return &own;
    void *shared = ftruncate(file, (off_t)sizeof *booked) != 0
                       ? MAP_FAILED
                       : mmap(NULL, sizeof *booked, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    (void)close(file);
    return shared == MAP_FAILED ? &own : shared;
}

bool memory_book(long long bytes)
{
    if (booked == NULL)
        booked = open_books();
    const long long now = __atomic_add_fetch(booked, bytes, __ATOMIC_SEQ_CST);
    if (bytes > 0 && now > (long long)total_bytes) {
        (void)__atomic_sub_fetch(booked, bytes, __ATOMIC_SEQ_CST);
        return false;
    }
    booked_here += bytes;
    return true;
}

void memory_check_leaks(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < allocation_count; i++)
        bytes += allocations[i].bytes;
    if (allocation_count > 0)
        fault("%zu allocations of %zu bytes were left", allocation_count, bytes);
    for (size_t i = 0; i < PINNED; i++)
        if (pinned[i] != NULL)
            fault("pinned memory was left");
}

/* Index of the first allocation above `at`. */
static size_t find_above(CUdeviceptr at)
{
    size_t low = 0;
    size_t high = allocation_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (allocations[middle].base > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct allocation *find_allocation(CUdeviceptr at, size_t bytes, const char *what)
{
    const size_t above = find_above(at);
    struct allocation *found = above == 0 ? NULL : &allocations[above - 1];
    if (found == NULL || at >= found->base + found->bytes) {
        fault("%s: %#llx is in no allocation", what, at);
        return NULL;
    }
    if (bytes > found->bytes - (size_t)(at - found->base)) {
        fault("%s: %zu bytes at %zu of an allocation of %zu", what, bytes,
              (size_t)(at - found->base), found->bytes);
        return NULL;
    }
    return found;
}

/* Maps pages between inaccessible guard pages. */
static CUdeviceptr map_memory(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = (bytes + page - 1) / page * page;
    const size_t used = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    if (addresses == NULL) {
        void *room =
            mmap(NULL, address_room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED)
            return 0;
        addresses = room;
    }
    if (addresses_used + pages + page > address_room ||
        mprotect(addresses + addresses_used, pages, PROT_READ | PROT_WRITE) != 0)
        return 0;
    /* Fills with NaN, in either precision, and not with zeros: a read before the first
     * write shows. */
    if (bytes <= largest_copy)
        memset(addresses + addresses_used, 0xff, pages);
    const CUdeviceptr at = (CUdeviceptr)(addresses + addresses_used + pages - used);
    addresses_used += pages + page;
    return at;
}

static bool add_allocation(CUdeviceptr base, size_t bytes)
{
    if (allocation_count == allocation_room) {
        const size_t room = allocation_room == 0 ? 256 : 2 * allocation_room;
        struct allocation *more = realloc(allocations, room * sizeof *more);
        if (more == NULL)
            return false;
        allocations = more;
        allocation_room = room;
    }
    const size_t at = find_above(base);
    memmove(&allocations[at + 1], &allocations[at], (allocation_count - at) * sizeof *allocations);
    allocations[at] = (struct allocation){.base = base, .bytes = bytes};
    allocation_count++;
    return true;
}

static CUresult allocate(CUdeviceptr *at, size_t bytes)
{
    if (bytes == 0)
        return refuse(CUDA_ERROR_INVALID_VALUE, "0 bytes");
    if (thread_captures())
        return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "while a stream is captured");
    if (!memory_book((long long)bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *at = map_memory(bytes);
    if (*at != 0 && add_allocation(*at, bytes))
        return CUDA_SUCCESS;
    (void)memory_book(-(long long)bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAlloc(CUdeviceptr *at, size_t bytes)
{
    CUresult result = enter("cuMemAlloc", NEED_CONTEXT);
    if (result == CUDA_SUCCESS)
        result = allocate(at, bytes);
    return leave(result);
}

/* ---- Order --------------------------------------------------------------------------- */

static bool is_under_way(const struct stream *stream, uint64_t operation)
{
    return stream != NULL && operation > stream->done;
}

static void check_order(const struct allocation *a, const struct stream *stream, bool write,
                        const char *what)
{
    if (a->writer != stream && is_under_way(a->writer, a->write))
        fault("%s: another stream may still be writing there", what);
    for (size_t i = 0; write && i < a->reading_count; i++)
        if (a->readings[i].stream != stream &&
            is_under_way(a->readings[i].stream, a->readings[i].operation))
            fault("%s: another stream may still be reading there", what);
}

static void note_reading(struct allocation *a, const struct stream *stream)
{
    size_t free_place = a->reading_count;
    for (size_t i = a->reading_count; i-- > 0;)
        if (a->readings[i].stream == stream ||
            !is_under_way(a->readings[i].stream, a->readings[i].operation))
            free_place = i;
    if (free_place == a->reading_count) {
        struct reading *more = realloc(a->readings, (free_place + 1) * sizeof *more);
        if (more == NULL)
            return;
        a->readings = more;
        a->reading_count++;
    }
    a->readings[free_place] = (struct reading){stream, stream->issued + 1};
}

/* The access belongs to the operation that is enqueued next. */
bool memory_access(struct stream *stream, CUdeviceptr at, size_t bytes, bool write,
                   const char *what)
{
    struct allocation *a = find_allocation(at, bytes, what);
    if (a == NULL)
        return false;
    check_order(a, stream, write, what);
    if (write) {
        a->writer = stream;
        a->write = stream->issued + 1;
    } else {
        note_reading(a, stream);
    }
    return true;
}

bool memory_aligned(CUdeviceptr at, size_t to, const char *what)
{
    if (at % to == 0)
        return true;
    fault("%s: %#llx is not aligned to %zu bytes", what, at, to);
    return false;
}

/* For memory not allocated in stream order, the driver waits for unfinished work before
 * it frees. */
static CUresult free_allocation(CUdeviceptr at)
{
    const size_t above = find_above(at);
    struct allocation *a = above == 0 ? NULL : &allocations[above - 1];
    if (a == NULL || a->base != at)
        return refuse(CUDA_ERROR_INVALID_VALUE, "%#llx is not the begin of an allocation", at);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = (a->bytes + page - 1) / page * page;
    char *begin = (char *)(at & ~(CUdeviceptr)(page - 1));
    (void)madvise(begin, pages, MADV_DONTNEED);
    (void)mprotect(begin, pages, PROT_NONE);
    (void)memory_book(-(long long)a->bytes);
    free(a->readings);
    allocation_count--;
    memmove(a, a + 1, (size_t)(&allocations[allocation_count] - a) * sizeof *a);
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr at)
{
    CUresult result = enter("cuMemFree", NEED_CONTEXT);
    if (result == CUDA_SUCCESS)
        result = free_allocation(at);
    return leave(result);
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    const CUresult result = enter("cuMemGetInfo", NEED_CONTEXT);
    if (result == CUDA_SUCCESS) {
        *total = total_bytes;
        *free_bytes = total_bytes - (size_t)__atomic_load_n(booked, __ATOMIC_SEQ_CST);
    }
    return leave(result);
}

/* ---- Memory of the host ---------------------------------------------------------------------- */

CUresult cuMemAllocHost(void **at, size_t bytes)
{
    const CUresult result = enter("cuMemAllocHost", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    size_t place = 0;
    while (place < PINNED && pinned[place] != NULL)
        place++;
    *at = bytes == 0 || place == PINNED ? NULL : malloc(bytes);
    if (*at == NULL)
        return leave(refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes", bytes));
    pinned[place] = *at;
    return leave(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void *at)
{
    const CUresult result = enter("cuMemFreeHost", NEED_CONTEXT);
    if (result != CUDA_SUCCESS)
        return leave(result);
    for (size_t i = 0; i < PINNED; i++)
        if (at != NULL && pinned[i] == at) {
            free(at);
            pinned[i] = NULL;
            return leave(CUDA_SUCCESS);
        }
    return leave(refuse(CUDA_ERROR_INVALID_VALUE, "%p is no pinned memory", at));
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* 20 ms per gigabyte plus 0.01 ms per copy. */
static double copy_ms(size_t bytes)
{
    return 0.01 + (double)bytes / 5e7;
}

/* Reads all of the source, but writes the destination only if the copy is small. */
static void move_bytes(void *to, const void *from, size_t bytes)
{
    if (bytes <= largest_copy) {
        memmove(to, from, bytes);
        return;
    }
    ((char *)to)[0] = ((const char *)from)[0];
    ((char *)to)[bytes - 1] = ((const char *)from)[bytes - 1];
}

struct copy {
    CUdeviceptr to, from; /* 0: on the host */
    void *to_host;
    const void *from_host;
    size_t bytes;
};

static bool run_copy(struct stream *stream, const void *data)
{
    const struct copy *c = data;
    if ((c->to != 0 && !memory_access(stream, c->to, c->bytes, true, "destination")) ||
        (c->from != 0 && !memory_access(stream, c->from, c->bytes, false, "source")))
        return false;
    move_bytes(c->to == 0 ? c->to_host : (void *)c->to,
               c->from == 0 ? c->from_host : (const void *)c->from, c->bytes);
    stream_issue(stream, 0, copy_ms(c->bytes));
    return true;
}

static CUresult copy(struct stream *stream, CUdeviceptr to, CUdeviceptr from, void *to_host,
                     const void *from_host, size_t bytes)
{
    const struct copy c = {to, from, to_host, from_host, bytes};
    if (stream == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((to == 0 && to_host == NULL) || (from == 0 && from_host == NULL))
        return refuse(CUDA_ERROR_INVALID_VALUE, "no address");
    if (thread_captures() && (stream->is_null || to == 0 || from == 0))
        return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "while a stream is captured");
    if (stream_records(stream, run_copy, &c, sizeof c))
        return CUDA_SUCCESS;
    return run_copy(stream, &c) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* From pageable memory, the call may return before the last bytes have reached the device. */
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    CUresult result = enter("cuMemcpyHtoD", NEED_CONTEXT);
    if (result == CUDA_SUCCESS)
        result = copy(stream_find(NULL), to, 0, NULL, from, bytes);
    return leave(result);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    CUresult result = enter("cuMemcpyDtoH", NEED_CONTEXT);
    struct stream *stream = result == CUDA_SUCCESS ? stream_find(NULL) : NULL;
    if (result == CUDA_SUCCESS)
        result = copy(stream, 0, from, to, NULL, bytes);
    double until_ms = 0;
    if (result == CUDA_SUCCESS) {
        stream_done(stream, stream->issued, stream->end_ms);
        until_ms = stream->end_ms;
    }
    (void)leave(result);
    if (result == CUDA_SUCCESS)
        wait_until(until_ms);
    return result;
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CUresult result = enter("cuMemcpyDtoD", NEED_CONTEXT);
    if (result == CUDA_SUCCESS)
        result = copy(stream_find(NULL), to, from, NULL, NULL, bytes);
    return leave(result);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    CUresult result = enter("cuMemcpyHtoDAsync", NEED_CONTEXT);
    if (result == CUDA_SUCCESS)
        result = copy(stream_find(stream), to, 0, NULL, from, bytes);
    return leave(result);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CUresult result = enter("cuMemcpyDtoHAsync", NEED_CONTEXT);
    if (result == CUDA_SUCCESS)
        result = copy(stream_find(stream), 0, from, to, NULL, bytes);
    return leave(result);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CUresult result = enter("cuMemcpyDtoDAsync", NEED_CONTEXT);
    if (result == CUDA_SUCCESS)
        result = copy(stream_find(stream), to, from, NULL, NULL, bytes);
    return leave(result);
}
