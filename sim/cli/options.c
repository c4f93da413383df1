#include "sim/cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cli_usage_error(const struct command *command, const char *what, struct error *error)
{
    return error_input(error, "%s: %s; usage: esgsim %s", command->name, what, command->usage);
}

bool cli_unknown_argument(const struct command *command, const char *argument, struct error *error)
{
    char what[160];
    (void)snprintf(what, sizeof what, "%s '%.120s'",
                   argument[0] == '-' ? "unknown option" : "unexpected", argument);
    return cli_usage_error(command, what, error);
}

bool cli_parse_u64(const char *option, const char *text, uint64_t low, uint64_t high,
                   uint64_t *value, struct error *error)
{
    size_t length = strlen(text);
    errno = 0;
    unsigned long long number = strtoull(text, NULL, 10);
    if (length == 0 || strspn(text, "0123456789") != length || errno != 0 || number < low ||
        number > high)
        return error_input(error, "%s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64,
                           option, text, low, high);
    *value = number;
    return true;
}

bool cli_parse_double(const char *option, const char *text, double low, double high, double *value,
                      struct error *error)
{
    size_t length = strlen(text);
    char *end = NULL;
    /* Only decimal notation: strtod alone would also take "nan", "inf", "0x1p3" and leading blanks.
     */
    bool decimal = length > 0 && strspn(text, "0123456789+-.eE") == length;
    double number = decimal ? strtod(text, &end) : NAN;
    if (!decimal || end != text + length || !isfinite(number) || number < low || number > high)
        return error_input(error, "%s: '%s' is not a number from %g to %g", option, text, low,
                           high);
    *value = number;
    return true;
}
