/* Actions of a policy: any file is read or refused. */
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/platform/actions.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char world[] = "{}", name[] = "world";
    const struct experiment experiment = {.resolved_json = world, .name = name};
    struct error error = {0};
    char path[64];
    int file = input_open(data, size, path);
    struct arena *arena = arena_create();
    if (actions_read(arena, path, &experiment, &error) == NULL)
        input_require_refusal(&error);
    arena_destroy(arena);
    (void)close(file);
    return 0;
}
