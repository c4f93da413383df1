/* The strict JSON reader, against the grammar of RFC 8259 and by what it says of each fault. */
#include <inttypes.h>

#include "sim/base/json.h"
#include "sim/base/json_write.h"
#include "sim/base/keys.h"
#include "tests/suite.h"

static void assert_refused(const char *text, const char *fragment)
{
    assert_bad_input(json_parse(text, "f.json", hear()), fragment);
    assert_memory_equal(heard.message, "f.json:", 7);
}

static void assert_accepted(const char *text)
{
    JSON *root = must(json_parse(text, "f.json", hear()));
}

CASE(syntax_errors_are_told_by_line_and_column)
{
    assert_refused("{\"a\": 1,}", "f.json:1:9:");
    assert_refused("{\n  \"a\" 1\n}", "f.json:2:7:");
    assert_refused("{\n  a: 1\n}", "f.json:2:3: syntax error: a key");
    assert_refused("[1 2]", "f.json:1:4:");
    assert_refused("[\"\xC3\xA9\", x]", "f.json:1:7:"); /* a column is a character */
    assert_refused("{} {}", "f.json:1:4:");
    assert_refused("[1,\n2", "f.json:2:2: syntax error: the text ends too early");
    assert_refused("", "f.json:1:1: syntax error: the text ends too early");
}

