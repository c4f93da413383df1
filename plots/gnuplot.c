#include "plots/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/atomic_file.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Exit statuses: of a script whose figure is too large for its canvas (plots/common.gp), and, as in
 * shells, of a child that could not execute gnuplot. */
enum { SAID_LENGTH = 600, NO_ROOM = 3, NOT_RUN = 126, NOT_THERE = 127 };

static bool missing(struct error *error)
{
    return error_run(error, "gnuplot is missing, which draws the figures; install it (Debian: "
                            "apt-get install gnuplot-nox) or run `make deps`");
}

/* Leaves out variables that change a picture: language, time zone and the user's settings. */
static void environment_clean(void)
{
    static const char *const left_out[] = {"LC_", "LANG", "TZ=", "GNUPLOT_", "GNUTERM="};
    size_t kept = 0;
    for (size_t i = 0; environ[i] != NULL; i++) {
        bool keep = true;
        for (size_t l = 0; l < COUNT(left_out); l++)
            keep = keep && strncmp(environ[i], left_out[l], strlen(left_out[l])) != 0;
        if (keep)
            environ[kept++] = environ[i];
    }
    environ[kept] = NULL;
    (void)setenv("LC_ALL", "C.UTF-8", 1);
    (void)setenv("TZ", "UTC0", 1);
}

/* Executes gnuplot with empty input and both output streams to `said`. It is killed when esgsim
 * ends. */
static _Noreturn void child_run(char *const arguments[], int said, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = open("/dev/null", O_RDONLY);
    if (getppid() != parent || nothing < 0 || dup2(nothing, 0) < 0 || dup2(said, 1) < 0 ||
        dup2(said, 2) < 0)
        _exit(NOT_RUN);
    environment_clean();
    (void)execvp("gnuplot", arguments);
    const int reason = errno;
    (void)dprintf(2, "it cannot be run: %s\n", strerror(reason));
    _exit(reason == ENOENT ? NOT_THERE : NOT_RUN);
}

/* Reads `from` to its end and closes it. Keeps the first relevant messages. The warning about a
 * plot without values is not relevant, because the plot is drawn empty. */
static void said_read(int from, char said[SAID_LENGTH])
{
    FILE *stream = fdopen(from, "r");
    char *line = NULL;
    size_t room = 0, used = 0;
    said[0] = '\0';
    if (stream == NULL) {
        (void)close(from);
        return;
    }
    while (getline(&line, &room, stream) > 0)
        if (strspn(line, " \r\n") < strlen(line) &&
            strstr(line, "warning: Skipping data file with no valid points") == NULL &&
            used < SAID_LENGTH - 1) {
            const int length = snprintf(said + used, SAID_LENGTH - used, "%s", line);
            used += length > 0 ? (size_t)length : 0;
        }
    free(line);
    (void)fclose(stream);
}

/* Runs gnuplot and waits for it. `said` receives its output from both streams. Returns the exit
 * status, NOT_THERE if there is no gnuplot, NOT_RUN if it could not be executed or was killed. */
static int gnuplot_run(char *const arguments[], char said[SAID_LENGTH])
{
    int ends[2];
    said[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NOT_RUN;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0)
        child_run(arguments, ends[1], parent);
    (void)close(ends[1]);
    said_read(ends[0], said);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return NOT_RUN;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : NOT_RUN;
}

bool gnuplot_check(struct error *error)
{
    char said[SAID_LENGTH];
    int status = gnuplot_run((char *const[]){(char *)"gnuplot", (char *)"--version", NULL}, said);
    return status == 0 || missing(error);
}

/* "name='value'" with quotes doubled, as gnuplot requires. In single quotes nothing else in a path
 * is special. */
static char *assignment(struct arena *arena, const char *name, const char *value)
{
    char *text = arena_allocate(arena, strlen(name) + 2 * strlen(value) + 4, 1);
    char *end = text + sprintf(text, "%s='", name);
    for (; *value != '\0'; value++) {
        if (*value == '\'')
            *end++ = '\'';
        *end++ = *value;
    }
    *end = '\'';
    return text;
}

/* Removes every substring that begins with `from` and ends with `to`. */
static void cut_all(char *text, const char *from, const char *to)
{
    char *into = text;
    for (const char *start = strstr(text, from); start != NULL; start = strstr(text, from)) {
        const char *end = strstr(start, to);
        if (end == NULL)
            break;
        memmove(into, text, (size_t)(start - text));
        into += start - text;
        text = (char *)end + strlen(to);
    }
    memmove(into, text, strlen(text) + 1);
}

/* Removes empty groups; gnuplot writes one for each change of style. */
static void empty_groups_remove(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        const size_t line = strcspn(from, "\n") + (strchr(from, '\n') != NULL);
        if (strncmp(from, "<g ", 3) == 0 && strncmp(from + line, "</g>\n", 5) == 0) {
            from += line + 5;
            continue;
        }
        memmove(to, from, line);
        to += line;
        from += line;
    }
    *to = '\0';
}

/* Removes titles: browsers show them as tooltips, and gnuplot's are expressions of the script. */
static size_t svg_clean(char *text, size_t size)
{
    cut_all(text, "<title>", "</title>");
    cut_all(text, "<desc>", "</desc>");
    empty_groups_remove(text);
    return strlen(text);
}

/* The end of a PDF string, at its closing parenthesis; NULL if there is none. Balanced parentheses
 * inside are part of the string. */
