/* The profile loader, and interpolation over whatever it accepts. */
#include <math.h>
#include <stdlib.h>

#include "tests/fuzz/input.h"
#include "traces/profile/profile.h"

static void look_up(const struct profile *profile)
{
    static const int points[] = {-1, 0, 1, 2, 3, 7, 16, 1000};
    const size_t count = sizeof points / sizeof points[0];
    for (size_t f = 0; f < profile->function_count; f++)
        for (size_t i = 0; i < count * count * count; i++) {
            double latency_ms =
                profile_latency_ms(&profile->functions[f], points[i % count],
                                   points[i / count % count], points[i / count / count]);
            if (!isnan(latency_ms) && !(latency_ms > 0))
                abort(); /* inside the grid a latency is positive */
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    char *text = input_text(data, size);
    struct profile *profile = profile_parse(text, "input", &error);
    if (profile != NULL)
        look_up(profile);
    else if (error.kind != ERROR_INPUT || error.message[0] == '\0')
        abort();
    profile_free(profile);
    free(text);
    return 0;
}