CASE(what_the_grammar_of_rfc_8259_excludes_is_refused)
{
    const char *const bad[] = {"[01]",          "[1.]",       "[.5]",        "[+1]",
                               "[-]",           "[1e]",       "[1e+]",       "[0x10]",
                               "[NaN]",         "[Infinity]", "[nul]",       "[True]",
                               "['a']",         "[\"\\x\"]",  "[\"\\u12\"]", "[\"a\tb\"]",
                               "[1,]",          "[,1]",       "{\"a\"}",     "{1: 2}",
                               "{,}",           "[1}",        "]",           "[\"a",
                               "[\"\\ud800\"]", "//\n[]",     "[1] x",       "{\"a\":1 \"b\":2}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused(bad[i], "f.json:1:");
}

CASE(what_the_grammar_of_rfc_8259_allows_is_read)
{
    const char *const good[] = {"0",
                                "-0",
                                "[1e5, 1E-2, -1.5e+3, 0.1]",
                                "null",
                                "true",
                                " [ ] ",
                                "\"\\u00e9\\n\\/\"",
                                "{\"\": 1}",
                                "[[], {}, [{}]]",
                                "\"\\ud83d\\ude00\"",
                                "\"\xF0\x9F\x98\x80\""};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_accepted(good[i]);
}

CASE(numbers_beyond_a_double_are_refused)
{
    assert_refused("[1e999]", "f.json:1:2: number is too large");
    assert_refused("{\"a\":\n -1e400}", "f.json:2:2: number is too large");
    assert_accepted("[1.7976931348623157e308]");
}

CASE(a_number_that_would_become_another_whole_one_is_refused_by_its_path)
{
    assert_refused("{\"x\": [0.5, 3], \"seeds\": [1, 9007199254740993]}",
                   "f.json: seeds[1]: 9007199254740993 would be rounded to 9007199254740992");
    assert_refused("[9007199254740991.7]", "f.json: [0]: 9007199254740991.7 would be rounded");
    assert_refused("[9.007199254740993e15]", "would be rounded to 9007199254740992");
    assert_refused("[1.00000000000000000001]", "would be rounded to 1;");
    assert_refused("[-9007199254740993]", "would be rounded to -9007199254740992");
    assert_accepted(
        "[9007199254740992, 9007199254740991, 9.007199254740992e15, 1.50, 1e23, 1e300]");
    assert_accepted("[0, -0, 0.0, 0e5, 10.00, 1e0, 100e-2, 1234567890123456789012]");
}

CASE(a_string_that_is_a_name_has_no_control_characters)
{
    JSON *root = json_parse("{\"a\":\"x\\ny\",\"b\":\"x\\u009by\",\"c\":\"caf\\u00e9\","
                            "\"d\":\"\\u007f\"}",
                            "f.json", hear());
    struct json_value value = json_root("f.json", root);
    STRING *text = NULL;
    assert_false(json_string(&value, "a", &text, hear()));
    assert_string_equal(heard.message, "f.json: a: \"x\\ny\" holds a control character; remove it");
    assert_false(json_string(&value, "b", &text, hear()));
    assert_false(json_string(&value, "d", &text, hear()));
    assert_true(json_string(&value, "c", &text, hear()));
    struct json_value note;
    assert_true(json_child(&value, "a", &note));
    assert_string_equal(json_as_text(&note, hear()), "x\ny");
}

CASE(text_that_is_not_utf_8_is_refused)
{
    assert_refused("[\"\xE9\"]", "f.json:1:3: not UTF-8");
    assert_refused("[\"\xC0\x80\"]", "not UTF-8");         /* overlong NUL */
    assert_refused("[\"\xED\xA0\x80\"]", "not UTF-8");     /* surrogate */
    assert_refused("[\"\xF5\x80\x80\x80\"]", "not UTF-8"); /* beyond U+10FFFF */
    assert_refused("[\"\xE2\x82\"]", "not UTF-8");         /* cut off */
    assert_refused("[\"a\\u0000b\"]", "\\u0000");
}

CASE(nesting_ends_at_64_levels)
{
    char text[2 * 65 + 1];
    for (int depth = 64; depth <= 65; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = '\0';
        if (depth == 64)
            assert_accepted(text);
        else
            assert_refused(text, "f.json:1:65: nested deeper than 64");
    }
}

CASE(a_key_given_twice_is_refused_at_any_depth)
{
    assert_refused("{\"a\":1,\"b\":2,\"a\":3}", "key \"a\" is given twice");
    assert_refused("{\"x\":[1,{\"y\":{\"k\":1,\"k\":1}}]}", "x[1].y: key \"k\" is given twice");
    assert_accepted("{\"a\":1,\"A\":2}");
}

CASE(an_unknown_key_is_answered_with_the_nearest)
{
    static const char *const keys[] = {"requests", "seed", NULL};
    JSON *root = must(json_parse("{\"a\":[{\"reqests\":1}]}", "f.json", hear()));
    struct json_value value = json_root("f.json", root);
    struct json_value array;
    assert_true(json_child(&value, "a", &array));
    struct json_value entry = json_entry(&array, 0);
    assert_string_equal(entry.path, "a[0]");
    assert_false(json_is_object(&entry, keys, hear()));
    assert_string_equal(heard.message,
                        "f.json: a[0]: unknown key \"reqests\"; did you mean \"requests\"?");
    assert_true(json_is_object(&entry, NULL, hear()));
}

CASE(numbers_keep_their_range_and_wholeness)
{
    JSON *root =
        json_parse("{\"half\":0.5,\"big\":9007199254740994,\"n\":7,\"s\":\"7\"}", "f.json", hear());
    struct json_value value = json_root("f.json", root);
    double number = -1;
    int64_t whole = -1;
    assert_true(json_number(&value, "absent", 0, 1, &number, hear()));
    assert_true(number < 0);
    assert_true(json_number(&value, "half", 0, 1, &number, hear()));
    assert_true(fabs(number - 0.5) < 1e-15);
    assert_false(json_number(&value, "n", 0, 6, &number, hear()));
    assert_string_equal(heard.message, "f.json: n: is 7, must lie within 0..6");
    assert_false(json_number(&value, "n", 8, HUGE_VAL, &number, hear()));
    assert_string_equal(heard.message, "f.json: n: is 7, must be at least 8");
    assert_false(json_integer(&value, "half", 0, 1, &whole, hear()));
    assert_true(json_integer(&value, "n", 7, 7, &whole, hear()));
    assert_int_equal(whole, 7);
    assert_false(json_integer(&value, "s", 0, 9, &whole, hear()));
    assert_false(json_integer(&value, "big", 0, INT64_MAX, &whole, hear()));
    assert_string_equal(heard.message,
                        "f.json: big: is 9007199254740994, must be a whole number (at most 2^53)");
}

CASE(texts_and_choices_are_checked)
{
    static const char *const choices[] = {"warm", "cold", NULL};
    JSON *root = json_parse("{\"a\":\"cold\",\"b\":\"wram\",\"c\":true}", "f.json", hear());
    struct json_value value = json_root("f.json", root);
    int chosen = -1;
    STRING *text = strdup("before");
    bool flag = false;
    assert_true(json_choice(&value, "a", choices, &chosen, hear()));
    assert_int_equal(chosen, 1);
    assert_bad_input(json_choice(&value, "b", choices, &chosen, hear()), "did you mean \"warm\"?");
    assert_true(json_string(&value, "b", &text, hear()));
    assert_string_equal(text, "wram");
    assert_false(json_string(&value, "c", &text, hear()));
    assert_false(json_bool(&value, "a", &flag, hear()));
    assert_true(json_bool(&value, "c", &flag, hear()));
    assert_true(flag);
}

CASE(walking_visits_members_and_entries_in_order)
{
    JSON *root = json_parse("{\"a\":[10,20,30],\"b\":0}", "f.json", hear());
    struct json_value value = json_root("f.json", root);
    struct json_value member = {0};
    assert_true(json_next(&value, &member));
    assert_string_equal(member.path, "a");
    size_t count = 0;
    for (struct json_value entry = {0}; json_next(&member, &entry);) {
        char *path = formatted("a[%zu]", count);
        assert_string_equal(entry.path, path);
        assert_int_equal((int)entry.node->valuedouble, 10 * (int)(entry.index + 1));
        assert_int_equal(entry.index, count++);
    }
    assert_int_equal(count, 3);
    assert_true(json_next(&value, &member));
    assert_string_equal(member.path, "b");
    assert_false(json_next(&value, &member));
}

CASE(files_that_are_no_text_are_refused)
{
    assert_null(json_parse_file("tests", hear()));
    assert_string_equal(heard.message, "tests: is not a regular file; give a file's name");
    assert_bad_input(json_parse_file("tests/no-such.json", hear()),
                     "tests/no-such.json: cannot be opened");
    char path[] = "/tmp/esgsim-json-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "[1\0]", 4), 4);
    assert_bad_input(json_parse_file(path, hear()), "holds NUL bytes");
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
}

CASE(members_are_put_with_the_types_of_their_conversions)
{
    STRING *text = NULL;
    size_t size = 0;
    cJSON *root = cJSON_CreateArray();
    json_put(json_append(root), "name %s share %g none %g fine %hhd wrong %hhd", "a \"b\"", 0.25,
             (double)NAN, true, false);
    json_put(json_append(root), "less %d more %u size %zu seed %" PRIu64, -3, 4000000000U,
             (size_t)7, UINT64_MAX);
    char *printed = cJSON_PrintUnformatted(root);
    assert_string_equal(printed, "[{\"name\":\"a \\\"b\\\"\",\"share\":0.25,\"none\":null,"
                                 "\"fine\":true,\"wrong\":false},{\"less\":-3,\"more\":4000000000,"
                                 "\"size\":7,\"seed\":18446744073709551615}]");
    cJSON_free(printed);
    FILE *out = open_memstream(&text, &size);
    assert_true(json_write(root, out, "test", hear()));
    (void)fclose(out);
    assert_memory_equal(text, "[{\n", 3);
    assert_string_equal(text + size - 3, "}]\n");
}

/* One key of each kind, and each rule. */
struct thing {
    uint16_t count;
    bool on, late;
    enum colour { RED, GREEN } colour;
    sim_time_t wait;
    double size, shade, cost;
};

static const char *const colours[] = {"red", "green", NULL};
static const char *const whens[] = {"early", "late", NULL};
static const struct key price_keys[] = {KEY_NUMBER("cost", thing, cost, 0, 9, -1, SPARSE), KEY_END};
static const struct key thing_keys[] = {
    KEY_WHOLE("count", thing, count, 1, 500, 3, REQUIRED),
    KEY_BOOL("on", thing, on, true, OPTIONAL),
    KEY_WORD("when", thing, late, whens, 0, OPTIONAL),
    KEY_WORD("colour", thing, colour, colours, RED, OPTIONAL),
    KEY_SECONDS("wait_s", thing, wait, 0, 10, 2, OPTIONAL),
    KEY_NUMBER("size", thing, size, 0, 1, 0.5, WRITTEN_IF(thing, late, true)),
    KEY_NUMBER("shade", thing, shade, 0, 1, 0, NEEDED_IF(thing, colour, GREEN)),
    KEY_OBJECT("price", price_keys, OR_NUMBER, SPARSE),
    KEY_NOTES,
    KEY_END};

/* What is written after reading `text`, or the fault. */
static void assert_thing(const char *text, const char *expected)
{
    struct thing thing;
    JSON *root = json_parse(text, "f.json", hear());
    const struct json_value value = json_root("f.json", root);
    assert_non_null(root);
    keys_default(thing_keys, &thing);
    if (keys_load(thing_keys, &value, &thing, hear())) {
        JSON *object = cJSON_CreateObject();
        keys_write(thing_keys, &thing, object);
        char *written = cJSON_PrintUnformatted(object);
        assert_string_equal(written, expected);
        cJSON_free(written);
    } else {
        assert_string_equal(heard.message, expected);
    }
}

CASE(a_table_of_keys_reads_what_it_writes)
{
    const char *all = "{\"count\":500,\"on\":false,\"when\":\"late\",\"colour\":\"green\","
                      "\"wait_s\":1.5,\"size\":0.25,\"shade\":1,\"price\":4}";
    assert_thing(all, all);
    assert_thing("{\"count\": 1, \"note\": []}",
                 "{\"count\":1,\"on\":true,\"when\":\"early\",\"colour\":\"red\",\"wait_s\":2}");
    assert_thing("{\"count\": 1, \"price\": {\"cost\": 7}, \"size\": 1}",
                 "{\"count\":1,\"on\":true,\"when\":\"early\",\"colour\":\"red\",\"wait_s\":2,"
                 "\"price\":7}");
}

CASE(a_table_of_keys_refuses_what_it_does_not_have)
{
    assert_thing("{}", "f.json: key \"count\" is missing");
    assert_thing("{\"count\": 0}", "f.json: count: is 0, must lie within 1..500");
    assert_thing("{\"count\": 1, \"colour\": \"green\"}", "f.json: key \"shade\" is missing");
    assert_thing("{\"count\": 1, \"price\": 10}", "f.json: price: is 10, must lie within 0..9");
    assert_thing("{\"counts\": 1}", "f.json: unknown key \"counts\"; did you mean \"count\"?");
}

SUITE("json")
