/* Stamps of records. */
#include "traces/readers/trace_layout.h"

#include <string.h>
#include <time.h>

/* Parses exactly `count` digits followed by one of `ends` (its NUL included), and advances *text.
 */
static bool parse_digits(const char **text, int count, const char *ends, int *value)
{
    *value = 0;
    for (int i = 0; i < count; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return false;
        *value = *value * 10 + (**text - '0');
    }
    if (strchr(ends, **text) == NULL)
        return false;
    if (**text != '\0')
        (*text)++;
    return true;
}

/* Parses what may follow a date: nothing, Z, UTC, or the offset of its clock from UTC. */
static bool parse_offset(const char *text, sim_time_t *offset)
{
    int hours = 0, minutes = 0;
    *offset = 0;
    text += strspn(text, " ");
    if (*text == '\0' || strcmp(text, "Z") == 0 || strcmp(text, "UTC") == 0)
        return true;
    const char sign = *text++;
    const char *behind = text + 2;
    if ((sign != '+' && sign != '-') || !parse_digits(&text, 2, ":0123456789", &hours) ||
        hours > 14)
        return false;
    text = behind + (*behind == ':');
    if (*text != '\0' && (!parse_digits(&text, 2, "", &minutes) || minutes > 59))
        return false;
    *offset = (sign == '+' ? 1 : -1) * (hours * 3600 + minutes * 60) * SIM_S;
    return *behind != ':' || behind[1] != '\0';
}

/* Parses "03.9799600" or "03" to nanoseconds; an offset may follow. */
static bool parse_seconds(const char *text, sim_time_t *time)
{
    const char *behind = text + 2;
    int seconds = 0;
    sim_time_t offset = 0;
    if (!parse_digits(&text, 2, ".,Z+- U", &seconds) || seconds > 59)
        return false;
    *time = seconds * SIM_S;
    if (*behind != '.' && *behind != ',') {
        text = behind;
    } else {
        sim_time_t place = SIM_S;
        if (*text < '0' || *text > '9')
            return false;
        for (; *text >= '0' && *text <= '9'; text++) {
            if (place == 1)
                return false;
            place /= 10;
            *time += (*text - '0') * place;
        }
    }
    if (!parse_offset(text, &offset))
        return false;
    *time -= offset;
    return true;
}

bool trace_parse_date(const char *text, sim_time_t *time)
{
    int year = 0, month = 0, day = 0, hour = 0, minute = 0;
    sim_time_t seconds = 0;
    if (!parse_digits(&text, 4, "-/", &year) || !parse_digits(&text, 2, "-/", &month) ||
        !parse_digits(&text, 2, " T", &day) || !parse_digits(&text, 2, ":", &hour) ||
        !parse_digits(&text, 2, ":", &minute) || !parse_seconds(text, &seconds))
        return false;
    if (year < 1970 || year > 2099 || hour > 23 || minute > 59)
        return false;
    struct tm calendar = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    time_t midnight = timegm(&calendar);
    /* timegm converts 31 February to a day in March instead of refusing it. */
    if (calendar.tm_mday != day || calendar.tm_mon != month - 1)
        return false;
    *time = ((sim_time_t)midnight + hour * 3600 + minute * 60) * SIM_S + seconds;
    return *time >= 0;
}

bool trace_parse_instant(const struct trace_reader *reader, const char *text, const char *what,
                         sim_time_t unit, sim_time_t *time, struct error *error)
{
    if (unit > 0)
        return trace_parse_stamp(reader, text, what, unit, time, error);
    return trace_parse_date(text, time) ||
           line_fault(&reader->lines, error,
                      "%.60s '%.40s' is not of the form 2023-11-16 18:17:03.97; give the unit of "
                      "numbers by --unit",
                      what, text);
}
