/* Numbers on the command line: read whole, in range, or refused with the option's name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "sim/cli/cli.h"

static void whole_numbers_in_range_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {{"0", 0}, {"7", 7}, {"007", 7}, {"18446744073709551615", UINT64_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 1234;
        struct error error;
        assert_true(cli_parse_u64("--seed", cases[i].text, 0, UINT64_MAX, &value, &error));
        assert_true(value == cases[i].value);
    }
}

static void anything_else_is_not_a_whole_number(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        " 1",
                                        "1 ",
                                        "+1",
                                        "-1",
                                        "1.0",
                                        "1e3",
                                        "0x1",
                                        "abc",
                                        "1a",
                                        "1\n2",
                                        "5",
                                        "21",
                                        "18446744073709551616",
                                        "99999999999999999999999999999"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 1234;
        struct error error;
        assert_false(cli_parse_u64("--jobs", cases[i], 6, 20, &value, &error));
        assert_int_equal(error.kind, ERROR_INPUT);
        assert_true(strncmp(error.message, "--jobs: '", 9) == 0);
        assert_non_null(strstr(error.message, "from 6 to 20"));
        assert_true(value == 1234);
    }
}

static void decimal_numbers_in_range_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0}, {"-2.5", -2.5}, {"1e3", 1000}, {".5", 0.5}, {"+4", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 1234;
        struct error error;
        assert_true(cli_parse_double("--budget-ms", cases[i].text, -3, 1000, &value, &error));
        assert_true(value == cases[i].value);
    }
}

static void anything_else_is_not_a_decimal_number(void **state)
{
    (void)state;
    static const char *const cases[] = {"",     " 1",  "1 ", "nan", "inf",   "0x1p3", "1e999",
                                        "1e1e", "--1", "e",  "1,5", "-0.01", "10.01"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 1234;
        struct error error;
        assert_false(cli_parse_double("--budget-ms", cases[i], 0, 10, &value, &error));
        assert_int_equal(error.kind, ERROR_INPUT);
        assert_true(strncmp(error.message, "--budget-ms: '", 14) == 0);
        assert_true(value == 1234);
    }
}

static void a_usage_error_names_the_command_the_fault_and_the_usage(void **state)
{
    (void)state;
    const struct command command = {.name = "walk", .usage = "walk FILE [--far]"};
    struct error error;
    assert_false(cli_usage_error(&command, "unknown option '--near'", &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_string_equal(error.message,
                        "walk: unknown option '--near'; usage: esgsim walk FILE [--far]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_in_range_are_read),
        cmocka_unit_test(anything_else_is_not_a_whole_number),
        cmocka_unit_test(decimal_numbers_in_range_are_read),
        cmocka_unit_test(anything_else_is_not_a_decimal_number),
        cmocka_unit_test(a_usage_error_names_the_command_the_fault_and_the_usage),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
