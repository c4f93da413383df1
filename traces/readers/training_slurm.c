/* Fields as Slurm's accounting writes them. */
#include <stdlib.h>
#include <string.h>

#include "traces/readers/training_parts.h"

bool slurm_gpus(const char *text, uint64_t *gpus)
{
    static const char *const marks[] = {"gres/gpu", "gres:gpu", "gpu"};
    uint64_t typed = 0;
    bool found = false;
    for (const char *entry = text; *entry != '\0'; entry += *entry == ',') {
        const char *end = entry + strcspn(entry, ",");
        const char *number = end, *mark = NULL;
        for (size_t m = 0; m < sizeof marks / sizeof marks[0] && mark == NULL; m++)
            if (strncmp(entry, marks[m], strlen(marks[m])) == 0)
                mark = entry + strlen(marks[m]);
        const char *stop = mark != NULL ? mark + strcspn(mark, "(,") : end;
        for (number = stop;
             mark != NULL && number > mark && strchr("0123456789", number[-1]) != NULL;)
            number--;
        entry = end;
        if (mark == NULL || (*mark != '=' && *mark != ':') || number == stop || number == mark ||
            strchr("=:", number[-1]) == NULL)
            continue;
        const uint64_t count = strtoull(number, NULL, 10);
        found = true;
        if (number == mark + 1) { /* no type between: the total */
            *gpus = count;
            return true;
        }
        typed += count;
    }
    *gpus = typed;
    return found;
}

bool slurm_is_step(const char *column, const char *id)
{
    const char *dot = strrchr(id, '.');
    if (dot == NULL)
        return false;
    return strncmp(column, "JobID", 5) == 0 || strcmp(dot, ".batch") == 0 ||
           strcmp(dot, ".extern") == 0;
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
