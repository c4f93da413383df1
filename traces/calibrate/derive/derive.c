/* Builds every shipped profile from the raw measurements.
 *
 *   derive-profiles [--raw FOLDER] [--cpu-fraction X] [--out FOLDER | FOLDER]
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

struct options {
    const char *raw;
    const char *out;
    double cpu_fraction; /* NAN: the assumed one */
};

static const char usage[] =
    "usage: derive-profiles [--raw FOLDER] [--cpu-fraction X] [--out FOLDER | FOLDER]\n"
    "Builds the shipped profiles from the raw measurements.\n"
    "  --raw FOLDER      measurements (default traces/profiles/raw)\n"
    "  --out FOLDER      where the profiles are written (default traces/profiles)\n"
    "  --cpu-fraction X  0..1, the CPU's part of esg-reconstructed.json (default: as assumed\n"
    "                    in raw/esg/assumptions.csv)\n";

static bool derive_all(const struct options *options, struct error *error)
{
    struct raw raw;
    bool fine = raw_open(&raw, options->raw, error);
    double fraction = options->cpu_fraction;
    if (fine && isnan(fraction))
        fraction = raw_assumption(&raw, "cpu_fraction");
    fine = fine && derive_parvagpu(&raw, options->out, error) &&
           derive_igniter(&raw, options->out, error);
    const struct esg_variant variants[] = {
        {"esg-reconstructed.json", false, fraction},
        {"esg-reconstructed-cpu0.json", false, 0},
        {"esg-reconstructed-cpu50.json", false, 0.5},
        {"esg-reconstructed-absolute50.json", true, 0.5},
        {"esg-reconstructed-absolute80.json", true, 0.8},
    };
    for (size_t i = 0; fine && i < sizeof variants / sizeof variants[0]; i++)
        fine = derive_esg(&raw, &variants[i], options->out, error);
    raw_close(&raw);
    return fine;
}

/* Returns false on bad usage; sets *help for --help. */
static bool read_options(int argc, char **argv, struct options *options, bool *help)
{
    static const struct option known[] = {{"raw", required_argument, NULL, 'r'},
                                          {"out", required_argument, NULL, 'o'},
                                          {"cpu-fraction", required_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option = 0;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        char *end = NULL;
        if (option == 'r') {
            options->raw = optarg;
        } else if (option == 'o') {
            options->out = optarg;
        } else if (option == 'h') {
            *help = true;
        } else if (option == 'c') {
            options->cpu_fraction = strtod(optarg, &end);
            if (end == optarg || *end != '\0' ||
                !(options->cpu_fraction >= 0 && options->cpu_fraction <= 1)) {
                (void)fprintf(stderr, "--cpu-fraction %s: give a number from 0 to 1\n", optarg);
                return false;
            }
        } else {
            return false;
        }
    }
    if (optind < argc)
        options->out = argv[optind++];
    return optind == argc;
}

int main(int argc, char **argv)
{
    struct options options = {"traces/profiles/raw", "traces/profiles", NAN};
    struct error error = {0};
    bool help = false;
    if (!read_options(argc, argv, &options, &help)) {
        (void)fputs(usage, stderr);
        return 2;
    }
    if (help) {
        (void)fputs(usage, stdout);
        return 0;
    }
    gsl_set_error_handler_off();
    if (!derive_all(&options, &error)) {
        (void)fprintf(stderr, "%s\n", error.message);
        return error.kind == ERROR_INPUT ? 2 : 1;
    }
    return 0;
}
