/* INFless: bounds, regimes and configurations against the published vectors and enumeration; the
 * policy in the simulator. */
#include "sched/infless/pool.h"
#include "sched/policy_instances.h"
#include "sched/registry.h"
#include "tests/suite.h"
#include "tests/worlds.h"

enum { TABLE_MAX = 128, SLOTS = 6, SHARES_MAX = 40, WORLDS = 25, GAPS_MAX = 4000 };

static const char TABLE[] = "traces/profiles/raw/infless/infless_profiles_clean.csv";

/* ---- The authors' measurements --------------------------------------------------------------- */

struct table {
    struct configuration rows[TABLE_MAX];
    struct function_gpu gpu;
    struct function function;
};

static int compare_rows(const void *left, const void *right)
{
    const struct configuration *a = left;
    const struct configuration *b = right;
    if (a->batch != b->batch)
        return a->batch < b->batch ? -1 : 1;
    if (a->vcpu != b->vcpu)
        return a->vcpu < b->vcpu ? -1 : 1;
    return (a->vgpu > b->vgpu) - (a->vgpu < b->vgpu);
}

/* One model of the repository's table: vCPUs are threads, units hundredths of a GPU. Time-outs and
 * the 9999 sentinel are no configurations. */
static void table_load(struct table *table, const char *model)
{
    FILE *file = must(fopen(TABLE, "r"));
    char line[160];
    memset(table, 0, sizeof *table);
    table->function.configurations = table->rows;
    table->function.gpus = &table->gpu;
    while (fgets(line, sizeof line, file) != NULL) {
        char *rest = must(strchr(line, ','));
        *rest++ = '\0';
        if (strcmp(line, model) != 0)
            continue;
        double values[5];
        for (size_t i = 0; i < 5; i++) {
            values[i] = strtod(rest, &rest);
            rest += *rest == ',';
        }
        if (values[4] > 0)
            continue;
        assert_true(table->function.configuration_count < TABLE_MAX);
        table->rows[table->function.configuration_count++] =
            (struct configuration){.vcpu = (uint16_t)values[0],
                                   .vgpu = (uint16_t)values[1],
                                   .batch = (uint16_t)values[2],
                                   .time = sim_from_ms(values[3])};
    }
    fclose(file);
    assert_true(table->function.configuration_count > 0);
    qsort(table->rows, table->function.configuration_count, sizeof *table->rows, compare_rows);
}

/* ---- Slots given by the test ----------------------------------------------------------------- */

struct slots {
    const struct infless_rule *rule;
    struct infless_slot slot[SLOTS];
    size_t count;
};

static bool slot_fits(const struct infless_slot *slot, const struct infless_candidate *candidate)
{
    return candidate->vcpu <= slot->free_vcpus && candidate->vgpu <= slot->free_units;
}

static bool slots_fullest(void *context, const struct infless_candidate *candidate,
                          struct infless_slot *slot)
{
    const struct slots *slots = context;
    double least = INFINITY;
    for (size_t i = 0; i < slots->count; i++) {
        const struct infless_slot *here = &slots->slot[i];
        const double left = slots->rule->vcpu_weight * here->free_vcpus +
                            slots->rule->unit_weight * here->free_units;
        if (!slot_fits(here, candidate) || left >= least)
            continue;
        least = left;
        *slot = *here;
    }
    return isfinite(least);
}

static bool slots_next(void *context, struct infless_slot *slot)
{
    const struct slots *slots = context;
    const size_t next = slot->invoker == SIM_NONE ? 0 : slot->invoker + (size_t)1;
    if (next < slots->count)
        *slot = slots->slot[next];
    return next < slots->count;
}

static bool slots_fit(void *context, const struct infless_candidate *candidate,
                      const struct infless_slot *slot)
{
    return slot_fits(slot, candidate);
}

static struct infless_choice choose_from(struct slots *slots, const struct function *function,
                                         double slo_ms, double rate,
                                         struct infless_candidate *candidates, size_t *count)
{
    const struct infless_cluster cluster = {slots, slots_fullest, slots_next, slots_fit};
    *count =
        infless_candidates(slots->rule, function, NULL, sim_from_ms(slo_ms), 65535, candidates);
    return infless_choose(slots->rule, candidates, *count,
                          infless_best_throughput(slots->rule, function), rate, false, &cluster);
}

/* ---- Bounds and configurations --------------------------------------------------------------- */

CASE(bounds_are_those_of_the_notes_and_the_code)
{
    struct infless_bounds bounds;
    assert_true(infless_bound(INFLESS_PAPER, 4, 50 * SIM_MS, 200 * SIM_MS, &bounds));
    assert_true(fabs(bounds.low - 4 / 0.15) < 1e-9);
    assert_true(fabs(bounds.up - 80) < 1e-9);
    assert_int_equal(bounds.timeout, 150 * SIM_MS);
    assert_true(infless_bound(INFLESS_REPO, 4, 50 * SIM_MS, 200 * SIM_MS, &bounds));
    assert_true(bounds.low == 26 && bounds.up == 80);
    assert_true(infless_bound(INFLESS_PAPER, 4, 100 * SIM_MS, 200 * SIM_MS, &bounds));
    assert_true(bounds.low == bounds.up);
    assert_false(infless_bound(INFLESS_PAPER, 4, 101 * SIM_MS, 200 * SIM_MS, &bounds));
    assert_true(infless_bound(INFLESS_PAPER, 1, 200 * SIM_MS, 200 * SIM_MS, &bounds));
    assert_true(bounds.low == 1 && bounds.up == 5);
    assert_false(infless_bound(INFLESS_PAPER, 1, 201 * SIM_MS, 200 * SIM_MS, &bounds));
    assert_true(infless_bound(INFLESS_REPO, 1, 1600 * SIM_MS, 2000 * SIM_MS, &bounds));
    assert_true(bounds.low == 0.625 && bounds.up == 0.625);
}

/* A batch of 4 in 50 ms, and 10 ms until the next: r_up is 4 per 60 ms. Where r_low would exceed
 * that it is r_up. Times and time-outs stay. */
