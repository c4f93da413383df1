#include "plots/families.h"

#include <string.h>

#include "results/report/table.h"
#include "results/store/columns.h"

bool source_one_policy(const struct report_scenario *scenario)
{
    for (size_t c = 1; c < scenario->contender_count; c++)
        if (strcmp(scenario->contenders[c].policy, scenario->contenders[0].policy) != 0)
            return false;
    return true;
}

size_t kinds_find(const struct kinds *kinds, const struct report_contender *like, const char *label,
                  const char *variant)
{
    size_t k = 0;
    while (k < kinds->count && (strcmp(kinds->items[k].like->policy, like->policy) != 0 ||
                                strcmp(kinds->items[k].label, label) != 0 ||
                                strcmp(kinds->items[k].variant, variant) != 0))
        k++;
    return k;
}

/* Half `w` of two parameters, such as "order=fifo allocation=greedy"; length 0: they are not two.
 */
static size_t factor_of(const char *parameters, size_t w, const char **at)
{
    const size_t first = strcspn(parameters, " "), both = strlen(parameters);
    *at = parameters + w * (first + 1);
    return first == both || strchr(parameters + first + 1, ' ') != NULL ? 0
           : w == 0                                                     ? first
                                                                        : both - first - 1;
}

/* The number of values that half `w` had before the one in `parameters`. False: a kind has not two
 * parameters. */
static bool factor_place(const struct kinds *kinds, const char *parameters, size_t w, size_t *place)
{
    const char *own, *at, *before;
    const size_t length = factor_of(parameters, w, &own);
    *place = 0;
    for (size_t k = 0; k < kinds->count; k++) {
        const size_t other = factor_of(kinds->items[k].like->distinction, w, &at);
        if (other == 0 || (other == length && strncmp(own, at, length) == 0))
            return other > 0;
        size_t b = 0;
        while (factor_of(kinds->items[b].like->distinction, w, &before) != other ||
               strncmp(before, at, other) != 0)
            b++;
        *place += b == k;
    }
    return length > 0;
}

void kinds_add(struct kinds *kinds, struct arena *arena, const struct report_contender *like,
               const char *label, const char *variant, bool alone)
{
    size_t earlier = 0, colour, marker;
    if (kinds_find(kinds, like, label, variant) < kinds->count)
        return;
    arena_reserve(arena, &kinds->items, kinds->count + 1, sizeof *kinds->items);
    for (size_t k = 0; k < kinds->count; k++)
        earlier += strcmp(kinds->items[k].like->policy, like->policy) == 0;
    struct look look = palette_variant(like->policy, earlier, alone);
    if (like->pale > 0)
        look = PALETTE_PALE;
    else if (alone && factor_place(kinds, like->distinction, 0, &colour) &&
             factor_place(kinds, like->distinction, 1, &marker))
        look = (struct look){palette_series(colour).colour, palette_series(marker).point,
                             (int)marker + 1};
    else
        look = palette_distinct(look, &kinds->markers);
    kinds->items[kinds->count++] = (struct kind){like, label, variant, look};
}

struct look source_look(const struct report_scenario *scenario, size_t contender)
{
    struct arena *arena = arena_create();
    struct kinds kinds = {0};
    const bool alone = source_one_policy(scenario);
    for (size_t c = 0; c <= contender; c++)
        kinds_add(&kinds, arena, &scenario->contenders[c], scenario->contenders[c].label,
                  scenario->contenders[c].variant, alone);
    const struct look look = kinds.items[kinds.count - 1].look;
    arena_destroy(arena);
    return look;
}

