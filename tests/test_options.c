/* The command line: options by their table, numbers read whole and in range, or refused by name. */
#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "tests/suite.h"

CASE(whole_numbers_in_range_are_read)
{
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {{"0", 0}, {"7", 7}, {"007", 7}, {"18446744073709551615", UINT64_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 1234;
        assert_true(cli_parse_u64("--seed", cases[i].text, 0, UINT64_MAX, &value, hear()));
        assert_true(value == cases[i].value);
    }
}

CASE(anything_else_is_not_a_whole_number)
{
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
        assert_bad_input(cli_parse_u64("--jobs", cases[i], 6, 20, &value, hear()), "");
        assert_true(strncmp(heard.message, "--jobs: '", 9) == 0);
        assert_contains(heard.message, "from 6 to 20");
        assert_true(value == 1234);
    }
}

CASE(decimal_numbers_in_range_are_read)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0}, {"-2.5", -2.5}, {"1e3", 1000}, {".5", 0.5}, {"+4", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 1234;
        assert_true(cli_parse_double("--budget-ms", cases[i].text, -3, 1000, &value, hear()));
        assert_true(value == cases[i].value);
    }
}

CASE(anything_else_is_not_a_decimal_number)
{
    static const char *const cases[] = {"",     " 1",  "1 ", "nan", "inf",   "0x1p3", "1e999",
                                        "1e1e", "--1", "e",  "1,5", "-0.01", "10.01"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 1234;
        assert_bad_input(cli_parse_double("--budget-ms", cases[i], 0, 10, &value, hear()), "");
        assert_true(strncmp(heard.message, "--budget-ms: '", 14) == 0);
        assert_true(value == 1234);
    }
}

struct walk {
    bool far;
    const char *to, *gait;
    uint64_t steps;
    double pace;
    int shoes;
    char seen[64];
};

static bool take_seen(void *options, const char *name, char *value, struct error *error)
{
    struct walk *walk = options;
    if (strcmp(value, "fog") == 0)
        return error_input(error, "%s: '%s' cannot be seen", name, value);
    const size_t used = strlen(walk->seen);
    (void)snprintf(walk->seen + used, sizeof walk->seen - used, "%s;", value);
    return true;
}

static const struct cli_option walk_table[] = {
    {.name = "--far",
     .help = "on and on",
     .kind = OPTION_FLAG,
     .place = offsetof(struct walk, far)},
    {.name = "--to",
     .value = "PLACE",
     .help = "where it ends",
     .kind = OPTION_TEXT,
     .required = true,
     .place = offsetof(struct walk, to)},
    {.name = "--steps",
     .value = "N",
     .help = "how many, and since this takes more than one line to say it is broken where a word "
             "ends – by columns, not bytes",
     .kind = OPTION_WHOLE,
     .place = offsetof(struct walk, steps),
     .least = 1,
     .most = 9},
    {.name = "--pace",
     .value = "X",
     .help = "metres a second",
     .kind = OPTION_NUMBER,
     .place = offsetof(struct walk, pace),
     .low = 0.5,
     .high = 2},
    {.name = "--shoes",
     .value = "boots|sandals|trainers",
     .help = "what to wear",
     .kind = OPTION_CHOICE,
     .place = offsetof(struct walk, shoes)},
    {.name = "--gait",
     .value = "amble|stride",
     .help = "how",
     .kind = OPTION_WORD,
     .place = offsetof(struct walk, gait)},
    {.name = "--see",
     .value = "SIGHT",
     .help = "may be given again",
     .kind = OPTION_TAKE,
     .repeated = true,
     .take = take_seen},
    {.name = NULL},
};

static const struct command command_walk = {
    .name = "walk", .operands = "FROM [VIA…]", .options = walk_table};

enum { WORDS_MOST = 24 };

/* The words of `line` parsed as a command line of `command`; argv's strings lie in `line`. */
static bool parse(const struct command *command, char *line, int *argc, char **argv,
                  struct walk *walk, struct error *error)
{
    *argc = 0;
    *walk = (struct walk){.steps = 7};
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(*argc < WORDS_MOST - 1);
        argv[(*argc)++] = word;
    }
    argv[*argc] = NULL;
    return cli_parse(command, argc, argv, walk, error);
}

CASE(options_and_operands_may_stand_in_any_order)
{
    static const char *const lines[] = {
        "walk --far home --to sea --steps 3 --pace 1.5 --shoes sandals --gait stride --see a inn "
        "--see b",
        "walk home inn --see a --see b --gait=stride --shoes=sandals --pace=1.5 --steps=3 --to=sea "
        "--far",
        "walk --to desert --see a --steps 3 --pace 1.5 --shoes sandals --gait stride --see b "
        "--to=sea --far -- home inn"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *argv[WORDS_MOST];
        int argc;
        struct walk walk;
        if (!parse(&command_walk, formatted("%s", lines[i]), &argc, argv, &walk, hear()))
            fail_msg("%s: %s", lines[i], heard.message);
        assert_int_equal(argc, 3);
        assert_string_equal(argv[1], "home");
        assert_string_equal(argv[2], "inn");
        assert_true(walk.far);
        assert_string_equal(walk.to, "sea");
        assert_int_equal(walk.steps, 3);
        assert_true(walk.pace == 1.5);
        assert_int_equal(walk.shoes, 1);
        assert_string_equal(walk.gait, "stride");
        assert_string_equal(walk.seen, "a;b;");
    }
}

