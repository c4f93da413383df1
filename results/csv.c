#include "results/csv.h"

#include <math.h>
#include <string.h>

void csv_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

void csv_number(FILE *out, double value)
{
    if (!isnan(value))
        (void)fprintf(out, "%.17g", value);
}
