#include "sim/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sim/base/array.h"

enum { WIDTH = 80, WIDTH_LEAST = 40, WIDTH_MOST = 10000 };

struct fold {
    FILE *out;
    char *line; /* the unfinished one */
    size_t used, room;
    size_t width; /* of standard error's own terminal; 0: as text_line_width */
    bool colours;
};

static size_t terminal; /* width of the terminal; 0: standard output is none, or not yet text */

/* The variable's value, if it is a sensible width; otherwise 0. */
static size_t width_given(const char *variable)
{
    const char *text = getenv(variable);
    const unsigned long width = text != NULL ? strtoul(text, NULL, 10) : 0;
    return width >= WIDTH_LEAST && width <= WIDTH_MOST ? width : 0;
}

/* The width of the terminal that it is; 0: it is none. */
static size_t terminal_width(int descriptor)
{
    struct winsize window = {0};
    if (!isatty(descriptor))
        return 0;
    (void)ioctl(descriptor, TIOCGWINSZ, &window);
    const size_t given = width_given("COLUMNS");
    return given > 0 ? given : window.ws_col >= WIDTH_LEAST ? window.ws_col : WIDTH;
}

size_t text_line_width(void)
{
    const size_t given = width_given("ESGSIM_WIDTH");
    return given > 0 ? given : terminal > 0 ? terminal : WIDTH;
}

size_t text_width(const char *text, size_t bytes)
{
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++)
        width += ((unsigned char)text[i] & 0xC0U) != 0x80U;
    return width;
}

/* Whether it shows a command, which is one line so that it can be pasted. */
static bool is_command(const char *line)
{
    const size_t label = strncmp(line, "Example", 7) == 0 ? strcspn(line, ":") + 1 : 0;
    const size_t start = label + strspn(line + label, " ");
    return start > 0 && strncmp(line + start, "esgsim ", 7) == 0;
}

/* Where the lines below begin: behind the last gap of the left part; below a label ("warning: "),
 * or below the line. */
static size_t hang_of(const char *line, size_t width)
{
    const size_t start = strspn(line, " "), word = start + strcspn(line + start, " ");
    const size_t second = line[word] == ' ' ? word + 1 + strcspn(line + word + 1, " ") : word;
    const bool label = word > 0 && (line[word - 1] == ':' || line[second - 1] == ':');
    size_t hang = start > 2 ? start : start > 0 || label ? start + 2 : 0;
    for (const char *gap = line + start; (gap = strstr(gap, "  ")) != NULL;) {
        const size_t behind = text_width(line, (size_t)(gap - line)) + strspn(gap, " ");
        hang = behind <= width * 3 / 5 ? behind : hang;
        gap += strspn(gap, " ");
    }
    return hang > width * 3 / 5 ? width / 2 : hang;
}

/* Whether the blank at `i` binds a number to a short unit or its sign: "2.5 ms", "± 0.3". */
static bool binds(const char *line, size_t i)
{
    return (i > 0 && strchr("0123456789", line[i - 1]) != NULL &&
            strcspn(line + i + 1, " ") <= 3) ||
           (i > 1 && strncmp(line + i - 2, "\xC2\xB1", 2) == 0);
}

/* Bytes of the line before the last blank that `width` has room for; a longer word is whole. */
static size_t fitting(const char *line, size_t width)
{
    size_t end = 0, i = strspn(line, " "), column = i;
    for (; line[i] != '\0' && (column <= width || end == 0); i++) {
        if (line[i] == ' ' && !binds(line, i))
            end = i;
        column += ((unsigned char)line[i] & 0xC0U) != 0x80U;
    }
    end = end == 0 || (line[i] == '\0' && column <= width) ? i : end;
    while (end > 0 && line[end - 1] == ' ')
        end--;
    return end;
}

static const char *colour_of(const struct fold *fold, const char *line)
{
    const char *word = line + strspn(line, " ");
    return !fold->colours                         ? ""
           : strncmp(line, "== ", 3) == 0         ? "\033[1m"
           : strncasecmp(word, "warning", 7) == 0 ? "\033[33m"
                                                  : "";
}

static void line_write(const struct fold *fold, const char *line)
{
    const size_t width = fold->width > 0 ? fold->width : text_line_width();
    const size_t hang = hang_of(line, width);
    const char *colour = colour_of(fold, line);
    size_t before = 0;
    (void)fputs(colour, fold->out);
    do {
        const size_t length = is_command(line) ? strlen(line) : fitting(line, width - before);
        (void)fprintf(fold->out, "%*s%.*s", (int)before, "", (int)length, line);
        line += length + strspn(line + length, " ");
        (void)fputs(*line == '\0' && colour[0] != '\0' ? "\033[0m\n" : "\n", fold->out);
        before = hang;
    } while (*line != '\0');
}

static ssize_t fold_write(void *context, const char *bytes, size_t count)
{
    struct fold *fold = context;
    if (!array_reserve(&fold->line, &fold->room, fold->used + count + 1, 1))
        return -1;
    for (size_t i = 0; i < count; i++) {
        fold->line[fold->used++] = bytes[i];
        if (bytes[i] != '\n')
            continue;
        fold->line[fold->used - 1] = '\0';
        line_write(fold, fold->line);
        fold->used = 0;
    }
    return fflush(fold->out) == 0 && !ferror(fold->out) ? (ssize_t)count : -1;
}

static int fold_close(void *context)
{
    struct fold *fold = context;
    if (fold->used > 0)
        (void)fprintf(fold->out, "%.*s", (int)fold->used, fold->line);
    const int status = fflush(fold->out) == 0 && !ferror(fold->out) ? 0 : -1;
    free(fold->line);
    free(fold);
    return status;
}

FILE *text_open(FILE *out)
{
    const cookie_io_functions_t functions = {.write = fold_write, .close = fold_close};
    struct fold *fold = calloc(1, sizeof *fold);
    FILE *stream = fold == NULL ? NULL : fopencookie(fold, "w", functions);
    if (stream == NULL) {
        free(fold);
        return NULL;
    }
    fold->out = out;
    fold->width =
        out != stderr || width_given("ESGSIM_WIDTH") > 0 ? 0 : terminal_width(STDERR_FILENO);
    const char *colourless = getenv("NO_COLOR");
    fold->colours = out == stdout && terminal > 0 && (colourless == NULL || colourless[0] == '\0');
    return stream;
}

void text_begin(void)
{
    static bool begun;
    if (begun)
        return;
    begun = true;
    terminal = terminal_width(STDOUT_FILENO);
    FILE *stream = text_open(stdout);
    if (stream != NULL)
        stdout = stream;
}

FILE *text_messages(void)
{
    static FILE *stream;
    if (stream == NULL) {
        if (!isatty(STDERR_FILENO) || (stream = text_open(stderr)) == NULL)
            return stderr;
        (void)setvbuf(stream, NULL, _IONBF, 0);
    }
    return stream;
}

const char *text_time(double seconds, char text[TEXT_TIME])
{
    const double size = fabs(seconds);
    if (isnan(seconds))
        (void)snprintf(text, TEXT_TIME, "none");
    else if (size >= 1)
        (void)snprintf(text, TEXT_TIME, "%.3f s", seconds);
    else if (size >= 1e-3 || !(size > 0))
        (void)snprintf(text, TEXT_TIME, "%.3f ms", 1e3 * seconds);
    else
        (void)snprintf(text, TEXT_TIME, "%.1f us", 1e6 * seconds);
    return text;
}
