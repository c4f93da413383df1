#include "results/report/html.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/utf8.h"
#include "workloads/load/json_include.h"

static void character_write(FILE *out, const char *at, size_t length)
{
    if (length == 0 || ((unsigned char)*at < 0x20 && strchr("\t\n\r", *at) == NULL) || *at == 0x7F)
        (void)fputs("\xEF\xBF\xBD", out);
    else if (*at == '&')
        (void)fputs("&amp;", out);
    else if (*at == '<')
        (void)fputs("&lt;", out);
    else if (*at == '>')
        (void)fputs("&gt;", out);
    else if (*at == '"')
        (void)fputs("&quot;", out);
    else if (*at == '\'')
        (void)fputs("&#39;", out);
    else
        (void)fwrite(at, 1, length, out);
}

static void span_write(FILE *out, const char *text, const char *end)
{
    while (text < end) {
        const size_t length = utf8_sequence(text);
        character_write(out, text, length);
        text += length == 0 ? 1 : length;
    }
}

void html_text(FILE *out, const char *text)
{
    span_write(out, text, text + strlen(text));
}

void html_marked(FILE *out, const char *text)
{
    for (;;) {
        const char *open = strchr(text, '`');
        const char *close = open == NULL ? NULL : strchr(open + 1, '`');
        if (close == NULL)
            break;
        span_write(out, text, open);
        (void)fputs("<code>", out);
        span_write(out, open + 1, close);
        (void)fputs("</code>", out);
        text = close + 1;
    }
    html_text(out, text);
}

void html_element(FILE *out, const char *tag, const char *text)
{
    (void)fprintf(out, "<%s>", tag);
    html_text(out, text);
    (void)fprintf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void html_print(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at != '\0'; at++) {
        if (*at != '%' || *++at == '%') {
            (void)fputc(*at, out);
        } else if (*at == 's') {
            html_text(out, va_arg(args, const char *));
        } else { /* %zu */
            at++;
            (void)fprintf(out, "%zu", va_arg(args, size_t));
        }
    }
    va_end(args);
}

/* Copies the file of the page, which is beside this one or in the data folder. */
static bool file_write(FILE *out, const char *name, struct error *error)
{
    struct arena *arena = arena_create();
    const char *path = json_include_find_operand(arena, name);
    char *text = path == NULL ? NULL : json_read_text(path, NULL, error);
    if (path == NULL)
        (void)error_run(error,
                        "%s: this part of the page is missing, here and in %s; ESGSIM_DATA names "
                        "the folder that has it",
                        name, json_include_data_directory());
    (void)fputs(text == NULL ? "" : text, out);
    arena_destroy(arena);
    free(text);
    return text != NULL;
}

bool html_begin(FILE *out, const char *title, struct error *error)
{
    html_print(
        out,
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<link rel=\"icon\" href=\"data:,\"/>\n<title>esgsim: %s</title>\n<style>\n",
        title);
    const bool good = file_write(out, "results/page/page.css", error);
    html_print(out, "</style>\n</head>\n<body>\n");
    return good;
}

bool html_end(FILE *out, struct error *error)
{
    html_print(out, "</main>\n<script>//<![CDATA[\n");
    const bool good = file_write(out, "results/page/page.js", error);
    html_print(out, "//]]></script>\n</body>\n</html>\n");
    return good && (!ferror(out) || error_write(error, "the report", errno));
}
