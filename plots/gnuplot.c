#include "plots/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traces/json.h"

enum { SAID_LENGTH = 600 };

static bool missing(struct error *error)
{
    return error_run(error, "gnuplot is missing, which draws the figures; install it (Debian: "
                            "apt-get install gnuplot-nox) or run `make deps`");
}

/* The environment, less what would change a picture: its language and the user's own settings. */
static char **environment_create(void)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **plain = calloc(count + 2, sizeof *plain);
    size_t kept = 0;
    for (size_t i = 0; plain != NULL && i < count; i++)
        if (strncmp(environ[i], "LC_", 3) != 0 && strncmp(environ[i], "LANG", 4) != 0 &&
            strncmp(environ[i], "GNUPLOT_", 8) != 0 && strncmp(environ[i], "GNUTERM=", 8) != 0)
            plain[kept++] = environ[i];
    if (plain != NULL)
        plain[kept] = (char *)"LC_ALL=C.UTF-8";
    return plain;
}

/* Runs it to its end; what it says, on either stream, into `said`. The exit status, 127 where there
 * is no gnuplot, −1 where it could not be run. */
static int gnuplot_run(char *const arguments[], char said[SAID_LENGTH])
{
    int ends[2];
    pid_t child = -1;
    size_t used = 0;
    said[0] = '\0';
    char **plain = environment_create();
    if (plain == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        free(plain);
        return -1;
    }
    posix_spawn_file_actions_t actions;
    bool good = posix_spawn_file_actions_init(&actions) == 0;
    good = good && posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
           posix_spawn_file_actions_adddup2(&actions, ends[1], 1) == 0 &&
           posix_spawn_file_actions_adddup2(&actions, ends[1], 2) == 0;
    int status = good ? posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, plain) : -1;
    (void)posix_spawn_file_actions_destroy(&actions);
    free(plain);
    (void)close(ends[1]);
    char block[256];
    ssize_t got = 0;
    while (status == 0 && ((got = read(ends[0], block, sizeof block)) > 0 || errno == EINTR)) {
        size_t room = SAID_LENGTH - 1 - used;
        size_t taken = got > 0 && (size_t)got < room ? (size_t)got : got > 0 ? room : 0;
        memcpy(said + used, block, taken);
        used += taken;
        said[used] = '\0';
        errno = 0;
    }
    (void)close(ends[0]);
    if (status != 0)
        return status == ENOENT ? 127 : -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool gnuplot_check(struct error *error)
{
    char said[SAID_LENGTH];
    int status = gnuplot_run((char *const[]){(char *)"gnuplot", (char *)"--version", NULL}, said);
    return status == 0 || missing(error);
}

/* "name='value'", quotes doubled as gnuplot reads them; single quotes keep it from reading anything
 * else into a path. */
static char *assignment(const char *name, const char *value)
{
    char *text = malloc(strlen(name) + 2 * strlen(value) + 4);
    if (text == NULL)
        return NULL;
    char *end = text + sprintf(text, "%s='", name);
    for (; *value != '\0'; value++) {
        if (*value == '\'')
            *end++ = '\'';
        *end++ = *value;
    }
    *end++ = '\'';
    *end = '\0';
    return text;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text);
    return length >= strlen(ending) && strcmp(text + length - strlen(ending), ending) == 0;
}

/* Removes everything from `from` to the end of `to`, where both are found. */
static void cut_between(char *text, const char *from, const char *to)
{
    char *start = strstr(text, from);
    char *end = start == NULL ? NULL : strstr(start, to);
    if (end != NULL)
        memmove(start, end + strlen(to), strlen(end + strlen(to)) + 1);
}

/* Takes out groups that draw nothing, of which gnuplot writes one for each change of style. */
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

static bool svg_clean(const char *path, struct error *error)
{
    size_t size = 0;
    char *text = json_read_text(path, &size, error); /* any text file */
    if (text == NULL)
        return false;
    cut_between(text, "<title>", "</title>\n");
    cut_between(text, "<desc>", "</desc>\n");
    empty_groups_remove(text);
    FILE *out = fopen(path, "w");
    bool good = out != NULL && fputs(text, out) >= 0;
    good = out != NULL && fclose(out) == 0 && good;
    free(text);
    return good || error_run(error, "%s: cannot be written: %s", path, strerror(errno));
}

/* Dates become zeros and the library's name blanks, in place: offsets into a PDF stay what they
 * are. */
static bool pdf_clean(const char *path, struct error *error)
{
    static const struct {
        const char *key;
        char fill;
    } marks[] = {{"/CreationDate (D:", '0'}, {"/ModDate (D:", '0'}, {"/Producer (", ' '}};
    FILE *file = fopen(path, "r+");
    char *bytes = NULL;
    size_t size = 0;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        long end = ftell(file);
        size = end > 0 ? (size_t)end : 0;
        rewind(file);
        bytes = malloc(size + 1);
    }
    bool good = bytes != NULL && fread(bytes, 1, size, file) == size;
    for (size_t m = 0; good && m < sizeof marks / sizeof marks[0]; m++) {
        char *at = memmem(bytes, size, marks[m].key, strlen(marks[m].key));
        for (at = at == NULL ? NULL : at + strlen(marks[m].key);
             at != NULL && at < bytes + size && *at != '\n' && *at != '>'; at++)
            if (*at != ')' && (marks[m].fill == ' ' || (*at >= '0' && *at <= '9')))
                *at = marks[m].fill;
    }
    good = good && fseek(file, 0, SEEK_SET) == 0 && fwrite(bytes, 1, size, file) == size;
    if (file != NULL)
        good = fclose(file) == 0 && good;
    free(bytes);
    return good || error_run(error, "%s: cannot be written: %s", path, strerror(errno));
}

bool gnuplot_draw(const char *script, const char *csv, const char *picture, struct error *error)
{
    char said[SAID_LENGTH] = "";
    char *data = assignment("data", csv);
    char *out = assignment("out", picture);
    /* -d: without the machine's or the user's settings. */
    char *const arguments[] = {(char *)"gnuplot", (char *)"-d", (char *)"-e",   data,
                               (char *)"-e",      out,          (char *)script, NULL};
    int status = data == NULL || out == NULL ? -1 : gnuplot_run(arguments, said);
    free(data);
    free(out);
    if (status == 127)
        return missing(error);
    if (status != 0 || said[0] != '\0') {
        for (char *c = said; *c != '\0'; c++)
            if ((unsigned char)*c < 0x20)
                *c = ' ';
        return error_run(error, "%s: gnuplot could not draw %s (status %d): %s", script, csv,
                         status, status < 0 ? "it could not be run" : said);
    }
    return ends_with(picture, ".svg")   ? svg_clean(picture, error)
           : ends_with(picture, ".pdf") ? pdf_clean(picture, error)
                                        : true;
}