CASE(a_turnaround_lowers_what_an_instance_serves)
{
    const struct infless_rule rule = {.form = INFLESS_PAPER};
    struct function_gpu gpu = {.turnaround_ms = 10};
    const struct function function = {.gpus = &gpu};
    struct infless_candidate one = {.batch = 4, .time = 50 * SIM_MS};
    assert_true(infless_bound_candidate(&rule, &function, 200 * SIM_MS, &one));
    assert_true(fabs(one.bounds.up - 4 / 0.06) < 1e-9 && fabs(one.bounds.low - 4 / 0.15) < 1e-9);
    assert_int_equal(one.bounds.timeout, 150 * SIM_MS);
    assert_true(infless_bound_candidate(&rule, &function, 100 * SIM_MS, &one));
    assert_true(one.bounds.low == one.bounds.up && one.bounds.up < 80);
    assert_false(infless_bound_candidate(&rule, &function, 99 * SIM_MS, &one));
}

static void check_documented(const char *model, double slo_ms, struct configuration expected,
                             double low, double up)
{
    static struct table table;
    static struct infless_candidate candidates[TABLE_MAX];
    const struct infless_rule rule = {
        .form = INFLESS_REPO, .vcpu_weight = 64, .unit_weight = 142, .batch_threads = true};
    struct slots slots = {
        .rule = &rule,
        .slot = {{.free_vcpus = 20, .free_units = 100, .vcpus = 20, .units = 100}},
        .count = 1};
    size_t count = 0;
    table_load(&table, model);
    const struct infless_choice choice =
        choose_from(&slots, &table.function, slo_ms, 1000, candidates, &count);
    assert_non_null(choice.candidate);
    assert_int_equal(choice.candidate->batch, expected.batch);
    assert_int_equal(choice.candidate->vcpu, expected.vcpu);
    assert_int_equal(choice.candidate->vgpu, expected.vgpu);
    if (up > 0) {
        assert_true(choice.candidate->bounds.low == low);
        assert_true(choice.candidate->bounds.up == up);
    }
}

CASE(the_repository_s_table_gives_the_documented_configurations)
{
    check_documented("resnet-50", 200, (struct configuration){.batch = 4, .vcpu = 4, .vgpu = 50},
                     31, 55);
    check_documented("ssd", 200, (struct configuration){.batch = 1, .vcpu = 2, .vgpu = 50}, 0, 0);
    check_documented("mobilenet", 200, (struct configuration){.batch = 2, .vcpu = 2, .vgpu = 50}, 0,
                     0);
    check_documented("resnet-50", 350, (struct configuration){.batch = 16, .vcpu = 16, .vgpu = 50},
                     91, 91);
}

/* The greatest efficiency over all candidates of the largest batch that has one, and all slots. */
static double enumerate(const struct slots *slots, const struct function *function,
                        const struct infless_candidate *candidates, size_t count, double rate,
                        uint16_t *batch)
{
    const double best = infless_best_throughput(slots->rule, function);
    double greatest = 0;
    *batch = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < slots->count; s++) {
            if (candidates[i].bounds.low > rate || candidates[i].batch < *batch ||
                !slot_fits(&slots->slot[s], &candidates[i]))
                continue;
            const double here =
                infless_efficiency(slots->rule, &candidates[i], &slots->slot[s], best);
            greatest = candidates[i].batch > *batch ? here : fmax(greatest, here);
            *batch = candidates[i].batch;
        }
    return greatest;
}

CASE(the_choice_is_the_best_of_all_candidates_and_slots)
{
    static struct table table;
    static struct infless_candidate candidates[TABLE_MAX];
    static const char *const models[] = {"resnet-50", "ssd", "mobilenet", "catdog"};
    struct random_stream stream;
    size_t placed = 0;
    for (uint64_t n = 0; n < trials(600); n++) {
        random_stream_open(&stream, 11, RANDOM_TEST, n, 0);
        const struct infless_rule rule = {.form = (enum infless_form)(n % 3),
                                          .margin = 0.1,
                                          .vcpu_weight = 64,
                                          .unit_weight = 142,
                                          .batch_threads = n % 2 == 0};
        struct slots slots = {.rule = &rule, .count = 1 + gsl_rng_uniform_int(&stream.rng, SLOTS)};
        for (size_t s = 0; s < slots.count; s++)
            slots.slot[s] =
                (struct infless_slot){.invoker = (uint32_t)s,
                                      .free_vcpus = (double)gsl_rng_uniform_int(&stream.rng, 21),
                                      .free_units = (double)gsl_rng_uniform_int(&stream.rng, 101),
                                      .vcpus = 20,
                                      .units = 100};
        table_load(&table, models[n / 3 % 4]);
        const double rate = 100 * gsl_rng_uniform(&stream.rng);
        size_t count = 0;
        const struct infless_choice choice =
            choose_from(&slots, &table.function, 60 + 600 * gsl_rng_uniform(&stream.rng), rate,
                        candidates, &count);
        uint16_t batch = 0;
        const double greatest = enumerate(&slots, &table.function, candidates, count, rate, &batch);
        assert_int_equal(choice.candidate != NULL, batch > 0);
        if (choice.candidate == NULL)
            continue;
        placed++;
        const double best = infless_best_throughput(&rule, &table.function);
        assert_int_equal(choice.candidate->batch, batch);
        assert_true(slot_fits(&choice.slot, choice.candidate));
        assert_true(infless_efficiency(&rule, choice.candidate, &choice.slot, best) >=
                    greatest * (1 - 1e-12));
    }
    assert_true(placed > trials(200));
}

/* ---- Regimes --------------------------------------------------------------------------------- */

static struct infless_share share_of(double low, double up, double need)
{
    return (struct infless_share){.bounds = {.low = low, .up = up}, .need = need};
}

CASE(rates_follow_the_three_regimes)
{
    struct infless_share shares[2] = {share_of(20, 60, 1), share_of(10, 20, 1)};
    struct infless_split split = infless_divide(shares, 2, 100, 0.8, NULL);
    assert_int_equal(split.regime, INFLESS_EXCESS);
    assert_true(split.excess == 20 && shares[0].rate == 60 && shares[1].rate == 20);
    /* R_min 30, R_max 80: regime 2 from 70. */
    split = infless_divide(shares, 2, 75, 0.8, NULL);
    assert_int_equal(split.regime, INFLESS_SHARED);
    assert_true(fabs(shares[0].rate - 56) < 1e-9 && fabs(shares[1].rate - 19) < 1e-9);
    split = infless_divide(shares, 2, 70, 0.8, NULL);
    assert_int_equal(split.regime, INFLESS_SHARED);
    assert_true(fabs(shares[0].rate - 52) < 1e-9 && fabs(shares[1].rate - 18) < 1e-9);
    split = infless_divide(shares, 2, 58, 0.8, NULL);
    assert_int_equal(split.regime, INFLESS_RETIRED);
    assert_int_equal(split.quality, 0);
    assert_true(fabs(shares[0].rate - 58) < 1e-9 && shares[1].rate == 0);
    /* 25 is too much for the second and 5 / 40 of the first's interval: class 3; with both at 30 it
     * is below their least. */
    split = infless_divide(shares, 2, 25, 0.8, NULL);
    assert_int_equal(split.quality, 3);
    assert_true(fabs(shares[0].rate - 25) < 1e-9 && shares[1].rate == 0);
    /* 5: below every bound; the least stays. Nothing: all go. */
    split = infless_divide(shares, 2, 5, 0.8, NULL);
    assert_int_equal(split.quality, 4);
    assert_true(shares[0].rate == 0 && shares[1].rate > 0);
    infless_divide(shares, 2, 0, 0.8, NULL);
    assert_true(shares[0].rate == 0 && shares[1].rate == 0);
    split = infless_divide(shares, 0, 7, 0.8, NULL);
    assert_int_equal(split.regime, INFLESS_EXCESS);
    assert_true(split.excess == 7);
}

