/* Folding: where a line breaks, and where the lines below begin. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/text.h"
#include "tests/suite.h"

/* What becomes of a text in lines of 40 characters. */
static char *folded(const char *text)
{
    assert_int_equal(setenv("ESGSIM_WIDTH", "40", 1), 0);
    MEMORY_STREAM(memory, bytes);
    FILE *stream = must(text_open(memory));
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(fclose(memory), 0);
    return bytes;
}

CASE(lines_break_at_words_and_go_on_below_their_text)
{
    static const char *const cases[][2] = {
        {"short\n", "short\n"},
        {"\n\n", "\n\n"},
        {"forty characters are not folded at all..\n",
         "forty characters are not folded at all..\n"},
        {"a sentence of more than forty characters is\n",
         "a sentence of more than forty characters\nis\n"},
        {"warning: what follows a label goes on a bit indented\n",
         "warning: what follows a label goes on a\n  bit indented\n"},
        {"  note       text behind a gap goes on below it\n",
         "  note       text behind a gap goes on\n             below it\n"},
        {"– characters – not bytes – are counted – –\n",
         "– characters – not bytes – are counted –\n–\n"},
        {"a number stays with its unit: always 12.5 ms\n",
         "a number stays with its unit: always\n12.5 ms\n"},
        {"a_word_that_is_longer_than_forty_characters_is_kept whole\n",
         "a_word_that_is_longer_than_forty_characters_is_kept\nwhole\n"},
        {"an unfinished line", "an unfinished line"},
        {"trailing blanks go   \n", "trailing blanks go\n"},
        {"Example: esgsim run file.json --policies esg,fifo\n",
         "Example: esgsim run file.json --policies esg,fifo\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        STRING *text = folded(cases[i][0]);
        assert_string_equal(text, cases[i][1]);
    }
}

CASE(widths_that_make_no_sense_are_not_taken)
{
    assert_int_equal(setenv("ESGSIM_WIDTH", "132", 1), 0);
    assert_int_equal(text_line_width(), 132);
    static const char *const senseless[] = {"", "0", "5", "wide", "-1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
        assert_int_equal(setenv("ESGSIM_WIDTH", senseless[i], 1), 0);
        assert_int_equal(text_line_width(), 80);
    }
}

CASE(times_have_the_unit_that_reads_best)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{64.446, "64.446 s"}, {0.4, "400.000 ms"}, {0.2031062, "203.106 ms"},
                 {68.4e-6, "68.4 us"}, {0, "0.000 ms"},     {-0.002, "-2.000 ms"},
                 {NAN, "none"}};
    char text[TEXT_TIME];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_time(cases[i].seconds, text), cases[i].text);
}

SUITE("text")
