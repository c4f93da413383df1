#include "sim/cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"

static bool is_set(const struct cli_settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->list[i].key, key) == 0)
            return true;
    return false;
}

void output_note_warmup(const struct cli_settings *settings, const struct experiment *experiment)
{
    const uint64_t tenth = experiment->requests / 10;
    if (is_set(settings, "requests") && !is_set(settings, "warmup_requests") &&
        experiment->warmup_requests > tenth)
        (void)fprintf(text_messages(),
                      "esgsim: note: the warm-up remains %" PRIu64 " requests, as in the file; "
                      "--set warmup_requests=%" PRIu64 " makes it a tenth of the measured ones\n",
                      experiment->warmup_requests, tenth);
}

bool output_close(struct error *error)
{
    const bool failed = ferror(stdout) != 0;
    errno = 0;
    /* The reason of an earlier failure is lost, so fail once more. */
    if (failed)
        putchar('\n');
    const bool flushed = fflush(stdout) == 0;
    int reason = errno;
    const bool closed = fclose(stdout) == 0;
    if (!failed && flushed && closed)
        return true;
    reason = reason != 0 ? reason : errno != 0 ? errno : EIO;
    return error_write(error, "standard output", reason);
}
