#include "sim/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/unfinished.h"

enum { ROOM_FIRST = 4 };

/* Precedes the caller's bytes, which are aligned for any type. */
struct arena_block {
    struct arena_block *next, *previous;
    size_t bytes;             /* of the caller */
    void (*end)(void *thing); /* of what the arena adopted, whose address is in the memory */
    alignas(max_align_t) char memory[];
};

static struct arena_block *block_of(const void *memory)
{
    char *first = NULL;
    memcpy(&first, &memory, sizeof first);
    return (struct arena_block *)(void *)(first - offsetof(struct arena_block, memory));
}

void arena_exhaust(const struct arena *arena, size_t count, size_t size)
{
    if (arena->exhausted != NULL)
        arena->exhausted(arena->context, count, size);
    abort();
}

/* Enters the block into the list; its neighbours are known. */
static void block_link(struct arena *arena, struct arena_block *block)
{
    if (block->previous != NULL)
        block->previous->next = block;
    else
        arena->blocks = block;
    if (block->next != NULL)
        block->next->previous = block;
}

void *arena_reallocate(struct arena *arena, void *memory, size_t count, size_t size)
{
    const size_t most = PTRDIFF_MAX - sizeof(struct arena_block);
    if (size > 0 && count > most / size)
        arena_exhaust(arena, count, size);
    struct arena_block *block = memory != NULL ? block_of(memory) : NULL;
    const size_t bytes = count * size;
    const size_t before = block != NULL ? block->bytes : 0;
    struct arena_block *larger = realloc(block, sizeof *block + bytes);
    if (larger == NULL)
        arena_exhaust(arena, count, size);
    if (block == NULL)
        *larger = (struct arena_block){.next = arena->blocks};
    larger->bytes = bytes;
    block_link(arena, larger);
    if (bytes > before)
        memset(larger->memory + before, 0, bytes - before);
    return larger->memory;
}

void *arena_allocate(struct arena *arena, size_t count, size_t size)
{
    const size_t most = PTRDIFF_MAX - sizeof(struct arena_block);
    if (size > 0 && count > most / size)
        arena_exhaust(arena, count, size);
    /* Not by realloc and memset: the system gives large blocks zeroed, page by page on use. */
    struct arena_block *block = calloc(1, sizeof *block + count * size);
    if (block == NULL)
        arena_exhaust(arena, count, size);
    block->bytes = count * size;
    block->next = arena->blocks;
    block_link(arena, block);
    return block->memory;
}

void *arena_copy(struct arena *arena, const void *from, size_t count, size_t size)
{
    void *copy = arena_allocate(arena, count, size);
    return count > 0 ? memcpy(copy, from, count * size) : copy;
}

void arena_adopt(struct arena *arena, void *thing, void (*end)(void *thing))
{
    void **place = arena_allocate(arena, 1, sizeof *place);
    *place = thing;
    block_of(place)->end = end;
}

size_t arena_room(const void *entries, size_t size)
{
    return entries != NULL ? block_of(entries)->bytes / size : 0;
}

void arena_reserve(struct arena *arena, void *array, size_t wanted, size_t size)
{
    /* Copied as bytes: the variable has the type of a pointer to the entries. */
    void *entries = NULL;
    memcpy(&entries, array, sizeof entries);
    const size_t room = arena_room(entries, size);
    if (wanted <= room)
        return;
    const size_t twice = room == 0 ? ROOM_FIRST : 2 * room;
    entries = arena_reallocate(arena, entries, wanted > twice ? wanted : twice, size);
    memcpy(array, &entries, sizeof entries);
}

void arena_release(struct arena *arena, void *memory)
{
    if (memory == NULL)
        return;
    struct arena_block *block = block_of(memory);
    if (block->end != NULL)
        block->end(*(void *const *)memory);
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        arena->blocks = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    free(block);
}

void arena_rewind(struct arena *arena, const struct arena_block *mark)
{
    while (arena->blocks != mark)
        arena_release(arena, arena->blocks->memory);
}

void arena_clear(struct arena *arena)
{
    arena_rewind(arena, NULL);
}

static void process_end(void *context, size_t count, size_t size)
{
    unfinished_remove_all();
    fprintf(stderr, "esgsim: out of memory for %zu x %zu bytes\n", count, size);
    _Exit(EXIT_FAILURE);
}

struct arena *arena_create(void)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL)
        process_end(NULL, 1, sizeof *arena);
    else
        arena->exhausted = process_end;
    return arena;
}

void *arena_home(size_t size)
{
    struct arena *arena = arena_create();
    return memcpy(arena_allocate(arena, 1, size), &arena, sizeof(struct arena *));
}

void arena_home_free(void *home)
{
    if (home != NULL)
        arena_destroy(*(struct arena **)home);
}

void arena_destroy(struct arena *arena)
{
    if (arena != NULL)
        arena_clear(arena);
    free(arena);
}

void arena_append_of(struct arena *arena, char **text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const size_t used = *text == NULL ? 0 : strlen(*text);
    const int more = vsnprintf(NULL, 0, format, again);
    va_end(again);
    const size_t size = more < 0 ? 1 : (size_t)more + 1;
    arena_reserve(arena, text, used + size, 1);
    vsnprintf(*text + used, size, format, args);
}

void arena_append(struct arena *arena, char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    arena_append_of(arena, text, format, args);
    va_end(args);
}

char *arena_text(struct arena *arena, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    arena_append_of(arena, &text, format, args);
    va_end(args);
    return text;
}
