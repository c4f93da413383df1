/* Published figures and ours: a range as a bar, our values as dots. */
#include <string.h>

#include "plots/families.h"
#include "plots/plot.h"
#include "results/report/claim.h"

/* A range, and ours on the same axis; a row of the figure. */
struct ranged {
    size_t panel, row; /* from 1 */
    const char *panel_title, *axis, *name, *contender;
    double low, high; /* NAN: no such bound */
    struct estimate ours;
    double shift; /* from the row's middle, in rows */
    bool logarithmic;
    struct look look;
};

static void ranged_row(struct sheet *sheet, const struct ranged *is)
{
    sheet_row(sheet, "%zu %s %s %d %zu %s " LABEL " %g %g %g %g %g %g %x %d", is->panel,
              is->panel_title, is->axis, is->logarithmic, is->row, is->name, is->contender,
              is->ours.mean, is->ours.low, is->ours.high, is->low, is->high, is->shift,
              is->look.colour, is->look.point);
}

/* ---- Of results ------------------------------------------------------------------------------ */

/* Our averages in one world, of which `row` is the number. */
static void world_rows(struct arena *arena, const struct judgement *judgement, size_t panel,
                       size_t row, struct sheet *sheet)
{
    const struct expectation *figure = judgement->figure;
    for (size_t a = 0; a < judgement->average_count; a++) {
        const struct verdict_average *average = &judgement->averages[a];
        const size_t word = strcspn(average->policy, " ");
        ranged_row(sheet, &(struct ranged){
                              panel, row, figure->title,
                              arena_text(arena, "%s, %s", judgement->range, figure->evidence),
                              judgement->world->assumptions, average->policy, figure->low,
                              figure->high, average->ours,
                              ((double)a + 0.5) / (double)judgement->average_count - 0.5, false,
                              palette_policy(arena_text(arena, "%.*s", (int)word, average->policy),
                                             average->policy[word] != '\0')});
    }
}

/* The number of the world among those that were met, from 1. */
static size_t world_row(struct arena *arena, const struct report_scenario ***worlds, size_t *count,
                        const struct report_scenario *world)
{
    size_t w = 0;
    while (w < *count && (*worlds)[w] != world)
        w++;
    arena_reserve(arena, worlds, w + 1, sizeof **worlds);
    (*worlds)[w] = world;
    *count = w < *count ? *count : w + 1;
    return w + 1;
}

bool published_draw(const struct source *source, const struct figure_kind *kind,
                    struct figure_list *list, struct error *error)
{
    const struct report *report = source->report;
    struct sheet sheet = {0};
    const struct report_scenario **worlds = NULL;
    size_t world_count = 0, panel = 0;
    if (report->judgement_count == 0 && list->only_count > 0)
        figure_list_note(list, "published: not drawn without published figures; give --paper");
    if (report->judgement_count == 0)
        return true;
    const bool good = source_sheet(source, NULL, kind, "", kind->lead, list, &sheet, error);
    for (size_t j = 0; good && j < report->judgement_count; j++) {
        const struct judgement *all = &report->judgements[j];
        panel += all->apart_count > 0;
        for (size_t w = 0; w < all->apart_count; w++)
            world_rows(report->arena, &all->apart[w], panel,
                       world_row(report->arena, &worlds, &world_count, all->apart[w].world),
                       &sheet);
    }
    return sheet_end(&sheet, good, error);
}

/* ---- Of claims ------------------------------------------------------------------------------- */

/* What the claim's panel shows. */
static const char *axis_of(struct arena *arena, const struct expectation *claim)
{
    return claim->comparison == PAIRED_VALUE        ? arena_text(arena, "value (%s)", claim->unit)
           : claim->comparison == PAIRED_DIFFERENCE ? "difference (points)"
                                                    : "ratio (line: no effect)";
}

static void claim_row(struct arena *arena, const struct expectation *claim, struct estimate ours,
                      struct ranged at, struct sheet *sheet)
{
    static const struct look looks[] = {
        {0x009E73, 7, 1}, {0xE69F00, 9, 1}, {0x767676, 6, 1}, {0xD55E00, 13, 1}};
    const enum claim_verdict verdict = claim_judge(claim, ours);
    double *const numbers[] = {&at.low, &at.high, &at.ours.mean, &at.ours.low, &at.ours.high};
    at.low = claim->low;
    at.high = claim->high;
    at.ours = ours;
    for (size_t n = 0; claim->comparison == PAIRED_GAIN && n < 5; n++)
        *numbers[n] = 1 + *numbers[n] / 100;
    at.logarithmic = claim->comparison == PAIRED_RATIO || claim->comparison == PAIRED_GAIN;
    at.name = arena_text(arena, "%s: %s", claim->system, claim->text);
    at.contender = claim_verdict_name(verdict);
    at.look = looks[verdict];
    ranged_row(sheet, &at);
}

/* The rows of a group, panel by panel, with numbers of their own. */
static void group_rows(struct arena *arena, const struct expectations *claims,
                       const struct estimate *ours, enum claim_group group, struct sheet *sheet)
{
    bool *drawn = arena_allocate(arena, claims->count, sizeof *drawn);
    struct ranged at = {.panel_title = ""};
    for (size_t c = 0; c < claims->count; c++) {
        if (claims->list[c].group != group || drawn[c])
            continue;
        at.axis = axis_of(arena, &claims->list[c]);
        at.panel++;
        for (size_t d = c; d < claims->count; d++) {
            if (claims->list[d].group != group ||
                strcmp(at.axis, axis_of(arena, &claims->list[d])) != 0)
                continue;
            drawn[d] = true;
            at.row++;
            claim_row(arena, &claims->list[d], ours[d], at, sheet);
        }
    }
}

/* "12 published, 3 readme": the grades of the evidence for a group; NULL: it has no claim. */
static char *grades_count(struct arena *arena, const struct expectations *claims,
                          enum claim_group group)
{
    char *text = NULL;
    for (size_t c = 0; c < claims->count; c++) {
        size_t counts[2] = {0}; /* of the grade: before this claim, all */
        for (size_t d = 0; d < claims->count; d++)
            if (claims->list[d].group == group && claims->list[d].grade == claims->list[c].grade)
                counts[d >= c]++;
        if (claims->list[c].group == group && counts[0] == 0)
            arena_append(arena, &text, "%s%zu %s", text == NULL ? "" : ", ", counts[1],
                         claims->list[c].evidence);
    }
    return text;
}

bool plot_claims(const struct expectations *claims, const struct estimate *ours,
                 struct figure_list *list, struct error *error)
{
    struct arena *arena = figure_memory(list);
    bool good = true;
    for (int g = 0; good && g < CLAIM_GROUP_COUNT; g++) {
        const enum claim_group group = (enum claim_group)g;
        const char *grades = grades_count(arena, claims, group);
        struct sheet sheet = {0};
        if (grades == NULL)
            continue;
        good = sheet_begin(&sheet, list, "published", claim_group_name(group),
                           arena_text(arena,
                                      "Shown: %s. Grey: what is published or expected; a single "
                                      "number is a line. Dots: ours, with 95 %% intervals over the "
                                      "seeds. A gain of −90 %% is the ratio 0.1. Evidence: %s "
                                      "(published: read in the paper or its abstract; readme: in "
                                      "its authors' repository).",
                                      claim_group_title(group), grades),
                           PUBLISHED, error);
        if (good)
            group_rows(arena, claims, ours, group, &sheet);
        good = sheet_end(&sheet, good, error);
    }
    return good;
}
