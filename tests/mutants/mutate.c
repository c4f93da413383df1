/* Lists and makes the mutants of C sources: copies in which one token is another.
 *
 *   mutate list FILE...      per candidate: hash, file, line number, line before, line after
 *   mutate make FILE HASH    the file with that candidate's change
 *   mutate swap FILE A B     the file with line B in place of its first line A
 *
 * A candidate is an operator or constant of `changes` inside a function body. Its hash is of the
 * file's name, the line before and after, and which of several such lines of the file it is. So
 * code that moves keeps its hashes. Left out, because no test can or should see the change:
 *
 *   - comments, strings, preprocessor lines, declarations outside functions, {0}
 *   - arguments of error messages, of assertions and of allocations
 *   - checks for memory that ran out, and readings of the machine's clock
 *   - steps of for loops, which only crash or hang
 *
 * The sources must be laid out by clang-format: a body begins and ends with a brace in the first
 * column, and spaces around an operator tell a product from a pointer. */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512, LINES_MAX = 4096, NEAR = 3 };

struct change {
    const char *from, *to;
    bool spaced; /* counts only between spaces */
};

/* Longer operators first: the first that matches is the token. An empty `from` ends the table; a
 * NULL `to` names an operator that has no mutant. */
static const struct change changes[] = {
    {"<<=", NULL, false},    {">>=", NULL, false}, {"->", NULL, false}, {"++", "--", false},
    {"--", "++", false},     {"<<", ">>", true},   {">>", "<<", true},  {"<=", "<", true},
    {">=", ">", true},       {"==", "!=", true},   {"!=", "==", true},  {"&&", "||", true},
    {"||", "&&", true},      {"+=", "-=", true},   {"-=", "+=", true},  {"*=", "/=", true},
    {"/=", "*=", true},      {"|=", "&=", true},   {"&=", "|=", true},  {"<", "<=", true},
    {">", ">=", true},       {"+", "-", true},     {"-", "+", true},    {"*", "/", true},
    {"/", "*", true},        {"%", "/", true},     {"&", "|", true},    {"|", "&", true},
    {"!", "", false},        {"0", "1", false},    {"1", "0", false},   {"true", "false", false},
    {"false", "true", false}};

/* Calls whose arguments have no mutants. */
static const char *const quiet[] = {
    "error_run", "error_input", "error_internal", "platform_fail", "printf",
    "fprintf",   "snprintf",    "vsnprintf",      "fputs",         "assert",
    "malloc",    "calloc",      "realloc",        "static_assert", "aligned_alloc",
    "madvise",   "free",        "sizeof",         "error_write",   "clock_gettime"};

struct source {
    char *text;
    size_t starts[LINES_MAX]; /* of the lines in the text */
    size_t line_count;
};

struct candidate {
    uint64_t hash;
    const struct change *change;
    size_t line; /* from 0 */
    size_t offset;
    char before[LINE_BYTES], after[LINE_BYTES];
};

typedef bool candidate_visitor(const struct source *source, const char *path,
                               const struct candidate *candidate, uint64_t wanted);

static void give_up(const char *message, const char *path)
{
    (void)fprintf(stderr, "mutate: %s: %s\n", path, message);
    exit(2);
}

static void source_read(struct source *source, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        give_up("cannot be read", path);
    (void)fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    source->text = malloc((size_t)size + 1);
    if (source->text == NULL || fread(source->text, 1, (size_t)size, file) != (size_t)size)
        give_up("cannot be read", path);
    (void)fclose(file);
    source->text[size] = '\0';
    source->line_count = 0;
    for (const char *at = source->text; *at != '\0';) {
        if (source->line_count == LINES_MAX)
            give_up("has too many lines", path);
        source->starts[source->line_count++] = (size_t)(at - source->text);
        const char *end = strchr(at, '\n');
        at = end == NULL ? at + strlen(at) : end + 1;
    }
}

static const char *source_line(const struct source *source, size_t line)
{
    return source->text + source->starts[line];
}

/* The line without its indentation; `at` in the text gives place to `change`. */
static void line_copy(char out[LINE_BYTES], const char *line, const char *at,
                      const struct change *change)
{
    const char *end = line + strcspn(line, "\n");
    line += strspn(line, " ");
    if (at == NULL)
        (void)snprintf(out, LINE_BYTES, "%.*s", (int)(end - line), line);
    else
        (void)snprintf(out, LINE_BYTES, "%.*s%s%.*s", (int)(at - line), line, change->to,
                       (int)(end - at - (long)strlen(change->from)), at + strlen(change->from));
}

static bool line_has(const struct source *source, size_t line, const char *word)
{
    const char *found = line < source->line_count ? strstr(source_line(source, line), word) : NULL;
    return found != NULL &&
           found < source_line(source, line) + strcspn(source_line(source, line), "\n");
}

/* Does the line test whether memory was there, or read the clock? */
static bool line_is_untestable(const struct source *source, size_t line)
{
    bool allocated = false;
    if (line_has(source, line, "tv_sec") || line_has(source, line, "tv_nsec"))
        return true;
    if (!line_has(source, line, "NULL"))
        return false;
    for (size_t back = 0; back <= NEAR && back <= line; back++)
        allocated = allocated || line_has(source, line - back, "alloc(");
    for (size_t ahead = 0; ahead <= NEAR; ahead++)
        allocated = allocated || line_has(source, line + ahead, "out of memory");
    return allocated;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a */
    while (*text++ != '\0');
    return hash;
}

