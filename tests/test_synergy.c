/* Synergy's rounds against the finish times of its authors' simulator. */
#include "tests/synergy_rounds.h"
#include "traces/readers/line_reader.h"

/* ---- Every finish time of the original ------------------------------------------------------- */

static const struct set {
    const char *name, *path;
    uint32_t servers;
    uint64_t first, last;
} sets[] = {
    {"static", "traces/trainings/synergy_static_100job.csv.gz", 4, 0, 100},
    {"dynamic", "traces/trainings/synergy_dynamic_100job.csv.gz", 4, 0, 100},
    {"single9w400", "traces/trainings/synergy_s42_9jph_single.csv.gz", 16, 400, 500},
};

static const char *const orders[] = {"fifo", "srtf", "las", "ftf", NULL};
static const char *const allocations[] = {"proportional", "greedy", "tune", "opt", NULL};

static size_t index_of(const char *const *names, const char *name)
{
    size_t i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0)
        i++;
    assert_non_null(names[i]);
    return i;
}

/* No server gives more than it has, and every training has all its GPUs or none. */
static void check_round(const struct rounds *rounds)
{
    const struct synergy_round *round = rounds->round;
    const struct synergy_servers *servers = &round->servers;
    double vcpus[16] = {0};
    double memory[16] = {0};
    uint32_t used[16] = {0};
    for (size_t i = 0; i < round->count; i++) {
        const struct synergy_training *training = round->list[i];
        uint32_t gpus = 0;
        for (uint32_t p = 0; p < training->pieces; p++) {
            const struct synergy_piece *piece = &round->pieces[training->piece + p];
            gpus += piece->gpus;
            used[piece->server] += piece->gpus;
            vcpus[piece->server] += piece->gpus * training->vcpus_per_gpu;
            memory[piece->server] += piece->gpus * training->memory_per_gpu;
        }
        assert_int_equal(gpus, training->placed ? training->gpus : 0);
    }
    for (uint32_t s = 0; s < servers->count; s++)
        if (used[s] > servers->gpus || vcpus[s] > servers->vcpus || memory[s] > servers->memory)
            fail_msg("server %u: %u GPUs, %g vCPUs, %g GB", s, used[s], vcpus[s], memory[s]);
}

static void compare(struct line_reader *lines, const char *header)
{
    char set[32] = "";
    char order[8] = "";
    char allocation[16] = "";
    size_t count = 0;
    struct error error = {0};
    struct rounds rounds;
    assert_int_equal(sscanf(header, "# %31s %7s %15s %zu", set, order, allocation, &count), 4);
    const struct set *found = &sets[0];
    while (strcmp(found->name, set) != 0)
        found++;
    rounds_open(&rounds, found->path, found->servers, (enum synergy_order)index_of(orders, order),
                (enum synergy_allocation)index_of(allocations, allocation), found->first,
                found->last);
    rounds.check = check_round;
    rounds_run(&rounds);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        char *line = NULL;
        unsigned id = 0;
        double finish = 0;
        double attained = 0;
        assert_int_equal(line_reader_next(lines, &line, &error), LINE_READ);
        assert_int_equal(sscanf(line, "%u,%lf,%lf", &id, &finish, &attained), 3);
        if (rounds.finish_s[id] != finish || rounds.trainings[id].attained_s != attained)
            fail_msg("%s %s %s, training %u: finish %g, not %g; attained %g, not %g", set, order,
                     allocation, id, rounds.finish_s[id], finish, rounds.trainings[id].attained_s,
                     attained);
        if (id >= found->first && id < found->last)
            sum += finish - rounds.trainings[id].arrival_s;
    }
    print_message("%-12s %-5s %-13s mean JCT %.3f h\n", set, order, allocation,
                  sum / (double)(found->last - found->first) / 3600);
    rounds_close(&rounds);
}

static void every_finish_time_of_the_original_is_reproduced(void **state)
{
    (void)state;
    struct line_reader lines = {0};
    struct error error = {0};
    char *line = NULL;
    size_t runs = 0;
    assert_true(line_reader_open(&lines, "tests/data/training/synergy_finishes.csv.gz", &error));
    while (line_reader_next(&lines, &line, &error) == LINE_READ) {
        compare(&lines, line);
        runs++;
    }
    line_reader_close(&lines);
    assert_int_equal(runs, 22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_finish_time_of_the_original_is_reproduced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
