/* Reads the fields of the data files of trainings, one after the other. */
#ifndef ESGSIM_TESTS_READ_NUMBERS_H
#define ESGSIM_TESTS_READ_NUMBERS_H

#include "tests/fixture_simulation.h"
#include "tests/suite.h"

/* The next number after blanks, commas, "#" and "+"; advances *text. */
static inline double next_number(char **text)
{
    char *end = NULL;
    *text += strspn(*text, " ,#+");
    const double value = strtod(*text, &end);
    assert_true(end != *text);
    *text = end;
    return value;
}

/* The next word of letters, digits and underscores after the same, cut in place. */
static inline const char *next_word(char **text)
{
    char *word = *text + strspn(*text, " ,#+");
    const size_t length = strcspn(word, " ,");
    *text = word + length;
    if (**text != '\0')
        *(*text)++ = '\0';
    return word;
}

#endif