/* By the text: where R lies in the interval of the set, or 4. */
static uint32_t quality_of_set(const struct infless_share *shares, size_t count, uint32_t set,
                               double rate, double *need)
{
    static const double loads[] = {0.8, 0.4, 0.2, 0};
    double low = 0;
    double up = 0;
    *need = 0;
    for (size_t i = 0; i < count; i++) {
        low += (set >> i & 1u) != 0 ? shares[i].bounds.low : 0;
        up += (set >> i & 1u) != 0 ? shares[i].bounds.up : 0;
        *need += (set >> i & 1u) != 0 ? shares[i].need : 0;
    }
    const double slack = 1e-9 * up;
    if (rate < low - slack || rate > up + slack)
        return 4;
    for (uint32_t i = 0; i < 4; i++)
        if (rate >= low + loads[i] * (up - low) - slack)
            return i;
    return 3;
}

static size_t random_shares(struct random_stream *stream, struct infless_share *shares, size_t most)
{
    static const double batches[] = {1, 2, 4, 8};
    const size_t count = 1 + gsl_rng_uniform_int(&stream->rng, most);
    for (size_t i = 0; i < count; i++) {
        const double t = 0.02 * (1 + (double)gsl_rng_uniform_int(&stream->rng, 5));
        const double b = batches[gsl_rng_uniform_int(&stream->rng, 4)];
        shares[i] = share_of(b == 1 ? 1 : b / (0.2 - t), b / t, b + 1 / t);
    }
    return count;
}

static void check_rates(const struct infless_share *shares, size_t count, double rate)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += shares[i].rate;
        if (shares[i].rate > 0) {
            assert_true(shares[i].rate >= shares[i].bounds.low * (1 - 1e-9));
            assert_true(shares[i].rate <= shares[i].bounds.up * (1 + 1e-9));
        }
    }
    assert_true(fabs(sum - rate) <= 1e-6 * rate);
}

CASE(who_retires_is_as_good_as_any_subset)
{
    struct infless_share shares[10];
    struct random_stream stream;
    size_t seen[5] = {0};
    for (uint64_t n = 0; n < trials(1500); n++) {
        random_stream_open(&stream, 12, RANDOM_TEST, n, 0);
        const size_t count = random_shares(&stream, shares, 10);
        double up = 0;
        for (size_t i = 0; i < count; i++)
            up += shares[i].bounds.up;
        const double rate = up * gsl_rng_uniform(&stream.rng) * gsl_rng_uniform(&stream.rng);
        const struct infless_split split = infless_divide(shares, count, rate, 0.8, NULL);
        if (split.regime != INFLESS_RETIRED)
            continue;
        uint32_t kept = 0;
        for (size_t i = 0; i < count; i++)
            kept |= (uint32_t)(shares[i].rate > 0) << i;
        uint32_t best = 4;
        double least = INFINITY;
        double need = 0;
        for (uint32_t set = 1; set < UINT32_C(1) << count; set++) {
            const uint32_t here = quality_of_set(shares, count, set, rate, &need);
            if (here < best || (here == best && need < least)) {
                best = here;
                least = need;
            }
        }
        assert_int_equal(split.quality, best);
        seen[best]++;
        assert_int_equal(quality_of_set(shares, count, kept, rate, &need), best);
        if (best == 4) {
            assert_int_equal(__builtin_popcount(kept), 1);
            continue;
        }
        assert_true(need <= least * (1 + 1e-9));
        check_rates(shares, count, rate);
    }
    for (size_t i = 0; i < 5; i++)
        assert_true(seen[i] > 0);
}

CASE(many_kinds_retire_one_by_one_and_still_carry_the_load)
{
    struct infless_share shares[SHARES_MAX];
    struct random_stream stream;
    size_t good = 0;
    for (uint64_t n = 0; n < trials(300); n++) {
        random_stream_open(&stream, 13, RANDOM_TEST, n, 0);
        double up = 0;
        for (size_t i = 0; i < SHARES_MAX; i++) {
            const double most = 10 + 50 * gsl_rng_uniform(&stream.rng);
            shares[i] = share_of(most * gsl_rng_uniform(&stream.rng), most,
                                 1 + gsl_rng_uniform(&stream.rng));
            up += most;
        }
        const double rate = up * (0.1 + 0.4 * gsl_rng_uniform(&stream.rng));
        const struct infless_split split = infless_divide(shares, SHARES_MAX, rate, 0.8, NULL);
        assert_int_equal(split.regime, INFLESS_RETIRED);
        assert_true(split.sets < 100);
        if (split.quality < 4)
            check_rates(shares, SHARES_MAX, rate);
        good += split.quality == 0;
    }
    assert_true(good > trials(250));
}

/* ---- The authors' logs ----------------------------------------------------------------------- */

/* Placements of ssd in three logs of the authors' scheduler (TankLabTJU/INFless @ 8940934,
 * workload/results/scalingEfficiency/INFless/ssd: 200 and 350 ms of workload 2, 650 ms of workload
 * 3), all that differ. A slot has 20 threads and one GPU, of which so much is used. At the least
 * and at the greatest rate left, which the log shows in that state, the scheduler chose (batch,
 * threads, GPU %). */
