#include "sim/run/progress_bar.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/base/clock.h"

enum { BAR_CELLS = 30 };

void progress_bar_start(struct progress_bar *progress_bar, const char *unit, bool quiet)
{
    double now = clock_s();
    *progress_bar = (struct progress_bar){.unit = unit,
                                          .quiet = quiet,
                                          .terminal = isatty(STDERR_FILENO) == 1,
                                          .started_s = now,
                                          .shown_s = now};
}

static void print_duration(double seconds)
{
    unsigned long whole = seconds < 0 || seconds > 1e9 ? 0 : (unsigned long)(seconds + 0.5);
    if (whole >= 3600)
        (void)fprintf(stderr, "%lu h %02lu min", whole / 3600, whole / 60 % 60);
    else if (whole >= 60)
        (void)fprintf(stderr, "%lu min %02lu s", whole / 60, whole % 60);
    else
        (void)fprintf(stderr, "%lu s", whole);
}

void progress_bar_update(struct progress_bar *progress_bar, uint64_t done, uint64_t total)
{
    double now = clock_s();
    progress_bar->done = done;
    if (progress_bar->quiet || total == 0 ||
        now - progress_bar->shown_s < (progress_bar->terminal ? 0.1 : 10))
        return;
    progress_bar->shown_s = now;
    progress_bar->drawn = true;
    double share = (double)done / (double)total;
    double rate =
        now > progress_bar->started_s ? (double)done / (now - progress_bar->started_s) : 0;
    if (progress_bar->terminal) {
        (void)fputs("\r\033[K[", stderr);
        for (int i = 0; i < BAR_CELLS; i++)
            (void)fputc(i < (int)(share * BAR_CELLS) ? '#' : '.', stderr);
        (void)fputs("] ", stderr);
    }
    (void)fprintf(stderr, "%" PRIu64 " of %" PRIu64 " %s, %.1f per s", done, total,
                  progress_bar->unit, rate);
    if (rate > 0) {
        (void)fputs(", ", stderr);
        print_duration((double)(total - done) / rate);
        (void)fputs(" left", stderr);
    }
    if (!progress_bar->terminal)
        (void)fputc('\n', stderr);
    (void)fflush(stderr);
}

void progress_bar_end(struct progress_bar *progress_bar)
{
    if (progress_bar->drawn && progress_bar->terminal)
        (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    progress_bar->drawn = false;
}
