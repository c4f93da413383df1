#include "sim/cli/calibrate.h"

#include <math.h>

#include "results/report/table.h"
#include "sim/base/json_write.h"

enum { PERCENT = 100 };

/* NAN: nothing was left out. */
static double mape_of(const struct mean_error *error)
{
    return error->count > 0 ? error->mape : NAN;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void surface_row(struct text_table *table, const struct calibration *calibration,
                        const struct calibrated_surface *entry)
{
    const struct surface_errors *errors = entry->surface.errors, *naive = &entry->surface.naive;
    char most[16] = "";
    if (entry->vcpu[0] != entry->vcpu[1])
        (void)snprintf(most, sizeof most, "-%d", entry->vcpu[1]);
    text_table_add(table, "%s%s\t%d%s\t%zu\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f",
                   calibration->set->functions.names[entry->function],
                   entry->on_gpu ? "" : " (no GPU)", entry->vcpu[0], most, entry->count,
                   PERCENT * errors[FOLD_POINT].inner.mape, PERCENT * naive->inner.mape,
                   PERCENT * errors[FOLD_POINT].all.mape, PERCENT * naive->all.mape,
                   PERCENT * errors[FOLD_SHARE].inner.mape, PERCENT * errors[FOLD_BATCH].inner.mape,
                   PERCENT * errors[FOLD_LEAST_SHARES].all.mape,
                   PERCENT * errors[FOLD_LARGEST_BATCHES].all.mape);
}

static double percent_of(const struct calibration *calibration, enum surface_fold fold, bool inner)
{
    return PERCENT * calibration_error(calibration, fold, inner).mape;
}

static void total_row(struct text_table *table, const struct calibration *calibration)
{
    size_t points = 0;
    for (size_t i = 0; i < calibration->surface_count; i++)
        points += calibration->surfaces[i].count;
    text_table_add(table, "all\t\t%zu\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f", points,
                   percent_of(calibration, FOLD_POINT, true),
                   PERCENT * calibration_naive_error(calibration, true).mape,
                   percent_of(calibration, FOLD_POINT, false),
                   PERCENT * calibration_naive_error(calibration, false).mape,
                   percent_of(calibration, FOLD_SHARE, true),
                   percent_of(calibration, FOLD_BATCH, true),
                   percent_of(calibration, FOLD_LEAST_SHARES, false),
                   percent_of(calibration, FOLD_LARGEST_BATCHES, false));
}

static void surfaces_text(FILE *out, const struct calibration *calibration)
{
    static const char *const headers[] = {
        "function", "vCPU",  "points", "inner point",  "naive",          "point",
        "naive",    "share", "batch",  "least shares", "largest batches"};
    struct text_table *table = text_table_create(headers, sizeof headers / sizeof headers[0]);
    for (size_t i = 0; i < calibration->surface_count; i++)
        surface_row(table, calibration, &calibration->surfaces[i]);
    total_row(table, calibration);
    text_table_print(table, 2, out);
}

static void interference_text(FILE *out, const struct interference_fit *fit)
{
    static const char *const headers[] = {"interference", "co-location", "batches",
                                          "functions",    "groups",      "met once",
                                          "twice",        "4 times",     "8 times"};
    const size_t columns = sizeof headers / sizeof headers[0];
    struct text_table *table = text_table_create(headers, columns);
    for (int kind = 0; kind <= INTERFERENCE_LAWS; kind++) {
        const bool law = kind < INTERFERENCE_LAWS;
        text_table_row(table);
        text_table_cell(table, 0, "%s%s", law ? interference_law_names[kind] : "none (naive)",
                        fit->choice == kind ? " (chosen)" : "");
        for (size_t c = 1; c < columns; c++) {
            const size_t fold = c - 1, met = fold - INTERFERENCE_FOLDS;
            const double mape = !law                        ? fit->none.mape
                                : fold < INTERFERENCE_FOLDS ? mape_of(&fit->errors[kind][fold])
                                                            : mape_of(&fit->met[kind][met]);
            text_table_cell(table, c, isnan(mape) ? "-" : "%.2f", PERCENT * mape);
        }
    }
    text_table_print(table, 2, out);
    if (fit->errors[fit->choice][FOLD_GROUPS].count > 0)
        (void)fprintf(out,
                      "  groups: %zu slowdowns among three or more, predicted by the sum of the "
                      "excesses of pairs\n",
                      fit->errors[fit->choice][FOLD_GROUPS].count);
}

static void unseen_text(FILE *out, const struct unseen_pairs *unseen)
{
    static const char *const headers[] = {"level of a pair, all else known", "seen", "left out"};
    struct text_table *table = text_table_create(headers, sizeof headers / sizeof headers[0]);
    for (int i = 0; i < UNSEEN_LEVELS; i++)
        text_table_add(table, "%s\t%.2f\t%.2f", unseen_level_names[i], PERCENT * unseen->seen[i],
                       PERCENT * unseen->left_out[i]);
    text_table_print(table, 2, out);
}

void calibrate_report_text(FILE *out, const char *name, const struct calibration *calibration)
{
    (void)fprintf(out, "%s: cross-validation errors, mean |predicted / measured - 1| in %%\n",
                  name);
    if (calibration->set->left_out != NULL)
        (void)fprintf(out, "  %s\n", calibration->set->left_out);
    if (calibration->set->unit != calibration->set->base)
        (void)fprintf(out, "  shares are fractions: the unit is 1/%d of a GPU in place of 1/%d\n",
                      calibration->set->unit, calibration->set->base);
    if (calibration->surface_count > 0)
        surfaces_text(out, calibration);
    if (calibration->has_interference)
        interference_text(out, &calibration->interference);
    if (calibration->unseen.pairs > 0)
        unseen_text(out, &calibration->unseen);
    (void)fputc('\n', out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_percent(cJSON *object, const char *key, double fraction)
{
    (void)cJSON_AddNumberToObject(object, key, PERCENT * fraction);
}

static void put_errors(cJSON *object, const char *key, const struct surface_errors *errors)
{
    json_put(cJSON_AddObjectToObject(object, key),
             "inner %g inner_points %zu all %g points %zu worst %g", PERCENT * errors->inner.mape,
             errors->inner.count, PERCENT * errors->all.mape, errors->all.count,
             PERCENT * errors->all.worst);
}

static void put_surface(cJSON *object, const struct calibration *calibration,
                        const struct calibrated_surface *entry)
{
    json_put(object, "function %s vcpu %d most_vcpu %d gpu %hhd points %zu",
             calibration->set->functions.names[entry->function], entry->vcpu[0], entry->vcpu[1],
             entry->on_gpu, entry->count);
    cJSON *by_fold = cJSON_AddObjectToObject(object, "left_out");
    for (int fold = 0; fold < SURFACE_FOLDS; fold++)
        put_errors(by_fold, surface_fold_names[fold], &entry->surface.errors[fold]);
    put_errors(object, "naive", &entry->surface.naive);
    cJSON *law = cJSON_AddObjectToObject(object, "law_coefficients");
    for (int i = 0; i < LAW_COEFFICIENTS; i++)
        (void)cJSON_AddNumberToObject(law, latency_coefficient_names[i],
                                      latency_model_law(&entry->surface.model)->k[i]);
}

static void put_interference(cJSON *object, const struct interference_fit *fit)
{
    static const char *const met[INTERFERENCE_MET] = {"met once", "met twice", "met 4 times",
                                                      "met 8 times"};
    cJSON *entry = cJSON_AddObjectToObject(object, "interference");
    json_put(entry, "model %s slowdowns %zu none %g", interference_law_names[fit->choice],
             fit->none.count, PERCENT * fit->none.mape);
    for (int kind = 0; kind < INTERFERENCE_LAWS; kind++) {
        cJSON *by_fold = cJSON_AddObjectToObject(entry, interference_law_names[kind]);
        for (int fold = 0; fold < INTERFERENCE_FOLDS; fold++)
            put_percent(by_fold, interference_fold_names[fold], mape_of(&fit->errors[kind][fold]));
        for (size_t i = 0; i < INTERFERENCE_MET; i++)
            put_percent(by_fold, met[i], mape_of(&fit->met[kind][i]));
    }
}

static void put_unseen(cJSON *object, const struct unseen_pairs *unseen)
{
    cJSON *entry = cJSON_AddObjectToObject(object, "unmet");
    json_put(entry, "pairs %zu", unseen->pairs);
    for (int i = 0; i < UNSEEN_LEVELS; i++)
        json_put(cJSON_AddObjectToObject(entry, unseen_level_names[i]), "seen %g left_out %g",
                 PERCENT * unseen->seen[i], PERCENT * unseen->left_out[i]);
}

cJSON *calibrate_report_json(const char *name, const struct calibration *calibration)
{
    cJSON *object = cJSON_CreateObject();
    json_put(object, "name %s", name);
    cJSON *functions = cJSON_AddArrayToObject(object, "functions");
    for (size_t i = 0; i < calibration->surface_count; i++)
        put_surface(json_append(functions), calibration, &calibration->surfaces[i]);
    if (calibration->surface_count > 0)
        json_put(cJSON_AddObjectToObject(object, "all"),
                 "inner %g point %g naive_inner %g naive_point %g",
                 percent_of(calibration, FOLD_POINT, true),
                 percent_of(calibration, FOLD_POINT, false),
                 PERCENT * calibration_naive_error(calibration, true).mape,
                 PERCENT * calibration_naive_error(calibration, false).mape);
    if (calibration->has_interference)
        put_interference(object, &calibration->interference);
    if (calibration->unseen.pairs > 0)
        put_unseen(object, &calibration->unseen);
    json_put(object, "left_out %s", calibration->set->left_out);
    return object;
}
