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

/* Columns of the line with the numbers. */
enum { WIDTH_VERDICT = 22, WIDTH_OURS = 24, WIDTH_EXPECTED = 20 };

/* Writes a text and pads it to `width` columns; each character takes one. */
static void print_padded(FILE *out, const char *text, int width)
{
    int used = 0;
    for (const char *c = text; *c != '\0'; c++)
        used += ((unsigned char)*c & 0xC0) != 0x80;
    (void)fprintf(out, "%s%*s", text, used < width ? width - used : 1, "");
}

static void ours_words(const struct claim *claim, struct estimate ours, char *text, size_t size)
{
    const int decimals = text_table_decimals(fabs(ours.mean), 4);
    const char *unit = claim_unit(claim);
    char interval[INTERVAL_TEXT];
    interval_text(&ours, decimals, interval);
    if (!isfinite(ours.mean))
        (void)snprintf(text, size, "-");
    else
        (void)snprintf(text, size, "%.*f%s %s", decimals, ours.mean, interval, unit);
}

/* `published`: the figure is printed; not if the claim before has the same. */
static void print_claim(const struct claim *claim, struct estimate ours, bool published, FILE *out)
{
    char text[1024];
    (void)fprintf(out, "%s: %s\n", claim->system, claim->text);
    if (published)
        (void)fprintf(out, "  published: %s [%s]\n", claim->published, claim->evidence);
    (void)fputs("  ", out);
    verdict_words(claim, ours, text, sizeof text);
    print_padded(out, text, WIDTH_VERDICT);
    ours_words(claim, ours, text, sizeof text);
    print_padded(out, text, WIDTH_OURS);
    verdict_range(claim->low, claim->high, claim_unit(claim), text, sizeof text);
    print_padded(out, text, WIDTH_EXPECTED);
    claim_quantity(claim, text, sizeof text);
    (void)fprintf(out, "%s\n", text);
}

static void print_head(const char *title, FILE *out)
{
    (void)fprintf(out, "\n== %s\n\n  ", title);
    print_padded(out, "verdict", WIDTH_VERDICT);
    print_padded(out, "ours", WIDTH_OURS);
    print_padded(out, "expected", WIDTH_EXPECTED);
    (void)fputs("of what\n\n", out);
}

/* Prints the claims of one kind; nothing if there are none. */
static void print_kind(const struct claims *claims, const struct estimate *ours,
                       enum claim_kind kind, FILE *out)
{
    static const char *const titles[] = {
        "exact: a closed form gives the value",
        "paired: the sign and the size of a comparison, seed by seed",
        "open: the effect depends on what is assumed"};
    size_t counts[CLAIM_VERDICT_COUNT] = {0};
    size_t count = 0;
    const struct claim *before = NULL;
    for (size_t c = 0; c < claims->count; c++) {
        const struct claim *claim = &claims->claims[c];
        if (claim->kind != kind)
            continue;
        if (before == NULL)
            print_head(titles[kind], out);
        const bool same = before != NULL && strcmp(before->system, claim->system) == 0 &&
                          strcmp(before->published, claim->published) == 0;
        print_claim(claim, ours[c], !same, out);
        counts[claim_judge(claim, ours[c])]++;
        count++;
        before = claim;
    }
    if (count > 0)
        (void)fprintf(out, "\n%s: %zu of %zu shown, %zu not shown, %zu contradicted\n",
                      claim_kind_name(kind), counts[CLAIM_SHOWN], count, counts[CLAIM_NOT_SHOWN],
                      counts[CLAIM_CONTRADICTED]);
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
        print_kind(claims, ours, (enum claim_kind)kind, out);
    if (details)
        print_details(claims, out);
    return !ferror(out) || error_run(error, "cannot write the claims: %s", strerror(errno));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

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
    (void)cJSON_AddNumberToObject(object, "low", claim->low);
    (void)cJSON_AddNumberToObject(object, "high", claim->high);
    add_text(object, "expected", claim->expected);
    add_text(object, "note", claim->note);
    (void)cJSON_AddNumberToObject(object, "seeds", (double)ours.n);
    (void)cJSON_AddNumberToObject(object, "mean", ours.mean);
    (void)cJSON_AddNumberToObject(object, "half_width_95", ours.half_width);
    (void)cJSON_AddNumberToObject(object, "low_95", ours.low);
    (void)cJSON_AddNumberToObject(object, "high_95", ours.high);
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
