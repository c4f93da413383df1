/* esgsim calibrate --check: the shipped public data sets, and the errors that they must not exceed.
 */
#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/json_write.h"
#include "sim/cli/calibrate.h"
#include "sim/cli/cli.h"
#include "workloads/load/json_include.h"

/* Targets in percent for the leave-one-out error on inner points; 0: none. */
struct public_set {
    const char *name;
    const char *files[2];
    double function_target; /* each function */
    double set_target;      /* all functions together */
    double interference_target;
};

#define RAW "traces/profiles/raw/"

static const struct public_set public_sets[] = {
    {"iGniter", {RAW "igniter/solo.csv", RAW "igniter/pairs.csv"}, 2.5, 0, 2.5},
    {"ParvaGPU", {RAW "parvagpu/parvagpu_all.csv", NULL}, 0, 5, 0},
    {"Dilu", {RAW "dilu/dilu_all.csv", NULL}, 0, 5, 0},
    {"INFless", {RAW "infless/infless_profiles_clean.csv", NULL}, 0, 0, 0},
    {"SGPRS", {RAW "sgprs/speedup.csv", NULL}, 0, 0, 0},
};

struct verdicts {
    cJSON *list; /* NULL: print text */
    size_t missed, asked;
};

static void judge(struct verdicts *verdicts, const struct public_set *set, const char *what,
                  double fraction, double naive, double target)
{
    double percent = 100 * fraction;
    bool met = percent <= target;
    if (target == 0)
        return;
    verdicts->asked++;
    verdicts->missed += !met;
    if (verdicts->list == NULL) {
        printf("  %s %s: %.2f %%, target %.2f %%: %s (naive %.2f %%)\n", set->name, what, percent,
               target, met ? "met" : "missed", 100 * naive);
        return;
    }
    json_put(json_append(verdicts->list), "set %s what %s mape %g naive_mape %g target %g met %hhd",
             set->name, what, percent, 100 * naive, target, met);
}

static void judge_set(struct verdicts *verdicts, const struct public_set *set,
                      const struct calibration *calibration)
{
    const struct interference_fit *interference = &calibration->interference;
    for (size_t i = 0; i < calibration->surface_count; i++) {
        const struct calibrated_surface *entry = &calibration->surfaces[i];
        judge(verdicts, set, calibration->set->functions.names[entry->function],
              entry->surface.errors[FOLD_POINT].inner.mape, entry->surface.naive.inner.mape,
              set->function_target);
    }
    judge(verdicts, set, "all functions", calibration_error(calibration, FOLD_POINT, true).mape,
          calibration_naive_error(calibration, true).mape, set->set_target);
    if (calibration->has_interference)
        judge(verdicts, set, "interference",
              interference->errors[interference->choice][FOLD_LOCATION].mape,
              interference->none.mape, set->interference_target);
}

static bool check_set(const struct calibrate_request *request, const struct public_set *public_set,
                      cJSON *reports, struct verdicts *verdicts, struct error *error)
{
    const char *files[2] = {NULL, NULL};
    size_t count = 0;
    struct sample_set set = {0};
    struct calibration calibration = {0};
    struct arena *arena = arena_create();
    for (; count < 2 && public_set->files[count] != NULL; count++)
        files[count] = json_include_operand(arena, public_set->files[count]);
    const bool fine = calibrate_files(request, files, count, false, &set, &calibration, error);
    if (fine && reports != NULL)
        (void)cJSON_AddItemToArray(reports, calibrate_report_json(public_set->name, &calibration));
    else if (fine)
        calibrate_report_text(stdout, public_set->name, &calibration);
    if (fine)
        judge_set(verdicts, public_set, &calibration);
    if (fine && reports == NULL)
        (void)putchar('\n');
    arena_destroy(arena);
    calibration_clear(&calibration);
    samples_clear(&set);
    return fine;
}

bool calibrate_check(const struct calibrate_request *request, struct error *error)
{
    struct verdicts verdicts = {0};
    cJSON *root = request->json ? cJSON_CreateObject() : NULL;
    cJSON *reports = root == NULL ? NULL : cJSON_AddArrayToObject(root, "sets");
    bool fine = true;
    if (root != NULL)
        verdicts.list = cJSON_AddArrayToObject(root, "targets");
    for (size_t i = 0; fine && i < sizeof public_sets / sizeof public_sets[0]; i++)
        fine = check_set(request, &public_sets[i], reports, &verdicts, error);
    if (fine && root != NULL)
        fine = cli_print_json(root, error);
    else
        cJSON_Delete(root);
    if (!fine || verdicts.missed == 0)
        return fine;
    return error_run(error, "calibrate: %zu of %zu targets missed", verdicts.missed,
                     verdicts.asked);
}