/* Of the change and of how many lines above make the same. */
static uint64_t candidate_hash(const struct source *source, const char *path,
                               const struct candidate *candidate)
{
    char line[LINE_BYTES];
    uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), path);
    hash = hash_text(hash_text(hash, candidate->before), candidate->after);
    for (size_t above = 0; above < candidate->line; above++) {
        line_copy(line, source_line(source, above), NULL, NULL);
        hash += strcmp(line, candidate->before) == 0;
    }
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9); /* the finish of splitmix64 */
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    return hash ^ (hash >> 31);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The change for the token at `at`, or NULL; *length receives how far to go on. */
static const struct change *token_read(const char *at, size_t *length)
{
    size_t word = 0;
    while (is_word(at[word]))
        word++;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct change *change = &changes[i];
        *length = strlen(change->from);
        if (strncmp(at, change->from, *length) != 0 || (word > 0 && word != *length))
            continue;
        const bool spaced = at[-1] == ' ' && (at[*length] == ' ' || at[*length] == '\n');
        const bool zeroes = at[-1] == '{' && at[*length] == '}';
        return change->to == NULL || (change->spaced && !spaced) || zeroes ? NULL : change;
    }
    *length = word > 0 ? word : 1;
    return NULL;
}

static bool call_is_quiet(const char *at, size_t length)
{
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
        if (strlen(quiet[i]) == length && strncmp(at, quiet[i], length) == 0)
            return at[length] == '(';
    return false;
}

/* Past a comment, a string or a character, or `at` where there is none. */
static const char *skip_text(const char *at)
{
    const char *end = at;
    if (strncmp(at, "/*", 2) == 0) {
        end = strstr(at + 2, "*/");
        return end == NULL ? at + strlen(at) : end + 2;
    }
    if (*at != '"' && *at != '\'')
        return at;
    for (end = at + 1; *end != *at && *end != '\0'; end++)
        end += *end == '\\';
    return end + (*end != '\0');
}

/* Is it the step of a for loop? */
static bool is_step(const char *at, size_t length)
{
    return length == 2 && (strncmp(at, "++)", 3) == 0 || strncmp(at, "--)", 3) == 0);
}

/* Visits the candidates in order until the visitor returns true, which is then returned. */
static bool source_walk(const struct source *source, const char *path, candidate_visitor *visit,
                        uint64_t wanted)
{
    struct candidate candidate = {0};
    bool inside = false;
    int depth = 0;
    int quiet_above = 0; /* parentheses deeper than this belong to a quiet call; 0: to none */
    size_t line = 0;
    for (const char *at = source->text; *at != '\0';) {
        while (line + 1 < source->line_count && at >= source_line(source, line + 1))
            line++;
        if (at == source_line(source, line)) {
            inside = *at == '{' || (inside && *at != '}');
            if (*at == '#') {
                at += strcspn(at, "\n");
                continue;
            }
        }
        const char *past = skip_text(at);
        if (past > at || !inside || *at == ' ' || *at == '\n') {
            at = past > at ? past : at + 1;
            continue;
        }
        size_t length = 1;
        const struct change *change = token_read(at, &length);
        depth += (*at == '(') - (*at == ')');
        if (quiet_above > 0 && depth < quiet_above)
            quiet_above = 0;
        if (quiet_above == 0 && call_is_quiet(at, length))
            quiet_above = depth + 1;
        else if (change != NULL && (quiet_above == 0 || depth < quiet_above) &&
                 !is_step(at, length) && !line_is_untestable(source, line)) {
            candidate.change = change;
            candidate.line = line;
            candidate.offset = (size_t)(at - source->text);
            line_copy(candidate.before, source_line(source, line), NULL, NULL);
            line_copy(candidate.after, source_line(source, line), at, change);
            candidate.hash = candidate_hash(source, path, &candidate);
            if (visit(source, path, &candidate, wanted))
                return true;
        }
        at += length;
    }
    return false;
}

static bool candidate_print(const struct source *source, const char *path,
                            const struct candidate *candidate, uint64_t wanted)
{
    (void)source;
    (void)wanted;
    (void)printf("%016" PRIx64 "\t%s\t%zu\t%s\t%s\n", candidate->hash, path, candidate->line + 1,
                 candidate->before, candidate->after);
    return false;
}

static bool candidate_make(const struct source *source, const char *path,
                           const struct candidate *candidate, uint64_t wanted)
{
    (void)path;
    if (candidate->hash != wanted)
        return false;
    (void)fwrite(source->text, 1, candidate->offset, stdout);
    (void)fputs(candidate->change->to, stdout);
    (void)fputs(source->text + candidate->offset + strlen(candidate->change->from), stdout);
    return true;
}

static bool source_swap(const struct source *source, const char *before, const char *after)
{
    bool found = false;
    for (size_t i = 0; i < source->line_count; i++) {
        char line[LINE_BYTES];
        line_copy(line, source_line(source, i), NULL, NULL);
        const bool here = !found && strcmp(line, before) == 0;
        found = found || here;
        (void)printf("%s\n", here ? after : line);
    }
    return found;
}

int main(int argc, char **argv)
{
    struct source source = {0};
    bool done = argc >= 3;
    if (argc >= 3 && strcmp(argv[1], "list") == 0) {
        for (int i = 2; i < argc; i++) {
            source_read(&source, argv[i]);
            (void)source_walk(&source, argv[i], candidate_print, 0);
            free(source.text);
        }
    } else if (argc == 4 && strcmp(argv[1], "make") == 0) {
        source_read(&source, argv[2]);
        done = source_walk(&source, argv[2], candidate_make, strtoull(argv[3], NULL, 16));
        free(source.text);
    } else if (argc == 5 && strcmp(argv[1], "swap") == 0) {
        source_read(&source, argv[2]);
        done = source_swap(&source, argv[3], argv[4]);
        free(source.text);
    } else {
        give_up("list FILE... | make FILE HASH | swap FILE BEFORE AFTER", "usage");
    }
    if (!done)
        give_up("no such mutant", argv[2]);
    return 0;
}
