/* The table of claims, as text and as JSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "results/report/claim.h"
#include "results/report/table.h"

static void verdict_words(const struct claim *claim, struct estimate ours, char *text, size_t size)
{
    const enum claim_verdict verdict = claim_judge(claim, ours);
    const enum standing standing = standing_of(claim->low, claim->high, ours);
    const bool why = verdict == CLAIM_NOT_SHOWN;
    (void)snprintf(text, size, "%s%s%s%s", claim_verdict_name(verdict), why ? " (" : "",
                   why ? standing_name(standing) : "", why ? ")" : "");
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* `published`: the figure is printed; not if the claim before has the same. */
static void add_claim(const struct claim *claim, struct estimate ours, bool published,
                      struct text_table *table)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "%s: %s", claim->system, claim->text);
    text_table_group(table, text);
    (void)snprintf(text, sizeof text, "  published: %s [%s]", claim->published, claim->evidence);
    if (published)
        text_table_group(table, text);
    text_table_row(table);
    claim_quantity(claim, text, sizeof text);
    text_table_cell(table, 0, "  %s", text);
    verdict_range(claim->low, claim->high, claim_unit(claim), text, sizeof text);
    text_table_cell(table, 1, "%s", text);
    text_table_estimate(table, 2, ours, text_table_decimals(fabs(ours.mean), 4));
    verdict_words(claim, ours, text, sizeof text);
    text_table_cell(table, 3, "%s", text);
}

/* Prints the claims of one kind; nothing if there are none. */
static bool print_kind(const struct claims *claims, const struct estimate *ours,
                       enum claim_kind kind, FILE *out)
{
    static const char *const titles[] = {
        "exact: a closed form gives the value",
        "paired: the sign and the size of a comparison, seed by seed",
        "open: the effect depends on what is assumed"};
    static const char *const headers[] = {"system: claim", "expected", "ours", "verdict"};
    struct text_table *table = text_table_create(headers, sizeof headers / sizeof headers[0]);
    size_t counts[CLAIM_VERDICT_COUNT] = {0};
    size_t count = 0;
    const struct claim *before = NULL;
    for (size_t c = 0; c < claims->count; c++) {
        const struct claim *claim = &claims->claims[c];
        if (claim->kind != kind)
            continue;
        const bool same = before != NULL && strcmp(before->system, claim->system) == 0 &&
                          strcmp(before->published, claim->published) == 0;
        add_claim(claim, ours[c], !same, table);
        counts[claim_judge(claim, ours[c])]++;
        count++;
        before = claim;
    }
    bool good = true;
    if (count > 0) {
        (void)fprintf(out, "\n== %s\n\n", titles[kind]);
        good = text_table_print(table, 0, out);
        (void)fprintf(out, "\n%s: %zu of %zu shown, %zu not shown, %zu contradicted\n",
                      claim_kind_name(kind), counts[CLAIM_SHOWN], count, counts[CLAIM_NOT_SHOWN],
                      counts[CLAIM_CONTRADICTED]);
    }
    text_table_free(table);
    return good;
}

static void print_details(const struct claims *claims, FILE *out)
{
    (void)fputs("\n== sources and notes\n", out);
    for (size_t c = 0; c < claims->count; c++) {
        const struct claim *claim = &claims->claims[c];
        (void)fprintf(out, "\n%s: %s\n", claim->system, claim->text);
        text_print_filled(out, "  published: ", claim->source);
        if (claim->expected != NULL)
            text_print_filled(out, "  expected: ", claim->expected);
        if (claim->note != NULL)
            text_print_filled(out, "  note: ", claim->note);
        text_print_filled(out, "  sweep: ", claim->sweep);
    }
}

bool claims_text(const struct claims *claims, const struct estimate *ours, bool details, FILE *out,
                 struct error *error)
{
    (void)fprintf(out, "%s\n", claims->title);
    for (int kind = 0; kind < CLAIM_KIND_COUNT; kind++)
        if (!print_kind(claims, ours, (enum claim_kind)kind, out))
            return error_run(error, "out of memory for the claims");
    if (details)
        print_details(claims, out);
    return !ferror(out) || error_run(error, "cannot write the claims: %s", strerror(errno));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* NAN has no form in JSON: the member is then null. */
static void add_number(cJSON *object, const char *name, double value)
{
    if (isfinite(value))
        (void)cJSON_AddNumberToObject(object, name, value);
    else
        (void)cJSON_AddNullToObject(object, name);
}

static void add_text(cJSON *object, const char *name, const char *text)
{
    if (text != NULL)
        (void)cJSON_AddStringToObject(object, name, text);
}

static cJSON *claim_object(const struct claim *claim, struct estimate ours)
{
    char quantity[512];
    cJSON *object = cJSON_CreateObject();
    claim_quantity(claim, quantity, sizeof quantity);
    add_text(object, "system", claim->system);
    add_text(object, "kind", claim_kind_name(claim->kind));
    add_text(object, "claim", claim->text);
    add_text(object, "published", claim->published);
    add_text(object, "evidence", claim->evidence);
    add_text(object, "source", claim->source);
    add_text(object, "sweep", claim->sweep);
    add_text(object, "quantity", quantity);
    add_text(object, "unit", claim_unit(claim));
    add_number(object, "low", claim->low);
    add_number(object, "high", claim->high);
    add_text(object, "expected", claim->expected);
    add_text(object, "note", claim->note);
    (void)cJSON_AddNumberToObject(object, "seeds", (double)ours.n);
    add_number(object, "mean", ours.mean);
    add_number(object, "half_width_95", ours.half_width);
    add_text(object, "standing", standing_name(standing_of(claim->low, claim->high, ours)));
    add_text(object, "verdict", claim_verdict_name(claim_judge(claim, ours)));
    return object;
}

bool claims_json(const struct claims *claims, const struct estimate *ours, FILE *out,
                 struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    add_text(root, "title", claims->title);
    cJSON *list = cJSON_AddArrayToObject(root, "claims");
    for (size_t c = 0; c < claims->count; c++)
        (void)cJSON_AddItemToArray(list, claim_object(&claims->claims[c], ours[c]));
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (text == NULL)
        return error_run(error, "out of memory for the claims");
    (void)fprintf(out, "%s\n", text);
    free(text);
    return !ferror(out) || error_run(error, "cannot write the claims: %s", strerror(errno));
}
