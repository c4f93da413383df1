/* The memory of one run, of one report, or of what is loaded from a file.
 *
 * All blocks of an arena are released together, at its end. An allocation does not fail: when
 * memory is exhausted, `exhausted` ends what the arena belongs to. Users therefore test nothing and
 * release nothing. A block that is no longer needed can be given back early.
 */
#ifndef ESGSIM_SIM_BASE_ARENA_H
#define ESGSIM_SIM_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

/* Zeroed, it is empty and ready. Not to be copied or moved while it has blocks. */
struct arena {
    struct arena_block *blocks; /* all of them, newest first */
    /* Called when `count` entries of `size` bytes do not fit into memory. Must not return: it jumps
     * out of the allocation or ends the process. NULL: abort(). */
    void (*exhausted)(void *context, size_t count, size_t size);
    void *context;
};

/* A block of `count` × `size` bytes, all 0. Never NULL, also for no bytes. */
void *arena_allocate(struct arena *arena, size_t count, size_t size);

/* The same with a copy of what is at `from`. */
void *arena_copy(struct arena *arena, const void *from, size_t count, size_t size);

/* Ends `thing` by `end` when the arena's blocks are released: what a library has allocated. */
void arena_adopt(struct arena *arena, void *thing, void (*end)(void *thing));

/* Resizes a block of the arena to `count` × `size` bytes; bytes beyond its old size are 0. `memory`
 * is where the block begins; NULL: a new one. The block may move. */
void *arena_reallocate(struct arena *arena, void *memory, size_t count, size_t size);

/* Makes room for `wanted` entries of `size` bytes in a growing array. `array` is the address of the
 * variable that points to its entries: NULL at first, else a block of the arena. The array at least
 * doubles if it is too small, so that an entry costs O(1) on average. New entries are 0. */
void arena_reserve(struct arena *arena, void *array, size_t wanted, size_t size);

/* The next entry of such an array, which it counts: *ARENA_NEXT(arena, list, count) = entry.
 * `array` and `count` are variables. */
#define ARENA_NEXT(arena, array, count)                                                            \
    (arena_reserve(arena, &(array), (size_t)(count) + 1, sizeof *(array)), &(array)[(count)++])

/* Entries of `size` bytes for which a growing array has room. */
size_t arena_room(const void *entries, size_t size);

/* What an allocation does that does not fit. For memory that a library could not get. */
_Noreturn void arena_exhaust(const struct arena *arena, size_t count, size_t size);

/* Gives the block at `memory` back early. No effect for NULL. */
void arena_release(struct arena *arena, void *memory);

/* Releases all blocks allocated since `arena->blocks` was `mark`, which still exists. O(blocks). */
void arena_rewind(struct arena *arena, const struct arena_block *mark);

/* Releases all blocks. O(blocks). */
void arena_clear(struct arena *arena);

/* An arena for work that holds nothing worth keeping when memory is exhausted: it then removes the
 * unfinished files (unfinished.h), says so on standard error, and ends the process with status 1.
 * End it with arena_destroy (NULL allowed). */
struct arena *arena_create(void);
/* The same, with `size` bytes in it, all 0, of a structure whose first member points to the arena.
 */
void *arena_home(size_t size);
/* Ends the arena of such a structure, and it. NULL: nothing. */
void arena_home_free(void *home);
void arena_destroy(struct arena *arena);

/* A text of the arena; and the same added to a text, which is NULL at first. O(length). */
char *arena_text(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void arena_append(struct arena *arena, char **text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void arena_append_of(struct arena *arena, char **text, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
