/* Text for people: lines are folded at blanks to the width of the terminal.
 *
 * A line that is too long goes on below, indented as far as its text: behind the first gap of two
 * blanks ("  note       text"), or else as the line itself and two blanks. A word longer than a
 * line is kept whole, and so are a number with its unit, and a command, which can be pasted. Widths
 * are in characters of UTF-8. What programs read (JSON, CSV) is not written through here.
 */
#ifndef ESGSIM_SIM_BASE_TEXT_H
#define ESGSIM_SIM_BASE_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Characters of a line: ESGSIM_WIDTH, if it is set; on a terminal, after text_begin, COLUMNS or the
 * window's; otherwise 80, so that files and pipes have the same bytes everywhere. */
size_t text_line_width(void);

/* From here on standard output is text for people, until the process closes it. On a terminal,
 * headings ("== ") are bold and warnings yellow, unless NO_COLOR is set. Calling it again changes
 * nothing. */
void text_begin(void);

/* Standard error for messages, whose lines are folded to its width if it is a terminal; else each
 * remains one line. */
FILE *text_messages(void);

/* Returns a stream that folds and writes to `out`, which stays open. Close it with fclose, whose
 * result also tells of `out`. NULL: memory exhausted. */
FILE *text_open(FILE *out);

/* Characters of the first `bytes` of a text. */
size_t text_width(const char *text, size_t bytes);

/* Writes a time in its unit: "64.446 s", "203.106 ms", "68.4 us"; "none" for NAN. */
enum { TEXT_TIME = 32 };
const char *text_time(double seconds, char text[TEXT_TIME]);

#endif
