/* Tables of any form: every row has all columns, by a header of its own or a given one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "traces/readers/listing.h"

static void read_as(const char *path, struct listing_options *options)
{
    struct line_reader lines = {0};
    struct listing listing = {.lines = &lines, .options = options, .blanks = true};
    struct error error = {0};
    char *line = NULL, advice[512];
    char *first = line_reader_open(&lines, path, &error) ? line_reader_peek(&lines) : NULL;
    if (first != NULL && strlen(listing_advice(path, first, 0, advice, sizeof advice)) == 0)
        abort();
    if (line_reader_next(&lines, &line, &error) == LINE_READ &&
        listing_open(&listing, line, &error)) {
        const char *const paths[] = {"a", "a.0.b", "a.-1", "t"};
        for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
            (void)listing_column(&listing, paths[i]);
        size_t bytes = 0;
        while (listing_next(&listing, &error) == LINE_READ)
            for (size_t c = 0; c < listing.count; c++)
                bytes += strlen(listing.fields[c]);
        if (bytes > 64UL << 20)
            abort();
    }
    if (error.kind != ERROR_NONE)
        input_require_refusal(&error);
    listing_close(&listing);
    line_reader_close(&lines);
    free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int given = 0; given < 2; given++) {
        struct listing_options options = {.header = given == 1 ? "a,b,\"c d\"" : NULL};
        char value[] = "a!=1", other[] = "a=2";
        struct error error = {0};
        char path[64];
        (void)listing_add_rule(&options, "--where", value, false, &error);
        (void)listing_add_rule(&options, "--where", other, false, &error);
        int file = input_open(data, size, path);
        read_as(path, &options);
        (void)close(file);
    }
    return 0;
}