CASE(every_placement_of_the_logs_is_chosen)
{
    static const struct {
        uint16_t slo_ms, vcpus, units, least, most, batch, vcpu, vgpu;
    } placed[] = {{200, 0, 0, 5, 5, 1, 2, 0},      {200, 2, 0, 1, 68, 1, 2, 10},
                  {200, 4, 10, 2, 61, 1, 2, 10},   {200, 6, 20, 1, 54, 1, 2, 10},
                  {200, 8, 30, 2, 47, 1, 2, 10},   {200, 10, 40, 1, 40, 1, 2, 10},
                  {200, 12, 50, 2, 33, 1, 2, 10},  {200, 14, 60, 2, 26, 1, 2, 10},
                  {200, 16, 70, 1, 19, 1, 2, 10},  {200, 18, 80, 1, 12, 1, 2, 10},
                  {350, 0, 0, 5, 11, 1, 2, 0},     {350, 2, 0, 1, 9, 1, 2, 10},
                  {350, 2, 0, 11, 68, 2, 2, 30},   {350, 4, 0, 2, 4, 1, 2, 10},
                  {350, 4, 10, 2, 8, 1, 2, 10},    {350, 4, 10, 12, 39, 2, 2, 30},
                  {350, 4, 30, 2, 57, 1, 2, 0},    {350, 6, 0, 3, 3, 1, 2, 10},
                  {350, 6, 10, 3, 3, 1, 2, 10},    {350, 6, 10, 15, 15, 2, 2, 30},
                  {350, 6, 20, 1, 9, 1, 2, 10},    {350, 6, 30, 1, 52, 1, 2, 0},
                  {350, 6, 40, 1, 28, 1, 2, 0},    {350, 8, 10, 13, 13, 2, 2, 30},
                  {350, 8, 30, 1, 10, 1, 2, 10},   {350, 8, 30, 12, 47, 2, 2, 30},
                  {350, 8, 40, 4, 23, 1, 2, 0},    {350, 10, 40, 1, 10, 1, 2, 10},
                  {350, 10, 40, 14, 21, 2, 2, 30}, {350, 10, 50, 23, 23, 1, 2, 0},
                  {350, 10, 60, 1, 36, 1, 2, 0},   {350, 12, 50, 2, 9, 1, 2, 10},
                  {350, 12, 50, 11, 18, 2, 2, 30}, {350, 12, 60, 7, 31, 1, 2, 0},
                  {350, 12, 70, 3, 10, 1, 2, 0},   {350, 14, 60, 2, 6, 1, 2, 10},
                  {350, 14, 60, 26, 27, 2, 2, 30}, {350, 14, 70, 1, 5, 1, 2, 0},
                  {350, 14, 80, 7, 7, 1, 2, 0},    {350, 16, 40, 1, 1, 1, 2, 10},
                  {350, 16, 70, 5, 5, 1, 2, 10},   {350, 16, 70, 13, 27, 2, 2, 30},
                  {350, 16, 80, 2, 2, 1, 2, 0},    {350, 16, 90, 15, 16, 1, 2, 0},
                  {350, 18, 80, 3, 3, 1, 2, 10},   {350, 18, 90, 10, 11, 1, 2, 0},
                  {350, 18, 100, 2, 16, 1, 2, 0},  {650, 0, 0, 14, 46, 4, 4, 0},
                  {650, 0, 0, 10, 10, 4, 4, 10},   {650, 2, 0, 1, 3, 1, 2, 10},
                  {650, 2, 0, 4, 6, 2, 2, 10},     {650, 2, 0, 49, 50, 4, 2, 10},
                  {650, 2, 10, 2, 2, 1, 2, 0},     {650, 2, 10, 38, 38, 4, 4, 0},
                  {650, 4, 0, 2, 2, 1, 2, 10},     {650, 4, 0, 5, 7, 2, 2, 10},
                  {650, 4, 0, 19, 51, 4, 2, 10},   {650, 4, 0, 10, 10, 4, 4, 20},
                  {650, 4, 10, 1, 3, 1, 2, 10},    {650, 4, 10, 4, 5, 2, 2, 10},
                  {650, 4, 10, 12, 54, 4, 2, 10},  {650, 6, 10, 6, 7, 2, 2, 10},
                  {650, 6, 10, 11, 56, 4, 2, 10},  {650, 6, 20, 1, 2, 1, 2, 10},
                  {650, 6, 20, 4, 8, 2, 2, 10},    {650, 6, 20, 11, 80, 4, 2, 10},
                  {650, 6, 20, 9, 10, 4, 4, 20},   {650, 8, 20, 8, 8, 2, 2, 10},
                  {650, 8, 20, 13, 67, 4, 2, 10},  {650, 8, 30, 1, 3, 1, 2, 10},
                  {650, 8, 30, 5, 8, 2, 2, 10},    {650, 8, 30, 11, 67, 4, 2, 10},
                  {650, 8, 30, 10, 10, 4, 4, 20},  {650, 10, 30, 7, 7, 2, 2, 10},
                  {650, 10, 30, 12, 54, 4, 2, 10}, {650, 10, 40, 1, 3, 1, 2, 10},
                  {650, 10, 40, 4, 7, 2, 2, 10},   {650, 10, 40, 11, 54, 4, 2, 10},
                  {650, 10, 40, 9, 10, 4, 4, 20},  {650, 12, 40, 17, 41, 4, 2, 10},
                  {650, 12, 40, 10, 10, 4, 4, 20}, {650, 12, 50, 1, 3, 1, 2, 10},
                  {650, 12, 50, 4, 8, 2, 2, 10},   {650, 12, 50, 12, 46, 4, 2, 10},
                  {650, 12, 50, 9, 10, 4, 4, 20},  {650, 14, 50, 4, 4, 2, 2, 10},
                  {650, 14, 50, 26, 28, 4, 2, 10}, {650, 14, 60, 1, 2, 1, 2, 10},
                  {650, 14, 60, 5, 6, 2, 2, 10},   {650, 14, 60, 11, 58, 4, 2, 10},
                  {650, 14, 60, 9, 9, 4, 4, 20},   {650, 16, 60, 13, 15, 4, 2, 10},
                  {650, 16, 70, 1, 1, 1, 2, 10},   {650, 16, 70, 4, 8, 2, 2, 10},
                  {650, 16, 70, 11, 62, 4, 2, 10}, {650, 16, 70, 10, 10, 4, 4, 20},
                  {650, 18, 70, 2, 2, 1, 2, 10},   {650, 18, 80, 2, 3, 1, 2, 10},
                  {650, 18, 80, 4, 8, 2, 2, 10},   {650, 18, 80, 15, 51, 4, 2, 10}};
    static struct table table;
    static struct infless_candidate candidates[TABLE_MAX];
    const struct infless_rule rule = {
        .form = INFLESS_LOGGED, .vcpu_weight = 64, .unit_weight = 142, .batch_threads = true};
    table_load(&table, "ssd");
    for (size_t i = 0; i < sizeof placed / sizeof *placed; i++)
        for (int end = 0; end < 2; end++) {
            struct slots slots = {.rule = &rule,
                                  .slot = {{.free_vcpus = 20 - placed[i].vcpus,
                                            .free_units = 100 - placed[i].units,
                                            .vcpus = 20,
                                            .units = 100}},
                                  .count = 1};
            size_t count = 0;
            const struct infless_choice choice =
                choose_from(&slots, &table.function, placed[i].slo_ms,
                            end == 0 ? placed[i].least : placed[i].most, candidates, &count);
            assert_non_null(choice.candidate);
            assert_int_equal(choice.candidate->batch, placed[i].batch);
            assert_int_equal(choice.candidate->vcpu, placed[i].vcpu);
            assert_int_equal(choice.candidate->vgpu, placed[i].vgpu);
        }
}

