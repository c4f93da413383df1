/* Which layout of trainings a file has. */
#include <string.h>

#include "traces/readers/line_reader.h"
#include "traces/readers/training_trace.h"

static size_t count(const char *line, char character)
{
    size_t found = 0;
    for (; *line != '\0'; line++)
        found += *line == character;
    return found;
}

static bool begins(const char *line, const char *text)
{
    return strncmp(line, text, strlen(text)) == 0;
}

/* The layout by its first line; NULL if it is none of them. */
static const char *recognise(const char *line)
{
    const size_t digits = strspn(line, "0123456789");
    if (begins(line, "arrival_s,") || strstr(line, ",arrival_s") != NULL)
        return "esgsim";
    if (begins(line, "job_id,") && strstr(line, "num_gpu") != NULL)
        return "muri";
    if (strcmp(line, "timestamp,duration,num_gpus,gpu_time,cluster") == 0)
        return "philly";
    if (begins(line, "name,cpu_milli,memory_mib,"))
        return "openb";
    if (begins(line, "{'Time': '"))
        return "dilu";
    const char *last = strrchr(line, '\t');
    if (count(line, '\t') == 6 && last[1] != '\0' &&
        last[strspn(last + 1, "0123456789") + 1] == '\0')
        return "gavel";
    return digits > 0 && line[digits] == ',' && count(line, ',') == 4 && count(line, '\t') == 0
               ? "synergy"
               : NULL;
}

const char *training_trace_recognise(const char *path)
{
    struct line_reader lines = {0};
    struct error fault = {0};
    char *line = NULL;
    const bool read = line_reader_open(&lines, path, &fault) &&
                      line_reader_next(&lines, &line, &fault) == LINE_READ;
    const char *format = read ? recognise(line) : NULL;
    line_reader_close(&lines);
    return format;
}
