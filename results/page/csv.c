#include "results/page/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool csv_is_formula(const char *text)
{
    char *end = NULL;
    if (text[0] == '\0' || strchr("=+-@'\t\r", text[0]) == NULL || strcmp(text, "-") == 0)
        return false;
    (void)strtod(text, &end);
    return end == text || *end != '\0';
}

void csv_text(FILE *out, const char *text)
{
    const char *mark = csv_is_formula(text) ? "'" : "";
    if (strpbrk(text, ",\"\r\n") == NULL) {
        (void)fprintf(out, "%s%s", mark, text);
        return;
    }
    (void)fprintf(out, "\"%s", mark);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

/* Writes the fewest digits, from 15 on, that give the number back; nothing for NAN. */
static void csv_number(FILE *out, double value)
{
    char text[SWEPT_NUMBER] = "";
    if (!isnan(value))
        number_text(value, text);
    (void)fputs(text, out);
}

void csv_print(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at != '\0'; at++) {
        if (*at != '%') {
            (void)fputc(*at, out);
        } else if (*++at == 's') {
            const char *text = va_arg(args, const char *);
            csv_text(out, text == NULL ? "" : text);
        } else if (*at == 'g') {
            csv_number(out, va_arg(args, double));
        } else { /* %zu */
            at++;
            (void)fprintf(out, "%zu", va_arg(args, size_t));
        }
    }
    va_end(args);
}

void csv_column(FILE *out, const void *row, const struct column *column)
{
    const char *at = (const char *)row + column->offset;
    uint64_t whole = 0;
    double number = 0;
    switch (column->type) {
    case COLUMN_TEXT:
        csv_text(out, at);
        return;
    case COLUMN_F64:
        memcpy(&number, at, sizeof number);
        csv_number(out, number);
        return;
    case COLUMN_U8:
        whole = *(const uint8_t *)at;
        break;
    case COLUMN_U32:
        whole = *(const uint32_t *)(const void *)at;
        break;
    case COLUMN_U64:
        memcpy(&whole, at, sizeof whole);
        break;
    default:
        return;
    }
    (void)fprintf(out, "%" PRIu64, whole);
}