/* A slot without a configuration of the wanted kind is skipped; if all are, the other kind counts.
 */
CASE(a_slot_that_wants_the_other_resource_is_skipped)
{
    static const struct configuration gpu = {
        .batch = 1, .vcpu = 2, .vgpu = 50, .time = 50 * SIM_MS};
    struct configuration rows[1] = {gpu};
    struct infless_candidate candidates[1];
    struct function_gpu values = {0};
    const struct function function = {
        .gpus = &values, .configurations = rows, .configuration_count = 1};
    const struct infless_rule rule = {
        .form = INFLESS_LOGGED, .vcpu_weight = 64, .unit_weight = 142};
    const struct infless_slot empty = {
        .free_vcpus = 20, .free_units = 100, .vcpus = 20, .units = 100};
    struct slots slots = {.rule = &rule, .slot = {empty, empty}, .count = 2};
    slots.slot[1].invoker = 1;
    size_t count = 0;
    assert_int_equal(choose_from(&slots, &function, 200, 9, candidates, &count).slot.invoker, 0);
    slots.slot[1].free_vcpus = 18;
    assert_int_equal(choose_from(&slots, &function, 200, 9, candidates, &count).slot.invoker, 1);
}

/* The logs' rule of retirement by its text: all masks from 1, bit i retires instance i. */
static uint32_t first_mask(const struct infless_share *shares, size_t count, double rate)
{
    uint32_t best = 0;
    int least = 4;
    for (uint32_t mask = 1; mask + 1 < UINT32_C(1) << count; mask++) {
        double low = 0;
        double up = 0;
        for (size_t i = 0; i < count; i++) {
            low += (mask >> i & 1u) != 0 ? 0 : shares[i].bounds.low;
            up += (mask >> i & 1u) != 0 ? 0 : shares[i].bounds.up;
        }
        const int part = (int)((up - low) * 0.8);
        const int half = part / 2;
        const int quarter = part / 4;
        const double above = rate - low;
        const int class = above >= part ? 0 : above >= half ? 1 : above >= quarter ? 2 : 3;
        if (above < 0 || rate > up || class >= least)
            continue;
        least = class;
        best = mask;
    }
    return best;
}

