/* What every suite begins with: the headers that nearly all need, cases that are written once, and
 * what many suites do with files, numbers and errors. */
#ifndef ESGSIM_TESTS_SUITE_H
#define ESGSIM_TESTS_SUITE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>
#include <gsl/gsl_rng.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"

enum { SUITE_CASES_MAX = 200 };

static struct CMUnitTest suite_cases[SUITE_CASES_MAX];
static int suite_lines[SUITE_CASES_MAX];
static size_t suite_count;

/* Before main, from every CASE. The compiler chooses the order of these calls. */
static inline void suite_add(struct CMUnitTest added, int line)
{
    size_t place = suite_count++;
    if (place >= SUITE_CASES_MAX)
        abort();
    for (; place > 0 && suite_lines[place - 1] > line; place--) {
        suite_cases[place] = suite_cases[place - 1];
        suite_lines[place] = suite_lines[place - 1];
    }
    suite_cases[place] = added;
    suite_lines[place] = line;
}

/* CASE_WITH(a_sentence_that_holds, set_up, tear_down) { … } is a test of the suite; the two
 * functions, of which each may be NULL, run before and after it. */
#define CASE_WITH(name, set_up, tear_down)                                                         \
    static void name(void **case_state);                                                           \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        suite_add((struct CMUnitTest){#name, name, set_up, tear_down, NULL}, __LINE__);            \
    }                                                                                              \
    static void name(__attribute__((unused)) void **case_state)

#define CASE(name) CASE_WITH(name, NULL, NULL)

/* Runs the cases in the order of the file, `set_up` before the first and `tear_down` after the
 * last; of those alone whose names match the environment's ESGSIM_CASE, if it is set. */
#define SUITE_WITH(name, set_up, tear_down)                                                        \
    int main(void)                                                                                 \
    {                                                                                              \
        cmocka_set_test_filter(getenv("ESGSIM_CASE"));                                             \
        return _cmocka_run_group_tests(name, suite_cases, suite_count, set_up, tear_down);         \
    }

#define SUITE(name) SUITE_WITH(name, NULL, NULL)

/* ---- How much a test tries ------------------------------------------------------------------- */

/* `whole` random trials, or the part of them that the environment's ESGSIM_TRIALS, a divisor,
 * leaves: all of them run with the release build, a tenth under the sanitizers, which are slow. */
static inline size_t trials(size_t whole)
{
    const char *given = getenv("ESGSIM_TRIALS");
    const size_t divisor = given != NULL ? strtoul(given, NULL, 10) : 1;
    return divisor > 1 ? (whole + divisor - 1) / divisor : whole;
}

/* ---- What a test asserts --------------------------------------------------------------------- */

/* What the call said of its failure that was last given hear(), which forgets what was before. */
static struct error heard;

static inline struct error *hear(void)
{
    heard.kind = ERROR_NONE;
    heard.message[0] = '\0';
    return &heard;
}

/* What follows is not reached where the call or the pointer is false: analysers see so by abort. */
#define assert_good(good)                                                                          \
    do {                                                                                           \
        if (!(good)) {                                                                             \
            fail_msg("%s", heard.message);                                                         \
            abort();                                                                               \
        }                                                                                          \
    } while (false)

#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (strstr(text, part) == NULL)                                                            \
            fail_msg("\"%s\" lacks \"%s\"", text, part);                                           \
    } while (false)

/* Each part begins where the one before it ends, at its last character, or later. */
static inline void assert_in_order(const char *text, const char *const *parts, size_t count)
{
    const char *at = text;
    for (size_t i = 0; i < count; i++) {
        at = strstr(at, parts[i]);
        if (at == NULL) {
            fail_msg("not found in its place: %s\nin:\n%s", parts[i], text);
            abort();
        }
        at += strlen(parts[i]) - 1;
    }
}

/* A call's pointer, which is not NULL. */
static inline void *must_be(void *pointer, const char *call)
{
    if (pointer == NULL) {
        fail_msg("%s is NULL: %s", call, heard.message);
        abort();
    }
    return pointer;
}
#define must(...) ((__typeof__(__VA_ARGS__))must_be((void *)(uintptr_t)(__VA_ARGS__), #__VA_ARGS__))

/* What was said of bad input, and of work that failed, in one line. */
#define assert_said(of, part)                                                                      \
    do {                                                                                           \
        assert_int_equal(heard.kind, of);                                                          \
        assert_contains(heard.message, part);                                                      \
        assert_null(strchr(heard.message, '\n'));                                                  \
    } while (false)
#define assert_input_error(part) assert_said(ERROR_INPUT, part)

