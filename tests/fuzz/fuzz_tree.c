/* Decision trees: what is read is written and read again as the same text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sched/choices/tree.h"
#include "tests/fuzz/input.h"

static char *text_of(const struct trees *trees)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        abort();
    trees_write(out, trees);
    (void)fclose(out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char first[] = "classification", second[] = "deblur";
    struct function functions[] = {{.name = first}, {.name = second}};
    const struct workload workload = {.functions = functions, .function_count = 2};
    struct error error = {0};
    struct trees trees;
    char path[64];
    struct arena *arena = arena_create();
    int file = input_open(data, size, path);
    if (!trees_load(arena, path, &workload, &trees, &error)) {
        input_require_refusal(&error);
    } else {
        char *once = text_of(&trees);
        int again = input_open((const uint8_t *)once, strlen(once), path);
        if (!trees_load(arena, path, &workload, &trees, &error))
            abort();
        char *twice = text_of(&trees);
        if (strcmp(once, twice) != 0)
            abort();
        free(once);
        free(twice);
        (void)close(again);
    }
    (void)close(file);
    arena_destroy(arena);
    return 0;
}