CASE(the_first_set_in_order_of_masks_stays_while_it_contains_the_rate)
{
    struct random_stream stream;
    struct infless_share shares[8];
    size_t seen[4] = {0};
    for (uint64_t n = 0; n < trials(1500); n++) {
        random_stream_open(&stream, 15, RANDOM_TEST, n, 0);
        const size_t count = 1 + gsl_rng_uniform_int(&stream.rng, 8);
        double low = 0;
        for (size_t i = 0; i < count; i++) {
            const double least = 1 + (double)gsl_rng_uniform_int(&stream.rng, 9);
            shares[i] = share_of(least, least + (double)gsl_rng_uniform_int(&stream.rng, 12), 1);
            low += least;
        }
        uint32_t cached = 0;
        const double rate = (double)gsl_rng_uniform_int(&stream.rng, 40);
        const struct infless_split split = infless_divide(shares, count, rate, 0.8, &cached);
        if (split.regime != INFLESS_RETIRED)
            continue;
        const uint32_t mask = rate > 0 ? first_mask(shares, count, rate) : 0;
        const bool all = rate > 0 && mask == 0 && rate >= low;
        for (size_t i = 0; i < count; i++)
            assert_int_equal(shares[i].rate > 0, all || (mask != 0 && (mask >> i & 1u) == 0));
        assert_true(split.excess == (rate > 0 && !all ? rate : 0));
        seen[mask != 0 ? 0 : all ? 1 : rate > 0 ? 2 : 3]++;
        if (mask == 0)
            continue;
        check_rates(shares, count, rate);
        assert_true(infless_divide(shares, count, rate, 0.8, &cached).excess == 0);
        check_rates(shares, count, rate);
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(seen[i] > 0);
}

/* ---- LSTH ------------------------------------------------------------------------------------ */

struct gap {
    sim_time_t end, length;
};

static int compare_bins(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The bin of the percentile by sorting what lies in the last 16 slices of the window. */
static double bin_of(const struct gap *gaps, size_t count, sim_time_t now, sim_time_t bin,
                     sim_time_t window, double p, size_t *seen)
{
    static int64_t bins[GAPS_MAX];
    const sim_time_t slice = window / LSTH_SLICES;
    *seen = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t here = gaps[i].length / bin;
        if (gaps[i].end / slice > now / slice - LSTH_SLICES)
            bins[(*seen)++] = here < LSTH_BINS ? here : LSTH_BINS - 1;
    }
    if (*seen == 0)
        return 0;
    qsort(bins, *seen, sizeof *bins, compare_bins);
    const double rank = fmax(1, ceil(p * (double)*seen - 1e-9));
    return (double)bins[(size_t)rank - 1];
}

CASE(lsth_mixes_the_percentiles_of_both_windows)
{
    static struct gap gaps[GAPS_MAX];
    static struct lsth lsth;
    const sim_time_t bin = 2 * SIM_S;
    const sim_time_t windows[2] = {1600 * SIM_S, 320 * SIM_S};
    RANDOM_STREAM(stream, 14, RANDOM_TEST, 0, 0);
    lsth_init(&lsth, bin, windows[0], windows[1], 0.3);
    sim_time_t now = 0;
    size_t count = 0;
    lsth_observe(&lsth, now);
    while (count < GAPS_MAX) {
        const double mean_s = count / 500 % 2 == 0 ? 1 : 30;
        const sim_time_t gap = sim_from_s(-mean_s * log1p(-gsl_rng_uniform(&stream.rng)));
        now += gap;
        gaps[count++] = (struct gap){now, gap};
        lsth_observe(&lsth, now);
        if (count % 37 != 0)
            continue;
        sim_time_t prewarm = 0;
        sim_time_t keep = 0;
        const sim_time_t then = now + (sim_time_t)(count % 5) * 100 * SIM_S;
        size_t in_long = 0;
        size_t in_short = 0;
        double long_bins[2];
        double short_bins[2];
        for (size_t i = 0; i < 2; i++) {
            const double p = i == 0 ? 0.05 : 0.99;
            long_bins[i] = bin_of(gaps, count, then, bin, windows[0], p, &in_long);
            short_bins[i] = bin_of(gaps, count, then, bin, windows[1], p, &in_short);
            short_bins[i] = in_short > 0 ? short_bins[i] : long_bins[i];
        }
        /* A copy, since asking about later times lets the windows slide. */
        struct lsth copy = lsth;
        const bool known = lsth_windows(&copy, then, &prewarm, &keep);
        assert_int_equal(known, in_long >= LSTH_LEAST_GAPS);
        if (!known)
            continue;
        assert_int_equal(prewarm,
                         llround((0.3 * long_bins[0] + 0.7 * short_bins[0]) * (double)bin));
        assert_int_equal(
            keep, llround((0.3 * (long_bins[1] + 1) + 0.7 * (short_bins[1] + 1)) * (double)bin));
    }
}

CASE(lsth_expects_a_regular_caller_just_in_time)
{
    static struct lsth lsth;
    sim_time_t prewarm = 0;
    sim_time_t keep = 0;
    lsth_init(&lsth, 60 * SIM_S, 86400 * SIM_S, 3600 * SIM_S, 0.5);
    for (int i = 0; i <= 10; i++) {
        assert_false(lsth_windows(&lsth, i * 600 * SIM_S, &prewarm, &keep));
        lsth_observe(&lsth, i * 630 * SIM_S);
    }
    assert_true(lsth_windows(&lsth, 6300 * SIM_S, &prewarm, &keep));
    assert_int_equal(prewarm, 600 * SIM_S);
    assert_int_equal(keep, 660 * SIM_S);
}

/* ---- In the simulator ------------------------------------------------------------------------ */

/* What is seen of a run from within: a policy's functions have no other context. */
static struct {
    uint32_t alive, most_alive; /* instances: at the last look, and at most */
    uint64_t created;
    uint64_t taken; /* ended while they had a share of the load, so that another pool gets room */
} counted;          // NOLINT
static const struct policy *inner; // NOLINT

/* Each instance at the last look, by its id, which later instances use again. */
static struct {
    sim_time_t created; /* SIM_FOREVER: none */
    double rate;
} known[256]; // NOLINT

static bool watched_init(void *state, struct platform *platform, const void *parameters,
                         struct error *error)
{
    memset(&counted, 0, sizeof counted);
    for (size_t id = 0; id < sizeof known / sizeof *known; id++)
        known[id].created = SIM_FOREVER;
    return inner->init(state, platform, parameters, error);
}

static bool watched_decide(void *state, struct platform *platform)
{
    const struct infless *self = state;
    const bool more = inner->decide(state, platform);
    counted.alive = 0;
    assert_true(self->fleet.instance_room <= sizeof known / sizeof *known);
    for (uint32_t id = 0; id < self->fleet.instance_room; id++) {
        const bool alive = self->fleet.instances[id].deployment != SIM_NONE;
        const sim_time_t created = alive ? platform_instance(platform, id).created : SIM_FOREVER;
        if (created != known[id].created) {
            counted.created += alive;
            counted.taken += known[id].created != SIM_FOREVER && known[id].rate > 0;
        }
        counted.alive += alive;
        known[id].created = created;
        known[id].rate = alive ? self->instances[id].rate : 0;
    }
    counted.most_alive = counted.alive > counted.most_alive ? counted.alive : counted.most_alive;
    return more;
}

static struct policy watch(void)
{
    inner = must(policy_find("infless", hear()));
    struct policy watched = *inner;
    watched.init = watched_init;
    watched.decide = watched_decide;
    return watched;
}

/* The same with the efficiency of the paper, whose choices some cases know. */
static struct policy watch_paper(void)
{
    static struct key parameters[64];
    struct policy policy = watch();
    const size_t count = keys_count(policy.parameters);
    assert_true(count < sizeof parameters / sizeof *parameters);
    memcpy(parameters, policy.parameters, (count + 1) * sizeof *parameters);
    for (size_t i = 0; i < count; i++)
        if (strcmp(parameters[i].name, "efficiency") == 0)
            parameters[i].fallback = INFLESS_PAPER;
    policy.parameters = parameters;
    return policy;
}

/* An SLO that leaves time for batches to fill. */
static void relax(char *json)
{
    char *factor = must(strstr(json, "\"slo\":{\"factor\":"));
    factor += strlen("\"slo\":{\"factor\":");
    assert_true(factor[1] == '.' && factor[4] == '}');
    *factor = '6';
}

CASE(every_world_runs_to_its_end_and_again_to_the_same_bytes)
{
    static const struct world_case variants[] = {{NULL, 0},
                                                 {"efficiency", 0},
                                                 {"efficiency", 1},
                                                 {"efficiency", 2},
                                                 {"pool", 1},
                                                 {"max_batch", 1},
                                                 {"tick_s", 0.1},
                                                 {"inactive_ticks", 1},
                                                 {"split", 1},
                                                 {"limits", 2},
                                                 {"limits", 1},
                                                 {"load", 1},
                                                 {"lsth_bin_s", 0.05},
                                                 {"beta", 1},
                                                 {"placement", 1},
                                                 {"keep_alive", 1},
                                                 {"own_admission", 0},
                                                 {"scale_s", 0.1},
                                                 {"window_s", 1},
                                                 {"first", 1}};
    OWNED(free) struct log *logs = must(malloc(2 * sizeof *logs));
    uint64_t taken = 0;
    uint64_t failed = 0;
    uint64_t largest = 0;
    for (uint64_t world = 0; world < WORLDS; world++)
        for (size_t v = world % 2; v < sizeof variants / sizeof *variants; v += 2) {
            const struct policy policy = watch();
            char *json = world_random(world, world % 3 == 0);
            if (world % 2 == 0)
                relax(json);
            if (world % 5 == 4)
                world_exclusive(json);
            uint64_t dropped = 0;
            for (int i = 0; i < 2; i++)
                world_serve(json, &policy, variants[v].key, variants[v].number, &logs[i], &dropped);
            assert_same_rows(&logs[0], &logs[1]);
            /* Requests are given up as excess only. */
            if (variants[v].key != NULL && strcmp(variants[v].key, "own_admission") == 0)
                assert_int_equal(dropped, 0);
            failed += dropped;
            for (size_t i = 0; i < logs[0].batch_count; i++)
                largest = logs[0].batches[i].jobs > largest ? logs[0].batches[i].jobs : largest;
            taken += counted.taken;
        }
    /* Some worlds are too small for an instance of each function, some fill batches. */
    assert_true(taken > 0);
    assert_true(largest > 1);
    assert_true(failed > 0);
}

/* An invoker like one socket of the authors' and resnet-50 as they measured it; a second later 60
 * requests per second, much later 2. */
static char *world_resnet(const char *trace, unsigned requests)
{
    static const uint16_t batches[] = {1, 2, 4};
    static const uint16_t vcpus[] = {2, 4};
    static struct table table;
    table_load(&table, "resnet-50");
    char latency_ms[WORLD_BYTES] = "";
    for (size_t b = 0; b < 3; b++) {
        world_add(latency_ms, b > 0 ? ",[" : "[");
        for (size_t c = 0; c < 2; c++)
            for (uint16_t g = 10; g <= 50; g = (uint16_t)(g + 10)) {
                const struct configuration key = {.batch = batches[b], .vcpu = vcpus[c], .vgpu = g};
                const struct configuration *row =
                    bsearch(&key, table.rows, table.function.configuration_count,
                            sizeof *table.rows, compare_rows);
                world_add(latency_ms, "%s", g > 10 ? "," : c > 0 ? ",[" : "[");
                if (row != NULL)
                    world_add(latency_ms, "%.3f", sim_to_ms(row->time));
                else
                    world_add(latency_ms, "null");
                world_add(latency_ms, "%s", g == 50 ? "]" : "");
            }
        world_add(latency_ms, "]");
    }
    char *json = world_build(&(struct world){
        .vcpus = 20,
        .memory_mb = 65536,
        .units = 100,
        .gpu_memory_mb = 11000,
        .functions = {{"resnet", "1,2,4", "2,4", "10,20,30,40,50", latency_ms, 0, 1000, 0}},
        .applications = "one: a=resnet",
        .trace = trace,
        .slo_ms = 200,
        .platform = "'interference':false,'initial':{'resnet':8}",
        .requests = requests,
        .seed = 3});
    return json;
}

/* 60 per second for 20 s, then 2 per second for 60 s. Returns how many. */
static unsigned write_trace(char *path)
{
    FILE *stream = trace_begin(path);
    unsigned count = 0;
    for (double ms = 0; ms < 80000; ms += ms < 20000 ? 1000.0 / 60 : 500, count++)
        fprintf(stream, "%.3f,one\n", ms);
    fclose(stream);
    return count;
}

CASE(it_scales_up_with_unequal_batches_to_the_documented_one_and_down_again)
{
    CLOSED(unlink_owned) char path[] = "/tmp/esgsim-trace-XXXXXX";
    const unsigned requests = write_trace(path);
    struct log *log = log_one();
    char *json = world_resnet(path, requests);
    struct policy policy = watch();
    const struct {
        const char *key;
        double value;
    } wanted[] = {{"efficiency", INFLESS_REPO},
                  {"margin", 0},
                  {"beta", 1},
                  {"limits", 2},
                  {"scale_s", 1},
                  {"window_s", 1}};
    EXPERIMENT *experiment = load(json);
    const struct recorder recorder = log_recorder(log);
    OWNED(free) double *values = policy_values(&policy, NULL, 0);
    for (size_t i = 0; i < keys_count(policy.parameters); i++)
        for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++)
            if (strcmp(policy.parameters[i].name, wanted[w].key) == 0)
                values[i] = wanted[w].value;
    memset(log, 0, sizeof *log);
    assert_good(simulation_run(experiment, &policy, values, &recorder, NULL, anew(), hear()));
    uint64_t by_batch[5] = {0};
    uint64_t jobs[5] = {0};
    uint64_t full = 0;
    uint64_t late_hits = 0;
    for (size_t i = 0; i < log->batch_count; i++) {
        const struct batch_row *row = &log->batches[i];
        assert_true(row->configured_batch <= 4);
        if (row->finished_ns > 5 * SIM_S && row->finished_ns < 20 * SIM_S) {
            by_batch[row->configured_batch]++;
            jobs[row->configured_batch] += row->jobs;
            full += row->jobs == 4;
        }
        if (row->configured_batch == 4)
            assert_true(row->vcpu == 4 && row->vgpu == 50);
    }
    for (size_t i = 0; i < log->request_count; i++)
        late_hits += log->requests[i].arrival_ns > 5 * SIM_S &&
                     log->requests[i].finish_ns - log->requests[i].arrival_ns <= 200 * SIM_MS;
    assert_true(by_batch[1] > 0 && by_batch[4] > 0 && full > 0);
    assert_true(late_hits > requests / 2);
    /* R = 60 within R_min = 1 + 31 and R_max = 20 + 55 leaves 20 - 15 / 43 x 19 for batch 1. */
    const double share = (double)jobs[1] / (double)(jobs[1] + jobs[4]);
    assert_true(fabs(share - (20 - 15.0 / 43 * 19) / 60) < 0.03);
    assert_true(counted.most_alive > 1);
    assert_int_equal(counted.alive, 1);
}

