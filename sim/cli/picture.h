/* Charts as pictures, of commands that draw one. */
#ifndef ESGSIM_SIM_CLI_PICTURE_H
#define ESGSIM_SIM_CLI_PICTURE_H

#include "plots/plot.h"
#include "sim/cli/cli.h"

/* Entries of a table of options: how a figure looks, into `member` of the command's struct. */
#define CLI_STYLE(type, member)                                                                    \
    {"--size", "column|page|slide",                                                                \
     "a figure for print, one column (3.33 in) or the full width (7 in), with text of at least "   \
     "7 pt; or for a 16:9 slide with larger text. Larger figures are divided into numbered "       \
     "files",                                                                                      \
     .kind = OPTION_WORD, .place = offsetof(type, member.size)},                                   \
        {"--no-title", NULL, "omit the title; the plot gets its space",                            \
         CLI_MEMBER(type, member.no_title)},                                                       \
    {                                                                                              \
        "--no-caption", NULL,                                                                      \
            "omit the caption; the plot gets its space. The CSV keeps it in its column "           \
            "\"caption\"",                                                                         \
            CLI_MEMBER(type, member.no_caption)                                                    \
    }

/* A picture in a file of the user's choice, and its options. */
struct picture {
    const char *file; /* NULL: none */
    struct picture_style style;
};
#define CLI_PICTURE(type, member)                                                                  \
    {"--out", "F.svg", "draw it as F.svg, .png or .pdf with gnuplot, too; its data are in F.csv",  \
     CLI_MEMBER(type, member.file)},                                                               \
        CLI_STYLE(type, member.style)

/* Draws the chart, if a picture is wanted (sim/cli/plot.c). ERROR_INPUT: the file has another
 * ending or cannot be written; ERROR_RUN: gnuplot is missing or fails. */
bool picture_draw(const struct picture *picture, const struct chart *chart, struct error *error);

#endif
