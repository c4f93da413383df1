/* Published figures and ours: a range as a bar, our values as dots. */
#include <string.h>

#include "plots/families.h"
#include "plots/plot.h"
#include "results/expect/claim.h"

#define ROW "%zu %s %s %zu %s " LABEL " %g %g %g %g %g %g %x %d"

/* The first contender that is called so, and its look; the name itself, if there is none. */
static const char *contender_title(const struct report *report, const char *name, struct look *look)
{
    for (size_t s = 0; s < report->scenario_count; s++)
        for (size_t c = 0; c < report->scenarios[s].contender_count; c++)
            if (report_is_called(report, &report->scenarios[s].contenders[c], name)) {
                *look = source_look(&report->scenarios[s], c);
                return report->scenarios[s].contenders[c].title;
            }
    return name;
}

/* Our averages in one world, the row of that number. */
static void world_rows(const struct report *report, const struct judgement *in, size_t panel,
                       size_t row, struct sheet *sheet)
{
    const struct expectation *figure = in->figure;
    struct look look = {0};
    const char *of = contender_title(report, figure->policy, &look);
    const char *metric = figure->esg != NULL ? figure->esg->metric : "";
    const char *what = figure->esg == NULL                           ? figure->measured->face.words
                       : strcmp(metric, "slo_hit_rate") == 0         ? "hits"
                       : strcmp(metric, "cost_per_request_usd") == 0 ? "cost saved"
                       : strcmp(metric, "cost_per_arrival_usd") == 0 ? "cost saved, drops included"
                                                                     : "cost saved, idle included";
    for (size_t a = 0; a < in->average_count; a++) {
        const struct verdict_pair *average = &in->averages[a];
        const char *name = contender_title(report, average->policy, &look);
        sheet_row(sheet, ROW, panel, arena_text(report->arena, "%s, %s", what, of),
                  arena_text(report->arena, "%s, %s", in->range, figure->evidence), row,
                  in->world->assumptions, name, average->ours.mean, average->ours.low,
                  average->ours.high, figure->low, figure->high,
                  ((double)a + 0.5) / (double)in->average_count - 0.5, look.colour, look.point);
    }
}

bool published_draw(const struct source *source, const struct figure_kind *kind,
                    struct figure_list *list, struct error *error)
{
    const struct report *report = source->report;
    const struct report_scenario **worlds = NULL; /* of the rows */
    struct sheet sheet = {0};
    size_t panel = 0, count = 0, r;
    const bool good = report->judgement_count == 0 ||
                      source_sheet(source, NULL, kind, "", kind->lead, list, &sheet, error);
    for (size_t j = 0; good && j < report->judgement_count; j++) {
        const struct judgement *all = &report->judgements[j];
        panel += all->apart_count > 0;
        for (size_t w = 0; w < all->apart_count; w++) {
            for (r = 0; r < count && worlds[r] != all->apart[w].world; r++)
                ;
            count += r == count;
            arena_reserve(report->arena, &worlds, count, sizeof *worlds);
            worlds[r] = all->apart[w].world;
            world_rows(report, &all->apart[w], panel, r + 1, &sheet);
        }
    }
    return sheet_end(&sheet, good, error);
}

bool plot_claims(const struct expectations *claims, const struct estimate *ours,
                 struct figure_list *list, struct error *error)
{
    bool good = true;
    for (int group = 0; good && group < CLAIM_GROUP_COUNT; group++) {
        struct sheet sheet = {0};
        size_t row = 0;
        good = sheet_begin(&sheet, list, "published", claim_groups[group],
                           "Grey: what is published or expected; a single number is a line. Dots: "
                           "ours, with 95 % intervals over the seeds.",
                           PUBLISHED, error);
        for (size_t c = 0; good && c < claims->count; c++) {
            const struct expectation *claim = &claims->list[c];
            if (claim->group == (enum claim_group)group)
                sheet_row(&sheet, ROW, (size_t)0, claim->evidence,
                          arena_text(claims->arena, "%s (%s)",
                                     expectation_formulas[claim->comparison], claim->unit),
                          ++row, arena_text(claims->arena, "%s: %s", claim->system, claim->text),
                          claim_verdict_name(claim_judge(claim, ours[c])), ours[c].mean,
                          ours[c].low, ours[c].high, claim->low, claim->high, 0.0, 0U, 0);
        }
        good = sheet_end(&sheet, good, error);
    }
    return good;
}
