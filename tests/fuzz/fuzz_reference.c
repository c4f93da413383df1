/* Published figures: the loader, and the questions that a report asks of each figure. */
#include <unistd.h>

#include "results/expect/expectation.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    char path[64];
    int file = input_open(data, size, path);
    struct expectations *reference = expectations_load(path, EXPECTATION_FIGURES, &error);
    if (reference == NULL)
        input_require_refusal(&error);
    for (size_t i = 0; reference != NULL && i < reference->count; i++)
        (void)expectation_is_comparison(&reference->list[i]);
    arena_home_free(reference);
    (void)close(file);
    return 0;
}