static char *pdf_string_end(char *at, const char *end)
{
    for (int depth = 1; at < end; at++) {
        if (*at == '\\')
            at++;
        else if (*at == '(')
            depth++;
        else if (*at == ')' && --depth == 0)
            return at;
    }
    return NULL;
}

/* Replaces dates by a fixed date and the library's name by blanks. The length must not change,
 * because a PDF contains byte offsets. */
static size_t pdf_clean(char *bytes, size_t size)
{
    static const char *const keys[] = {"/Producer (", "/CreationDate (D:", "/ModDate (D:"};
    static const char date[] = "19700101000000";
    for (size_t k = 0; k < COUNT(keys); k++) {
        char *at = memmem(bytes, size, keys[k], strlen(keys[k]));
        char *end = at == NULL ? NULL : pdf_string_end(at + strlen(keys[k]), bytes + size);
        if (end == NULL)
            continue;
        at += strlen(keys[k]);
        if (k == 0)
            memset(at, ' ', (size_t)(end - at));
        else
            memcpy(at, date,
                   (size_t)(end - at) < sizeof date - 1 ? (size_t)(end - at) : sizeof date - 1);
    }
    return size;
}

/* Picture formats by file name extension. */
static const struct picture_format {
    const char *name;
    const char *last; /* end of every complete file */
    size_t (*clean)(char *bytes,
                    size_t); /* removes what differs between runs; returns the new size */
} formats[] = {{"svg", "</svg>", svg_clean}, {"pdf", "%%EOF", pdf_clean}, {"png", "IEND", NULL}};

static const struct picture_format *format_of(const char *picture)
{
    const char *dot = strrchr(picture, '.');
    for (size_t i = 0; dot != NULL && i < COUNT(formats); i++)
        if (strcmp(dot + 1, formats[i].name) == 0)
            return &formats[i];
    return NULL;
}

/* Returns the bytes of a file, followed by a NUL; NULL with `errno`. */
static char *bytes_read(struct arena *arena, const char *path, size_t *size)
{
    struct stat status;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    char *bytes = fstat(fileno(file), &status) == 0
                      ? arena_allocate(arena, (size_t)status.st_size + 1, 1)
                      : NULL;
    if (bytes != NULL)
        *size = fread(bytes, 1, (size_t)status.st_size, file);
    (void)fclose(file);
    return bytes;
}

static bool bytes_write(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    const bool good = file != NULL && fwrite(bytes, 1, size, file) == size;
    return file != NULL && fclose(file) == 0 && good;
}

/* Cleans the picture `drawn` and renames it. Checks that it is complete, because gnuplot does not
 * report a full disk. */
static bool picture_finish(struct arena *arena, const struct picture_format *format,
                           const char *drawn, const char *picture, struct error *error)
{
    size_t size = 0;
    char *bytes = bytes_read(arena, drawn, &size);
    const size_t tail = size < 16 ? size : 16;
    if (bytes == NULL)
        return error_run(error, "%s: cannot be read again: %s", picture, strerror(errno));
    bool good = memmem(bytes + size - tail, tail, format->last, strlen(format->last)) != NULL;
    if (!good)
        (void)error_run(error, "%s: gnuplot did not write it to its end; is the disk full?",
                        picture);
    if (good && format->clean != NULL) {
        size = format->clean(bytes, size);
        good = bytes_write(drawn, bytes, size) ||
               error_run(error, "%s: cannot be written: %s", picture, strerror(errno));
    }
    return good;
}

/* Runs the script; `drawn` is the output file. On NO_ROOM sets `*no_room` to what the script said.
 */
static bool script_run(struct arena *arena, const char *script, const char *csv, const char *drawn,
                       const struct picture_format *format, const struct picture_style *style,
                       char **no_room, struct error *error)
{
    char said[SAID_LENGTH] = "";
    char look[96];
    (void)snprintf(look, sizeof look, "canvas='%.16s'; no_title=%d; no_caption=%d",
                   style->size != NULL ? style->size : "", style->no_title, style->no_caption);
    char *data = assignment(arena, "data", csv);
    char *out = assignment(arena, "out", drawn);
    char *kind = assignment(arena, "format", format->name);
    /* -d: ignore the machine's and the user's settings. */
    char *const arguments[] = {(char *)"gnuplot", (char *)"-d", (char *)"-e",   data,
                               (char *)"-e",      out,          (char *)"-e",   kind,
                               (char *)"-e",      look,         (char *)script, NULL};
    const int status = gnuplot_run(arguments, said);
    if (status == NOT_THERE)
        return missing(error);
    if (status == NO_ROOM) {
        *no_room = arena_text(arena, "%.*s", (int)strcspn(said, "\n"), said);
        return true;
    }
    for (char *c = said; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20)
            *c = ' ';
    return (status == 0 && said[0] == '\0') ||
           error_run(error, "%s: gnuplot could not draw %s (status %d): %s", script, csv, status,
                     said[0] != '\0' ? said : "it said nothing");
}

bool gnuplot_draw(struct arena *arena, const char *script, const char *csv, const char *picture,
                  const struct picture_style *style, char **no_room, struct error *error)
{
    *no_room = NULL;
    struct atomic_file file;
    const struct picture_format *format = format_of(picture);
    if (format == NULL)
        return error_input(error, "%s: the name of a figure ends in .svg, .png or .pdf", picture);
    if (!atomic_file_begin(&file, picture, error))
        return false;
    const bool drawn = script_run(arena, script, csv, file.beside, format, style, no_room, error) &&
                       *no_room == NULL &&
                       picture_finish(arena, format, file.beside, picture, error);
    return atomic_file_end(&file, drawn, error) || *no_room != NULL;
}
