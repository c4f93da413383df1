/* Builds every shipped profile from the raw measurements.
 *
 *   derive-profiles [--raw FOLDER] [--cpu-fraction X] [--out FOLDER]
 *
 * Without options it reads traces/profiles/raw and writes traces/profiles. --cpu-fraction changes
 * the assumed CPU fraction of the reconstruction, for sensitivity sweeps. Variants without and with
 * a large CPU fraction are shipped too, and two whose time on the GPU is measured.
 */
#include <getopt.h>
#include <math.h>
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

/* `fraction` NAN: the assumed one. */
static bool derive_all(const char *folder, const char *out, double fraction, struct error *error)
{
    struct raw raw;
    bool fine = raw_open(&raw, folder, error);
    if (fine && isnan(fraction))
        fraction = raw_number(raw.assumed, "cpu_fraction");
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
    static const struct option known[] = {{"raw", required_argument, NULL, 'r'},
                                          {"out", required_argument, NULL, 'o'},
                                          {"cpu-fraction", required_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const char *raw = "traces/profiles/raw";
    const char *out = "traces/profiles";
    double fraction = NAN;
    struct error error = {0};
    int option = 0;
    while (optind <= argc && (option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        char *end = NULL;
        if (option == 'r')
            raw = optarg;
        else if (option == 'o')
            out = optarg;
        else if (option == 'c')
            fraction = strtod(optarg, &end);
        else if (option == 'h')
            return fputs(usage, stdout) < 0;
        else
            optind = argc + 1;
        if (option == 'c' && (end == optarg || *end != '\0' || !(fraction >= 0 && fraction <= 1))) {
            (void)fprintf(stderr, "--cpu-fraction %s: give a number from 0 to 1\n", optarg);
            return 2;
        }
    }
    if (optind != argc) {
        (void)fputs(usage, stderr);
        return 2;
    }
    gsl_set_error_handler_off();
    if (derive_all(raw, out, fraction, &error))
        return 0;
    (void)fprintf(stderr, "%s\n", error.message);
    return error.kind == ERROR_INPUT ? 2 : 1;
}
