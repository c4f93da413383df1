/* Applications are drawn by their weights, from the streams that define the draws. */
#include "sim/engine/random.h"
#include "tests/suite.h"
#include "workloads/arrivals/arrivals.h"
#include "workloads/world/workload.h"

/* Weights of all sizes, some of them 0; they sum to 1 but for rounding, as the loader leaves them.
 */
static void weights_draw(struct application applications[], size_t count,
                         struct random_stream *random)
{
    double sum = 0;
    for (size_t a = 0; a < count; a++) {
        double weight = random_uniform(random);
        weight = random_uniform(random) < 0.2 ? 0 : weight * weight * weight;
        applications[a] = (struct application){.weight = weight};
        sum += weight;
    }
    applications[count / 2].weight += 1e-9;
    for (size_t a = 0; a < count; a++)
        applications[a].weight /= sum + 1e-9;
}

CASE(shares_of_draws_are_the_weights)
{
    enum { COUNT = 30, DRAWS = 100000 };
    struct application applications[COUNT];
    size_t drawn[COUNT] = {0};
    RANDOM_STREAM(random, 1, RANDOM_TEST, 0, 0);
    weights_draw(applications, COUNT, &random);
    const struct workload workload = {.applications = applications, .application_count = COUNT};
    for (uint64_t request = 0; request < DRAWS; request++)
        drawn[application_draw(&workload, 5, request)]++;
    for (size_t a = 0; a < COUNT; a++) {
        const double expected = applications[a].weight * DRAWS;
        assert_true(fabs((double)drawn[a] - expected) <= 5 * sqrt(expected));
    }
}

CASE(a_larger_number_never_belongs_to_an_earlier_application)
{
    struct application applications[30];
    RANDOM_STREAM(random, 2, RANDOM_TEST, 0, 0);
    for (int round = 0; round < 50; round++) {
        weights_draw(applications, 30, &random);
        const struct workload workload = {.applications = applications, .application_count = 30};
        for (int k = 0; k < 500; k++) {
            const double one = random_uniform(&random);
            const double other = random_uniform(&random);
            const double low = one < other ? one : other, high = one < other ? other : one;
            assert_true(application_draw_walk(&workload, low) <=
                        application_draw_walk(&workload, high));
        }
    }
}

CASE(a_request_draws_from_the_stream_of_its_number)
{
    struct application applications[30];
    RANDOM_STREAM(random, 3, RANDOM_TEST, 0, 0);
    weights_draw(applications, 30, &random);
    const struct workload workload = {.applications = applications, .application_count = 30};
    for (uint64_t request = 0; request < 3000; request += request % 5 == 0 ? 3 : 1) {
        random_stream_open(&random, 77, RANDOM_APPLICATION, request, 0);
        assert_int_equal(application_draw(&workload, 77, request),
                         application_draw_walk(&workload, random_uniform(&random)));
    }
}

CASE(an_application_without_weight_is_never_drawn)
{
    struct application three[] = {{.weight = 0}, {.weight = 1}, {.weight = 0}};
    const struct workload lone = {.applications = three, .application_count = 3};
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(application_draw(&lone, 3, i), 1);
}

SUITE("application_draw")