/* Every 65 s: with bins of 10 s a container is due after 60 s and kept to 70 s. */
CASE(a_regular_caller_meets_a_container_that_was_started_for_it)
{
    enum { REGULAR = 30 };
    TRACE_FILE(trace, path);
    for (int i = 0; i < REGULAR; i++)
        fprintf(trace, "%d,one\n", 65000 * i);
    fclose(trace);
    char *json = world_resnet(path, REGULAR);
    struct policy policy = watch();
    run_well_with(json, &policy, "lsth_bin_s", 10, &rows, anew());
    /* Ten gaps are known after 650 s, when the first containers are gone, too. */
    assert_in_range(result.run.prewarms, REGULAR - 12, REGULAR - 10);
    assert_int_equal(counted.created, REGULAR);
    for (size_t i = 0; i < REGULAR; i++)
        assert_true(rows.requests[i].finish_ns - rows.requests[i].arrival_ns <= 200 * SIM_MS);
}

/* A GPU of `units`, for f and g on one or on `large` units in `times`. */
static char *world_narrow(unsigned units, const char *large, const char *times, const char *trace,
                          unsigned requests)
{
    char *json =
        world_build(&(struct world){.memory_mb = 2000,
                                    .units = units,
                                    .gpu_memory_mb = 2000,
                                    .functions = {{"f", "1", "1", large, times, 0, 1000, 0},
                                                  {"g", "1", "1", large, times, 0, 1000, 0}},
                                    .applications = "first: a=f; second: a=g",
                                    .trace = trace,
                                    .slo_ms = 50,
                                    .platform = "'interference':false,'initial':{'f':2,'g':2}",
                                    .requests = requests,
                                    .seed = 3});
    return json;
}