CASE(what_is_not_given_keeps_its_default)
{
    char line[] = "walk - --to sea", *argv[WORDS_MOST];
    int argc;
    struct walk walk;
    assert_true(parse(&command_walk, line, &argc, argv, &walk, hear()));
    assert_int_equal(argc, 2);
    assert_string_equal(argv[1], "-");
    assert_int_equal(walk.steps, 7);
    assert_false(walk.far);
    assert_null(walk.gait);
}

CASE(every_fault_of_the_command_line_is_told_by_name)
{
    static const struct refusal cases[] = {
        {"walk", "walk: FROM is missing; usage: esgsim walk FROM [VIA…] --to PLACE [--far] "},
        {"walk home", "walk: --to PLACE is missing; usage: "},
        {"walk home --to", "walk: --to lacks its value PLACE; usage: "},
        {"walk home --to --far", "walk: --to lacks its value PLACE; usage: "},
        {"walk home --to sea --fra", "walk: unknown option '--fra', did you mean '--far'; usage: "},
        {"walk home --to sea --setps=3",
         "walk: unknown option '--setps=3', did you mean '--steps'"},
        {"walk home --to sea --umbrella", "walk: unknown option '--umbrella'; usage: "},
        {"walk home --to sea -f", "walk: unknown option '-f'"},
        {"walk home --to sea --far=yes", "walk: --far takes no value; usage: "},
        {"walk home --to sea --steps 10", "--steps: '10' is not a whole number from 1 to 9"},
        {"walk home --to sea --steps=", "walk: --steps lacks its value N; usage: "},
        {"walk home --to sea --pace 3", "--pace: '3' is not a number from 0.5 to 2"},
        {"walk home --to sea --shoes sandal",
         "--shoes: 'sandal' is unknown, did you mean 'sandals'; give boots, sandals or trainers"},
        {"walk home --to sea --gait crawl", "--gait: 'crawl' is unknown; give amble or stride"},
        {"walk home --to sea --gait ambl", "--gait: 'ambl' is unknown, did you mean 'amble'; give"},
        {"walk home --to sea --see=", "walk: --see lacks its value SIGHT; usage: "},
        {"walk home --to sea --see fog", "--see: 'fog' cannot be seen"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *argv[WORDS_MOST];
        int argc;
        struct walk walk;
        char *line = formatted("%s", cases[i].text);
        assert_bad_input(parse(&command_walk, line, &argc, argv, &walk, hear()), "");
        if (strncmp(heard.message, cases[i].words, strlen(cases[i].words)) != 0)
            fail_msg("%s: %s", cases[i].text, heard.message);
    }
}

CASE(an_operand_too_many_is_refused)
{
    const struct command one = {.name = "walk", .operands = "FROM", .options = walk_table};
    const struct command none = {.name = "walk", .options = walk_table};
    char first[] = "walk home --to sea inn", second[] = "walk home", empty[] = "";
    char *argv[WORDS_MOST] = {(char *)"walk", empty, (char *)"--to", (char *)"sea", NULL};
    int argc;
    struct walk walk;
    argc = 4;
    assert_bad_input(cli_parse(&one, &argc, argv, &walk, hear()),
                     "walk: an operand is empty; usage: ");
    assert_bad_input(parse(&one, first, &argc, argv, &walk, hear()),
                     "walk: unexpected 'inn'; usage: esgsim walk FROM");
    assert_bad_input(parse(&none, second, &argc, argv, &walk, hear()),
                     "walk: unexpected 'home'; usage: esgsim walk --to");
}

CASE(settings_are_keys_and_values_in_their_order)
{
    struct cli_settings settings = {0};
    char good[] = "a.b=c=d", empty[] = "x=", *const bad[] = {"=1", "a", ""};
    assert_true(cli_settings_add(&settings, "seed", "3", hear()));
    assert_true(cli_settings_add_text(&settings, good, hear()));
    assert_true(cli_settings_add_text(&settings, empty, hear()));
    assert_int_equal(settings.count, 3);
    assert_string_equal(settings.list[0].value, "3");
    assert_string_equal(settings.list[1].key, "a.b");
    assert_string_equal(settings.list[1].value, "c=d");
    assert_string_equal(settings.list[2].value, "");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_bad_input(cli_settings_add_text(&settings, bad[i], hear()),
                         "--set: wants KEY=VALUE");
    while (settings.count < CLI_SETTINGS_MAX)
        assert_true(cli_settings_add(&settings, "k", "v", hear()));
    assert_false(cli_settings_add(&settings, "k", "v", hear()));
    assert_int_equal(settings.count, CLI_SETTINGS_MAX);
}

CASE(help_lays_the_table_out_in_two_columns)
{
    char text[1024] = "";
    FILE *memory = fmemopen(text, sizeof text, "w");
    FILE *stream = text_open(memory);
    cli_print_options(stream, &command_walk);
    (void)fclose(stream);
    (void)fclose(memory);
    assert_string_equal(
        text, "  --far                on and on\n"
              "  --to PLACE           where it ends\n"
              "  --steps N            how many, and since this takes more than one line to say\n"
              "                       it is broken where a word ends – by columns, not bytes\n"
              "  --pace X             metres a second\n"
              "  --shoes boots|sandals|trainers\n"
              "                       what to wear\n"
              "  --gait amble|stride  how\n"
              "  --see SIGHT          may be given again\n");
}

CASE(a_usage_error_names_the_command_the_fault_and_the_usage)
{
    assert_bad_input(cli_usage_error(&command_walk, hear(), "too far"), "");
    assert_string_equal(heard.message,
                        "walk: too far; usage: esgsim walk FROM [VIA…] --to PLACE [--far] "
                        "[--steps N] [--pace X] [--shoes boots|sandals|trainers] "
                        "[--gait amble|stride] [--see SIGHT]…");
}

SUITE("options")
