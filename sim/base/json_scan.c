#include "sim/base/json_scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/utf8.h"

enum { DEPTH_LIMIT = 64 };

bool json_fault_at(const char *file, const char *text, const char *where, const char *what,
                   struct error *error)
{
    size_t line = 1;
    size_t column = 1;
    for (const char *c = text; c < where && *c != '\0'; c++) {
        if (*c == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)*c & 0xC0) != 0x80) {
            column++; /* counts characters, not bytes */
        }
    }
    return error_input(error, "%s:%zu:%zu: %s", file, line, column, what);
}

/* Checks what cJSON accepts inside a string: raw control characters, \u0000 (which would end the C
 * string) and invalid UTF-8. Returns the closing quote; NULL with `error` set. */
static const char *scan_string(const char *file, const char *text, const char *open,
                               struct error *error)
{
    const char *c = open + 1;
    while (*c != '"') {
        const char *what = NULL;
        size_t length = utf8_sequence(c);
        if (*c == '\0') {
            c = open;
            what = "string is not closed; add the quotation mark";
        } else if ((unsigned char)*c < ' ') {
            what = "control character or line break inside a string; escape it";
        } else if (length == 0) {
            what = "not UTF-8; save the file in that encoding";
        } else if (strncmp(c, "\\u0000", 6) == 0) {
            what = "\\u0000 inside a string; remove it";
        }
        if (what != NULL) {
            json_fault_at(file, text, c, what, error);
            return NULL;
        }
        c += c[0] == '\\' && c[1] != '\0' ? 2 : length;
    }
    return c;
}

static const char *skip_digits(const char *c)
{
    while (*c >= '0' && *c <= '9')
        c++;
    return c;
}

/* A decimal number: digits without leading and trailing zeros, and a power of ten. */
struct decimal {
    char digits[64];
    long exponent;
};

/* Parses at most 60 characters in JSON's number syntax. */
static struct decimal decimal_read(const char *number)
{
    struct decimal decimal = {.exponent = 0};
    size_t count = 0;
    bool fraction = false;
    const char *c = number + (*number == '-');
    for (; (*c >= '0' && *c <= '9') || *c == '.'; c++) {
        fraction = fraction || *c == '.';
        if (*c == '.')
            continue;
        decimal.exponent -= fraction ? 1 : 0;
        if (count > 0 || *c != '0')
            decimal.digits[count++] = *c;
    }
    if (*c == 'e' || *c == 'E')
        decimal.exponent += strtol(c + 1, NULL, 10);
    for (; count > 0 && decimal.digits[count - 1] == '0'; decimal.exponent++)
        decimal.digits[--count] = '\0';
    return decimal;
}

/* Returns whether a double rounds the number to a different whole number, as for 2^53 + 1 or 1 +
 * 1e-20. Larger results are not considered, because every integer key refuses them. */
static bool is_rounded(const char *number)
{
    const char *digits = number + (*number == '-');
    const char *end = skip_digits(digits);
    if (end - digits <= 15 && *end != '.' && *end != 'e' && *end != 'E')
        return false;
    const double value = strtod(number, NULL);
    if (value != floor(value) || fabs(value) > JSON_EXACT_LIMIT)
        return false;
    char whole[64];
    (void)snprintf(whole, sizeof whole, "%.0f", value);
    const struct decimal given = decimal_read(number);
    const struct decimal kept = decimal_read(whole);
    return strcmp(given.digits, kept.digits) != 0 ||
           (given.digits[0] != '\0' && given.exponent != kept.exponent);
}

/* cJSON uses strtod, which accepts more than JSON's syntax and returns infinity on overflow. */
static const char *scan_number(const char *file, const char *text, const char *start,
                               struct json_numbers *numbers, struct error *error)
{
    const char *c = start + (*start == '-');
    const char *digits = c;
    c = skip_digits(c);
    bool good = c > digits && (digits[0] != '0' || c == digits + 1);
    if (good && *c == '.') {
        digits = ++c;
        c = skip_digits(c);
        good = c > digits;
    }
    if (good && (*c == 'e' || *c == 'E')) {
        c++;
        digits = c += *c == '+' || *c == '-';
        c = skip_digits(c);
        good = c > digits;
    }
    if (!good || c - start > 60) {
        json_fault_at(file, text, start, "not a JSON number; write it like -12.5 or 1e-3", error);
        return NULL;
    }
    if (!isfinite(strtod(start, NULL))) {
        json_fault_at(file, text, start, "number is too large for a double; give a finite one",
                      error);
        return NULL;
    }
    numbers->count++;
    if (numbers->rounded == 0 && is_rounded(start)) {
        numbers->rounded = numbers->count;
        numbers->text = start;
    }
    return c;
}

/* For a key that is not a string, cJSON reports the position one character too late. This function
 * reports the right one. */
static bool scan_key_place(const char *file, const char *text, const char *c, char previous,
                           struct error *error)
{
    if (*c == '"' || (*c == '}' && previous == '{'))
        return true;
    return json_fault_at(file, text, c,
                         *c == '}' ? "syntax error: no comma before a closing brace"
                                   : "syntax error: a key in quotation marks belongs here",
                         error);
}

bool json_scan(const char *file, const char *text, struct json_numbers *numbers,
               struct error *error)
{
    char open[DEPTH_LIMIT + 1] = {0}; /* enclosing brackets, outermost at index 1 */
    size_t depth = 0;
    char previous = '\0';
    const char *c = text;
    while (*c != '\0') {
        if (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r') {
            c++;
            continue;
        }
        if (open[depth] == '{' && (previous == '{' || previous == ',') &&
            !scan_key_place(file, text, c, previous, error))
            return false;
        previous = *c;
        if (*c == '"') {
            c = scan_string(file, text, c, error);
        } else if (*c == '-' || (*c >= '0' && *c <= '9')) {
            c = scan_number(file, text, c, numbers, error);
            if (c != NULL)
                c--; /* now at the number's last character, like scan_string's result */
        } else if (*c == '{' || *c == '[') {
            if (depth == DEPTH_LIMIT)
                return json_fault_at(file, text, c, "nested deeper than 64 levels; flatten it",
                                     error);
            open[++depth] = *c;
        } else if ((*c == '}' || *c == ']') && depth > 0) {
            depth--;
        }
        if (c == NULL)
            return false;
        c++;
    }
    return true;
}