/* In 50 ms nothing less than three units will do. f takes them first and is not asked for after 5
 * s; g makes do with one until f's instance has retired, and then has its own. f's rate is 0 from
 * 16 s on. The scaling steps at 20, 30 and 40 s count it as inactive, that at 50 s ends it
 * (TankLabTJU/INFless @ 8940934, faas-netes/handlers/deploy.go: each 10 s, line 35; three times,
 * line 34; the counter is compared before it is raised, lines 507-510). */
CASE(what_is_made_for_want_of_room_does_not_count_as_capacity)
{
    TRACE_FILE(trace, path);
    unsigned count = 0;
    for (int ms = 0; ms < 100000; ms += 100) {
        if (ms < 5000 && ++count > 0)
            fprintf(trace, "%d,first\n", ms);
        if (ms >= 1000 && ++count > 0)
            fprintf(trace, "%d,second\n", ms + 50);
    }
    fclose(trace);
    char *json = world_narrow(4, "1,3", "[[60,20]]", path, count);
    struct policy policy = watch();
    run_well(json, &policy, &rows, anew());
    for (size_t i = 0; i < rows.request_count; i++) {
        const struct request_row *row = &rows.requests[i];
        if (row->application == 0 || row->arrival_ns > 52 * SIM_S)
            assert_true(row->hit);
        else if (row->arrival_ns < 50 * SIM_S)
            assert_true(!row->hit && row->exec_ns == 60 * SIM_MS);
    }
    /* f's, g's makeshift and g's own; only the last lives. */
    assert_int_equal(counted.created, 3);
    assert_int_equal(counted.alive, 1);
}

/* Writes `count` requests for f, `gap_ms` apart. */
static void write_steady(char *path, unsigned count, double gap_ms)
{
    FILE *trace = trace_begin(path);
    for (unsigned i = 0; i < count; i++)
        fprintf(trace, "%.3f,first\n", i * gap_ms);
    fclose(trace);
}

/* f holds the GPU and takes 25 ms, with the margin 27.5: r_up is 36.36 per second, and 80 arrive.
 * The code gives the instance the weight r_up and a virtual one, at an address where nothing
 * listens, the rest (faas-netes/gpu/aside/dispatcher.go, updateFunctionsLottery; repository.go,
 * line 366). So (80 - 36.36) / 80 of the requests fail, from the first rate on. */
CASE(arrivals_beyond_the_capacity_fail_or_wait)
{
    enum { STEADY = 1600 };
    CLOSED(unlink_owned) char path[] = "/tmp/esgsim-trace-XXXXXX";
    write_steady(path, STEADY, 12.5);
    char *json = world_narrow(4, "1,4", "[[60,25]]", path, STEADY);
    struct policy policy = watch_paper();
    run_well(json, &policy, &rows, anew());
    const double expected = (STEADY - 80) * (1 - 1 / 0.0275 / 80);
    assert_true(fabs((double)result.overall.dropped - expected) <= 2);
    for (size_t i = STEADY - 400; i < STEADY; i++)
        assert_true(rows.requests[i].hit || rows.requests[i].dropped);
    run_well_with(json, &policy, "own_admission", 0, &rows, anew());
    assert_int_equal(result.overall.dropped, 0);
    assert_true(result.overall.slo_hit_rate < 0.01);
}

/* The code offers at most 50 % of a GPU (faas-netes/gpu/controller/estimator.go, the loop from
 * gpuCorePercent = 50 down). Of 1, 2, 4 and 7 sevenths, 4 are nearest to that. */
CASE(half_a_gpu_is_the_nearest_share)
{
    enum { STEADY = 200 };
    static const uint16_t largest[] = {7, 4};
    CLOSED(unlink_owned) char path[] = "/tmp/esgsim-trace-XXXXXX";
    write_steady(path, STEADY, 30);
    char *json = world_narrow(7, "1,2,4,7", "[[90,80,30,20]]", path, STEADY);
    struct policy policy = watch_paper();
    for (size_t limits = 0; limits < 2; limits++) {
        run_well_with(json, &policy, "limits", (double)limits, &rows, anew());
        for (size_t i = 0; i < rows.batch_count; i++)
            assert_int_equal(rows.batches[i].vgpu, largest[limits]);
    }
}

/* Of resnet-50 in 200 ms: batch 1 (CreatePreWarmPod of deploy.go, line 162, asks for 1) or 4. */
CASE(the_first_instance_has_batch_one_or_the_largest)
{
    CLOSED(unlink_owned) char path[] = "/tmp/esgsim-trace-XXXXXX";
    const unsigned requests = write_trace(path);
    char *json = world_resnet(path, requests);
    struct policy policy = watch();
    for (size_t first = 0; first < 2; first++) {
        run_well_with(json, &policy, "first", (double)first, &rows, anew());
        assert_int_equal(rows.batches[0].configured_batch, first == 0 ? 1 : 4);
    }
}

/* One unit will do, four are what the metric likes best: f has them as g asks for the first time,
 * and they are not to go to and fro. */
CASE(who_takes_room_from_others_takes_no_more_than_is_of_use)
{
    enum { ALTERNATING = 200 };
    TRACE_FILE(trace, path);
    for (int i = 0; i < ALTERNATING; i++)
        fprintf(trace, "%d,%s\n", 50 * i, i % 2 == 0 ? "first" : "second");
    fclose(trace);
    char *json = world_narrow(4, "1,4", "[[40,15]]", path, ALTERNATING);
    struct policy policy = watch_paper();
    run_well(json, &policy, &rows, anew());
    assert_int_equal(counted.taken, 1);
    assert_int_equal(counted.created, 3);
    assert_int_equal(counted.alive, 2);
    assert_true(result.overall.slo_hit_rate >= 1);
}

SUITE("infless")