const char *source_basis(const struct source *source, const struct report_scenario *scenario)
{
    const struct summary_row *runs = source->report->results->runs;
    const char *constants = source->report->constants;
    const bool serves = source_serves(scenario);
    const char *stored =
        run_details_text(source->details, runs[scenario->contenders[0].runs[0]].hash,
                         serves ? "evidence" : "models_evidence");
    const char *grade = stored != NULL && stored[0] != '\0' ? stored
                        : scenario->evidence[0] != '\0'     ? scenario->evidence
                                                            : "none";
    return arena_text(
        source->report->arena, "%s%s%s%s: %s.", constants[0] != '\0' ? "In all runs: " : "",
        constants, constants[0] != '\0' ? ". " : "", serves ? "Latency profile" : "Models", grade);
}

bool source_serves(const struct report_scenario *scenario)
{
    return scenario->application_count > 0;
}

uint64_t source_run_size(const struct source *source, const struct report_scenario *scenario,
                         size_t run)
{
    const struct results *results = source->report->results;
    const struct training_summary_row *row =
        source_serves(scenario) ? NULL : results_training(results, run);
    return row == NULL ? results->runs[run].measures.requests
                       : row->measures.finished + row->measures.unfinished;
}

const char *source_length_warning(const struct report *report, const struct report_scenario *first,
                                  size_t scenarios)
{
    for (size_t n = 0; n < report->notice_count; n++)
        for (size_t s = 0; s < scenarios; s++)
            if (report->notices[n].in[first[s].number] &&
                report->notices[n].notice.kind == NOTICE_LENGTH)
                return " Warning: hit rate and latency of some runs depend on how long the run is.";
    return "";
}

static const char *caption_make(const struct source *source, const struct report_scenario *scenario,
                                const char *lead, const struct figure_kind *kind)
{
    const struct report *report = source->report;
    const struct report_scenario *first = scenario != NULL ? scenario : report->scenarios;
    const size_t scenarios = scenario != NULL ? 1 : report->scenario_count;
    struct text_range seeds = TEXT_RANGE_NONE, requests = seeds;
    char of_seeds[RANGE_TEXT], size[RANGE_TEXT];
    for (size_t s = 0; s < scenarios; s++)
        for (size_t c = 0; c < first[s].contender_count; c++) {
            const struct report_contender *contender = &first[s].contenders[c];
            text_range_widen(&seeds, contender->copies || kind->one_run ? 1 : contender->run_count);
            for (size_t i = 0; i < contender->run_count; i++)
                text_range_widen(&requests, source_run_size(source, &first[s], contender->runs[i]));
        }
    const bool several = seeds.high > 1;
    return arena_text(report->arena, "%s%s%s%s%s%s seed%s of %s %s%s. %s%s",
                      report->incomplete == NULL ? "" : report->incomplete,
                      report->incomplete == NULL ? "" : " ", lead, lead[0] != '\0' ? " " : "",
                      !several          ? ""
                      : kind->intervals ? "Means of "
                                        : "All of ",
                      text_range(&seeds, true, of_seeds), several ? "s" : "",
                      text_range(&requests, true, size),
                      source_serves(first) ? "requests" : "trainings",
                      kind->intervals && several ? " each; bars: 95 % intervals" : "",
                      source_basis(source, first), source_length_warning(report, first, scenarios));
}

bool source_sheet(const struct source *source, const struct report_scenario *scenario,
                  const struct figure_kind *kind, const char *subject, const char *lead,
                  struct figure_list *list, struct sheet *sheet, struct error *error)
{
    return sheet_begin(sheet, list, kind->script, subject,
                       caption_make(source, scenario, lead == NULL ? "" : lead, kind),
                       kind->columns, error);
}

bool source_spans_decades(const struct metric *metric)
{
    return strcmp(metric->unit, "ms") == 0;
}

bool source_has(const struct source *source, const struct report_scenario *scenario,
                const char *table)
{
    for (size_t c = 0; c < scenario->contender_count; c++)
        for (size_t i = 0; i < scenario->contenders[c].run_count; i++)
            if (run_details_has(source->details,
                                source->report->results->runs[scenario->contenders[c].runs[i]].hash,
                                table))
                return true;
    return false;
}