/* The call fails, or its pointer is NULL, for bad input, or because the work failed. */
#define assert_fails(call, of, part)                                                               \
    do {                                                                                           \
        if (call)                                                                                  \
            fail_msg("does not fail: %s", #call);                                                  \
        assert_said(of, part);                                                                     \
    } while (false)
#define assert_bad_input(call, part) assert_fails(call, ERROR_INPUT, part)
#define assert_bad_run(call, part) assert_fails(call, ERROR_RUN, part)

/* Rows of tables of refusals: a text, or a text of a key, and words of what is said. */
struct refusal {
    const char *text, *words;
};
struct refusal_of {
    const char *key, *text, *words;
};

static inline void assert_distance(double value, double expected, double most, const char *file,
                                   int line)
{
    if (!(fabs(value - expected) <= most)) {
        print_error("%.12g is not within %g of %.12g\n", value, most, expected);
        _fail(file, line);
    }
}

/* To within an absolute, or a part of the expected value. */
#define assert_absolute(value, expected, most)                                                     \
    assert_distance(value, expected, most, __FILE__, __LINE__)
#define assert_relative(value, expected, most)                                                     \
    assert_absolute(value, expected, (most)*fabs((double)(expected)))

/* ---- What a test is given -------------------------------------------------------------------- */

/* For what lives to the end of the suite. */
static inline struct arena *suite_arena(void)
{
    static struct arena *arena;
    return arena != NULL ? arena : (arena = arena_create());
}

/* Random numbers of GSL's Mersenne twister, to the end of the suite. */
static inline gsl_rng *seeded(unsigned long seed)
{
    gsl_rng *rng = must(gsl_rng_alloc(gsl_rng_mt19937));
    gsl_rng_set(rng, seed);
    *(gsl_rng **)arena_allocate(suite_arena(), 1, sizeof rng) = rng;
    return rng;
}

/* A text as printf writes it, to the end of the suite. */
static inline char *formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline char *formatted(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    arena_append_of(suite_arena(), &text, format, args);
    va_end(args);
    return text;
}

/* JSON with ' for " becomes JSON. */
static inline char *json_requote(char *json)
{
    for (char *at = json; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    return json;
}

/* What stands at a path of names and indices, such as "runs/0/name"; it is there. */
static inline const cJSON *json_at(const cJSON *at, const char *path)
{
    char *rest = formatted("%s", path);
    for (char *name; (name = strtok_r(rest, "/", &rest)) != NULL;)
        at = must(cJSON_IsArray(at) ? cJSON_GetArrayItem(at, (int)strtol(name, NULL, 10))
                                    : cJSON_GetObjectItemCaseSensitive(at, name));
    return at;
}

/* ---- What a test holds to the end of a block ------------------------------------------------- */

/* OWNED(function) before the declaration of a pointer: the function frees it where its block ends.
 * OWNER(function, type) stands once before. CLOSED(function) does so for a value. */
#define OWNED(function) __attribute__((cleanup(function##_owned), unused))
#define CLOSED(function) __attribute__((cleanup(function), unused))
#define OWNER(function, type)                                                                      \
    static inline void function##_owned(type **owned)                                              \
    {                                                                                              \
        function(*owned);                                                                          \
    }

/* For a pointer to anything. */
static inline void free_owned(void *pointer)
{
    void *owned = NULL;
    memcpy(&owned, pointer, sizeof owned);
    free(owned);
}

OWNER(cJSON_Delete, cJSON)
/* For any structure that has its arena. */
static inline void arena_home_free_owned(void *pointer)
{
    void *owned = NULL;
    memcpy(&owned, pointer, sizeof owned);
    arena_home_free(owned);
}

#define JSON OWNED(cJSON_Delete) cJSON
#define STRING OWNED(free) char

/* FILE *out, whose bytes are `text`, a pointer of the block, once it is closed; and the same whose
 * text the block's end frees. */
#define MEMORY_STREAM(out, text)                                                                   \
    char *text = NULL;                                                                             \
    size_t out##_size = 0;                                                                         \
    FILE *out = must(open_memstream(&(text), &out##_size))
#define OWNED_STREAM(out, text)                                                                    \
    STRING *text = NULL;                                                                           \
    size_t out##_size = 0;                                                                         \
    FILE *out = must(open_memstream(&(text), &out##_size))

/* ---- Files ----------------------------------------------------------------------------------- */

static inline void write_text(const char *path, const char *text)
{
    FILE *file = must(fopen(path, "w"));
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A file with `text` in it, named by `path`, a mkstemp template. */
static inline void write_temporary(char *path, const char *text)
{
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

static inline void unlink_owned(const void *path)
{
    (void)unlink(path);
}

/* The same to the end of the block, which has `path`. */
#define TEMPORARY(path, ...)                                                                       \
    CLOSED(unlink_owned) char path[] = "/tmp/esgsim-test-XXXXXX";                                  \
    write_temporary(path, __VA_ARGS__)

/* All of a file, with a NUL behind it. The caller frees. */
static inline char *file_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s cannot be read", path);
        abort();
    }
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = must(calloc(1, *size + 1));
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static inline char *file_text(const char *path)
{
    size_t size = 0;
    return file_bytes(path, &size);
}

#endif
