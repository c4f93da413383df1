/* Muri's srtf, srsf and tiresias against the output of its authors' simulator. */
#include "tests/muri_loop.h"
#include "tests/read_numbers.h"
#include "tests/suite.h"
#include "traces/readers/line_reader.h"
#include "workloads/training/trainings.h"

OWNER(training_models_free, struct training_models)
OWNER(training_trace_free, struct training_trace)

static const struct muri_cluster eight_nodes = {
    .nodes = 8, .gpus = 8, .vcpus = 92, .memory_gb = 520};

static struct muri_training *read_trace(const char *path, size_t *count)
{
    const struct training_draw draw = {0};
    OWNED(training_models_free)
    struct training_models *models =
        training_models_read("workloads/models/muri-v100.json", hear());
    OWNED(training_trace_free)
    struct training_trace *trace = must(training_trace_read(path, "muri", hear()));
    assert_non_null(models);
    struct training_spec *specs = must(trainings_from_trace(trace, path, models, &draw, 1, hear()));
    *count = trace->count;
    struct muri_training *trainings = must(calloc(*count, sizeof *trainings));
    for (size_t i = 0; i < *count; i++)
        trainings[i] = (struct muri_training){
            .gpus = specs[i].gpus,
            .arrival_s = sim_to_s(specs[i].arrival),
            .iteration_s = specs[i].iteration_s,
            .iterations = (double)specs[i].iterations,
            .restart_s =
                models->models[specs[i].model].restart_s[training_gang(models, specs[i].gpus)]};
    return trainings;
}

static void assert_close(const char *what, size_t id, double ours, double theirs)
{
    if (!(fabs(ours - theirs) <= 1e-9 * fabs(theirs)))
        fail_msg("training %zu: %s %.17g, not %.17g", id, what, ours, theirs);
}

static void compare(struct line_reader *lines, char *header)
{
    static const char *const orders[] = {"srtf", "srsf", "tiresias"};
    static const double means[] = {193081.79602401206, 185021.880164229, 347213.24811861874};
    size_t count = 0;
    size_t o = 0;
    double sum = 0;
    assert_string_equal(next_word(&header), "trace3");
    const char *order = next_word(&header);
    const size_t rows = (size_t)next_number(&header);
    char *name = formatted("%s", order); /* the reader's line changes */
    while (o < 2 && strcmp(orders[o], name) != 0)
        o++;
    OWNED(free)
    struct muri_training *trainings = read_trace("traces/trainings/muri_trace3.csv.gz", &count);
    assert_int_equal(count, rows);
    assert_true(muri_run((enum muri_order)o, &eight_nodes, trainings, count, hear()));
    for (size_t i = 0; i < rows; i++) {
        char *line = NULL;
        assert_int_equal(line_reader_next(lines, &line, hear()), LINE_READ);
        const size_t id = (size_t)next_number(&line);
        const double start = next_number(&line);
        const double finish = next_number(&line);
        const double executed = next_number(&line);
        assert_close("start", id, trainings[id].start_s, start);
        assert_close("finish", id, trainings[id].finish_s, finish);
        assert_close("time executed", id, trainings[id].executed_s, executed);
        sum += trainings[id].finish_s - trainings[id].arrival_s;
    }
    print_message("%-8s mean JCT %.2f s\n", name, sum / (double)count);
    assert_close("mean", count, sum / (double)count, means[o]);
}

CASE(every_training_of_trace_3_ends_as_in_the_original)
{
    struct line_reader lines = {0};
    char *line = NULL;
    size_t runs = 0;
    assert_true(line_reader_open(&lines, "tests/data/training/muri_finishes.csv.gz", hear()));
    for (; line_reader_next(&lines, &line, hear()) == LINE_READ; runs++)
        compare(&lines, line);
    line_reader_close(&lines);
    assert_int_equal(runs, 3);
}

/* Without restarts and with gangs of one GPU on one GPU, srtf is preemptive shortest remaining time
 * first: 0..10 runs the long one, 10..14 the short one, then the long one again. */
CASE(srtf_preempts_for_a_shorter_training)
{
    const struct muri_cluster one = {.nodes = 1, .gpus = 1, .vcpus = 8, .memory_gb = 64};
    struct muri_training trainings[] = {
        {.gpus = 1, .arrival_s = 0, .iteration_s = 1, .iterations = 100},
        {.gpus = 1, .arrival_s = 10, .iteration_s = 2, .iterations = 2},
    };
    assert_true(muri_run(MURI_SRTF, &one, trainings, 2, hear()));
    assert_true(trainings[1].start_s == 10 && trainings[1].finish_s == 14);
    assert_true(trainings[0].start_s == 0 && trainings[0].finish_s == 104);
    assert_true(trainings[0].executed_s == 100);
}

CASE(a_gang_that_never_fits_is_an_error)
{
    struct muri_training training = {.gpus = 65, .iteration_s = 1, .iterations = 100};
    assert_false(muri_run(MURI_SRTF, &eight_nodes, &training, 1, hear()));
    assert_string_equal(heard.message, "muri: a training of 65 GPUs never fits the cluster");
}

SUITE("muri")
