/* Messages: one line, cut to fit, with the nearest name where there is one. */
#include <errno.h>

#include "sim/base/error.h"
#include "sim/base/json.h"
#include "sim/base/utf8.h"
#include "tests/suite.h"

CASE(both_kinds_return_false_and_keep_the_formatted_message)
{
    struct error error = {ERROR_NONE, ""};
    assert_false(error_input(&error, "%s: %d is not a %s", "a.json", 7, "name"));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_string_equal(error.message, "a.json: 7 is not a name");
    assert_false(error_run(&error, "lost %zu jobs", (size_t)3));
    assert_int_equal(error.kind, ERROR_RUN);
    assert_string_equal(error.message, "lost 3 jobs");
}

CASE(an_error_nobody_wants_is_allowed)
{
    assert_false(error_input(NULL, "%d", 1));
    assert_false(error_run(NULL, "%d", 1));
}

CASE(exhausted_memory_is_no_fault_of_the_input)
{
    struct error error;
    errno = ENOMEM;
    error_input(&error, "a.json: syntax error");
    errno = 0;
    assert_int_equal(error.kind, ERROR_RUN);
    assert_string_equal(error.message, "out of memory");
}

CASE(no_control_character_of_a_name_breaks_the_line)
{
    struct error error;
    char name[129];
    for (int c = 1; c < 129; c++)
        name[c - 1] = (char)(c < 128 ? c : 1);
    name[128] = '\0';
    error_input(&error, "'%s'", name);
    assert_int_equal(strlen(error.message), 2 + 128 + 3 * 1 + 30 * 3);
    for (const char *c = error.message; *c != '\0'; c++)
        assert_true(*c >= ' ' && *c != 127);
    error_input(&error, "key '%s'", "caf\xc3\xa9\n\x1b[31m");
    assert_string_equal(error.message, "key 'caf\xc3\xa9\\n\\x1b[31m'");
}

CASE(bytes_that_are_no_text_are_shown_as_escapes)
{
    struct error error;
    error_input(&error, "'%s' '%s' '%s'", "\xc2\x9b", "a\xff", "\xc2\xa0");
    assert_string_equal(error.message, "'\\xc2\\x9b' 'a\\xff' '\xc2\xa0'");
}

/* At a whole character, of one to three bytes; also where only its escapes are too long. */
CASE(a_message_too_long_ends_in_an_ellipsis)
{
    static const char *const parts[] = {"x", "é", "€", "\x80", "\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct error error;
        char text[601] = "", list[32];
        while (strlen(text) + strlen(parts[i]) < sizeof text)
            strcat(text, parts[i]);
        const struct json_value value = {.file = text, .path = "key"};
        const char *const names[] = {text, text};
        error_run(&error, "%s%s", text, text);
        assert_true(strlen(error.message) > sizeof error.message - 10);
        assert_true(utf8_is_name(error.message));
        assert_string_equal(error.message + strlen(error.message) - strlen("…"), "…");
        json_fault(&value, &error, "%s%s", text, text);
        assert_true(utf8_is_name(error.message));
        assert_string_equal(error.message + strlen(error.message) - strlen("…"), "…");
        error_list_names(names, 2, list, sizeof list);
        assert_string_equal(list + strlen(list) - strlen("…"), "…");
    }
}

static const char *const policies[] = {
    "esg", "fifo", "edf", "sjf", "min-config", "max-config", "fast-gshare", "orion", "aquatope"};
enum { POLICIES = sizeof policies / sizeof *policies };

CASE(a_misspelt_name_finds_the_one_that_was_meant)
{
    static const char *const cases[][2] = {{"esg", "esg"},
                                           {"egs", "esg"},
                                           {"fifio", "fifo"},
                                           {"fif", "fifo"},
                                           {"orin", "orion"},
                                           {"aquatop", "aquatope"},
                                           {"min_config", "min-config"},
                                           {"maxconfig", "max-config"},
                                           {"fast-gshar", "fast-gshare"},
                                           {"Orion", "orion"},
                                           {"fastgshare", "fast-gshare"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(error_nearest_name(cases[i][0], policies, POLICIES), cases[i][1]);
}

CASE(names_in_entries_are_found_as_those_of_a_list)
{
    struct {
        int number;
        char *name;
    } entries[POLICIES] = {{0, NULL}};
    for (size_t i = 0; i < POLICIES; i++)
        entries[i].name = (char *)policies[i];
    for (size_t count = 0; count <= POLICIES; count++)
        assert_ptr_equal(error_nearest_of("orin", &entries[0].name, count, sizeof entries[0]),
                         error_nearest_name("orin", policies, (int)count));
}

CASE(a_name_far_from_all_finds_nothing)
{
    char lengthy[4000];
    memset(lengthy, 'e', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    assert_null(error_nearest_name("keep_alive_s", policies, POLICIES));
    assert_null(error_nearest_name("infless", policies, POLICIES));
    assert_null(error_nearest_name(lengthy, policies, POLICIES));
    assert_null(error_nearest_name("esg", policies, 0));
    const char *const long_only[] = {lengthy};
    assert_null(error_nearest_name("esg", long_only, 1));
}

/* Edit distance by the definition: try every first step. */
static size_t distance_by_definition(const char *a, const char *b)
{
    if (*a == '\0' || *b == '\0')
        return strlen(a) + strlen(b);
    size_t change = distance_by_definition(a + 1, b + 1) + (*a == *b ? 0 : 1);
    size_t without_a = distance_by_definition(a + 1, b) + 1;
    size_t without_b = distance_by_definition(a, b + 1) + 1;
    size_t least = change < without_a ? change : without_a;
    return least < without_b ? least : without_b;
}

/* All pairs of words of up to five letters over {a, b, c}, a few hundred of them at random strides.
 */
CASE(the_nearest_name_is_the_one_of_least_edit_distance)
{
    enum { WORDS = 243, NAMES = 4 };
    for (unsigned i = 0; i < 3000; i++) {
        char words[NAMES + 1][6];
        const char *names[NAMES];
        for (unsigned j = 0; j <= NAMES; j++) {
            unsigned code = (i * 7919 + j * 104729 + i * i * 31) % WORDS, length = 1 + (i + j) % 5;
            for (unsigned k = 0; k < length; k++, code /= 3)
                words[j][k] = (char)('a' + code % 3);
            words[j][length] = '\0';
            if (j < NAMES)
                names[j] = words[j];
        }
        const char *wanted = words[NAMES];
        size_t least = SIZE_MAX;
        for (unsigned j = 0; j < NAMES; j++) {
            size_t distance = distance_by_definition(wanted, names[j]);
            least = distance < least ? distance : least;
        }
        const char *nearest = error_nearest_name(wanted, names, NAMES);
        if (least <= 2)
            assert_int_equal(distance_by_definition(wanted, nearest), least);
        else
            assert_null(nearest);
    }
}

SUITE("error")
