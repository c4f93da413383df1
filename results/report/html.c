#include "results/report/html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/utf8.h"

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

/* Copies text up to `end`, with the prefix before ids and references to them. gnuplot writes ids in
 * single or double quotes, and references as href or url(). */
static void ids_prefix(FILE *out, const char *text, const char *end, const char *prefix)
{
    static const char *const marks[] = {" id=\"", " id='", "href='#", "href=\"#", "url(#"};
    while (text < end) {
        size_t found = 0;
        for (size_t m = 0; found == 0 && m < sizeof marks / sizeof marks[0]; m++)
            if (strncmp(text, marks[m], strlen(marks[m])) == 0)
                found = strlen(marks[m]);
        (void)fwrite(text, 1, found > 0 ? found : 1, out);
        if (found > 0)
            (void)fputs(prefix, out);
        text += found > 0 ? found : 1;
    }
}

bool html_svg(FILE *out, const char *svg, const char *prefix, const char *label)
{
    const char *start = strstr(svg, "<svg");
    const char *box = start == NULL ? NULL : strstr(start, "viewBox=\"");
    const char *body = start == NULL ? NULL : strchr(start, '>');
    if (box == NULL || body == NULL || box > body)
        return false;
    box += strlen("viewBox=\"");
    double width = 0;
    const char *number = box; /* left, top, width */
    for (int i = 0; i < 3; i++) {
        char *end = NULL;
        width = strtod(number, &end);
        if (end == number)
            return false;
        number = end;
    }
    if (!(width > 0))
        return false;
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                  "xmlns:xlink=\"http://www.w3.org/1999/xlink\" viewBox=\"%.*s\" role=\"img\" "
                  "style=\"max-width:%.0fpx\" aria-label=\"",
                  (int)strcspn(box, "\""), box, width);
    html_text(out, label);
    (void)fputs("\">", out);
    ids_prefix(out, body + 1, body + strlen(body), prefix);
    return true;
}
