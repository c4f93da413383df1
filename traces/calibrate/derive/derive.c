/* Builds every shipped profile from the raw measurements. The option --cpu-fraction is for
 * sensitivity sweeps. Reconstructions without and with a large CPU fraction are shipped too, and
 * two whose time on the GPU is measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "traces/calibrate/derive/derive.h"

static const char usage[] =
    "usage: derive-profiles [--raw FOLDER] [--cpu-fraction X] [--out FOLDER]\n"
    "Builds the shipped profiles from the raw measurements.\n"
    "  --raw FOLDER      measurements (default traces/profiles/raw)\n"
    "  --out FOLDER      where the profiles are written (default traces/profiles)\n"
    "  --cpu-fraction X  0..1, the CPU's part of esg-reconstructed.json (default: as assumed\n"
    "                    in raw/esg/assumptions.csv)\n";

/* `given` NULL: the assumed CPU fraction. */
static bool derive_all(const char *folder, const char *out, const char *given, struct error *error)
{
    struct raw raw;
    char *end = NULL;
    bool fine = raw_open(&raw, folder, error);
    const double fraction =
        given == NULL ? raw_number(raw.assumed, "cpu_fraction") : strtod(given, &end);
    if (given != NULL && (end == given || *end != '\0' || !(fraction >= 0 && fraction <= 1)))
        fine = error_input(error, "--cpu-fraction %s: give a number from 0 to 1", given);
    const struct esg_variant variants[] = {
        {"esg-reconstructed.json", false, fraction},
        {"esg-reconstructed-cpu0.json", false, 0},
        {"esg-reconstructed-cpu50.json", false, 0.5},
        {"esg-reconstructed-absolute50.json", true, 0.5},
        {"esg-reconstructed-absolute80.json", true, 0.8},
    };
    fine = fine && derive_parvagpu(&raw, out, error) && derive_igniter(&raw, out, error);
    for (size_t i = 0; fine && i < sizeof variants / sizeof variants[0]; i++)
        fine = derive_esg(&raw, &variants[i], out, error);
    raw_close(&raw);
    return fine;
}

int main(int argc, char **argv)
{
    const char *raw = "traces/profiles/raw";
    const char *out = "traces/profiles";
    const char *fraction = NULL;
    const struct {
        const char *name, **value;
    } options[] = {{"--raw", &raw}, {"--out", &out}, {"--cpu-fraction", &fraction}};
    struct error error = {0};
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        while (k < 3 && strcmp(argv[i], options[k].name) != 0)
            k++;
        if (k == 3 || i + 1 == argc) {
            const bool help = strcmp(argv[i], "--help") == 0;
            (void)fputs(usage, help ? stdout : stderr);
            return help ? 0 : 2;
        }
        *options[k].value = argv[i + 1];
    }
    gsl_set_error_handler_off();
    if (derive_all(raw, out, fraction, &error))
        return 0;
    (void)fprintf(stderr, "%s\n", error.message);
    return error.kind == ERROR_INPUT ? 2 : 1;
}
