/* Fields as Slurm's accounting writes them. */
#include <stdlib.h>
#include <string.h>

#include "traces/readers/training_parts.h"

bool slurm_gpus(const char *text, uint64_t *gpus)
{
    bool found = false;
    *gpus = 0;
    for (const char *next = text; next != NULL;) {
        const char *entry = next;
        next = strchr(entry, ',') != NULL ? strchr(entry, ',') + 1 : NULL;
        if (strncmp(entry, "gres/", 5) == 0 || strncmp(entry, "gres:", 5) == 0)
            entry += 5;
        const char *end = entry + strcspn(entry, ",("), *number = end;
        while (number > entry && number[-1] >= '0' && number[-1] <= '9')
            number--;
        if (number == end || strncmp(entry, "gpu", 3) != 0 || strchr("=:", entry[3]) == NULL ||
            strchr("=:", number[-1]) == NULL)
            continue;
        const uint64_t count = strtoull(number, NULL, 10);
        *gpus = number == entry + 4 ? count : *gpus + count;
        if (number == entry + 4) /* no type between: the total */
            return true;
        found = true;
    }
    return found;
}

bool slurm_is_step(const char *column, const char *id)
{
    const char *dot = strrchr(id, '.');
    return dot != NULL && (strncmp(column, "JobID", 5) == 0 || strcmp(dot, ".batch") == 0 ||
                           strcmp(dot, ".extern") == 0);
}

bool parse_clock(const char *text, sim_time_t *time)
{
    double parts[3] = {0};
    size_t count = 0;
    char *end = NULL;
    const unsigned long days = strtoul(text, &end, 10);
    const size_t gap = *end == '-' ? 1 : strncmp(end, " days ", 6) == 0 ? 6 : 0;
    const char *at = gap > 0 ? end + gap : text;
    for (; count < 3 && *at >= '0' && *at <= '9'; count++) {
        parts[count] = strtod(at, &end);
        if (*end != ':' && *end != '\0')
            return false;
        at = *end == ':' ? end + 1 : end;
    }
    if (count < 2 || *at != '\0' || end[-1] == ':' || days > 10000)
        return false;
    const double first = count == 3 ? parts[0] * 3600 + parts[1] * 60 : parts[0] * 60;
    const double seconds = first + parts[count - 1] + (gap > 0 ? (double)days * 86400 : 0);
    *time = seconds <= TRACE_MOST_SECONDS ? sim_from_s(seconds) : 0;
    return seconds <= TRACE_MOST_SECONDS;
}
