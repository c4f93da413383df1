/* The table of the applications' shares against walking them, and against the streams that define
 * the draws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "sim/random.h"
#include "workloads/application_draw.h"
#include "workloads/workload.h"

/* Uniform draws are k * 2^-53. */
#define STEPS (UINT64_C(1) << 53)

enum { MOST = 400 };

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

/* The first k for which the walk names an application after `a`; STEPS where it never does. */
static uint64_t share_end(const struct workload *workload, uint32_t a)
{
    uint64_t low = 0, high = STEPS;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (application_draw_walk(workload, (double)middle * 0x1p-53) > a)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void assert_same(const struct workload *workload, const struct application_draw *draw,
                        uint64_t k)
{
    const double uniform = (double)(k % STEPS) * 0x1p-53;
    assert_int_equal(application_draw_look_up(draw, uniform),
                     application_draw_walk(workload, uniform));
}

static void the_table_tells_what_the_walk_finds(void **state)
{
    static const size_t counts[] = {1, 2, 3, 7, 30, 255, 256, 257, MOST};
    struct application applications[MOST];
    struct random_stream random;
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        random_stream_open(&random, 1, RANDOM_TEST, i, 0);
        weights_draw(applications, counts[i], &random);
        const struct workload workload = {.applications = applications,
                                          .application_count = counts[i]};
        struct application_draw *draw = application_draw_create(&workload, 1);
        assert_non_null(draw);
        for (uint32_t a = 0; a < counts[i]; a++)
            for (uint64_t near = 0; near < 7; near++)
                assert_same(&workload, draw, share_end(&workload, a) + STEPS - 3 + near);
        for (uint64_t edge = 0; edge < 4096; edge++)
            for (uint64_t near = 0; near < 3; near++)
                assert_same(&workload, draw, edge * (STEPS / 4096) + STEPS - 1 + near);
        for (int k = 0; k < 20000; k++)
            assert_same(&workload, draw, random_uint64(&random) >> 11);
        application_draw_destroy(draw);
    }
}

static void a_larger_number_never_belongs_to_an_earlier_application(void **state)
{
    struct application applications[30];
    struct random_stream random;
    (void)state;
    random_stream_open(&random, 2, RANDOM_TEST, 0, 0);
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

static void a_request_draws_from_the_stream_of_its_number(void **state)
{
    struct application applications[30];
    struct random_stream random;
    (void)state;
    random_stream_open(&random, 3, RANDOM_TEST, 0, 0);
    weights_draw(applications, 30, &random);
    const struct workload workload = {.applications = applications, .application_count = 30};
    struct application_draw *draw = application_draw_create(&workload, 77);
    assert_non_null(draw);
    for (uint64_t request = 0; request < 3000; request += request % 5 == 0 ? 3 : 1) {
        random_stream_open(&random, 77, RANDOM_APPLICATION, request, 0);
        assert_int_equal(application_draw_next(draw, request),
                         application_draw_walk(&workload, random_uniform(&random)));
    }
    application_draw_destroy(draw);
}

static void an_application_without_weight_is_never_drawn(void **state)
{
    struct application three[] = {{.weight = 0}, {.weight = 1}, {.weight = 0}};
    const struct workload lone = {.applications = three, .application_count = 3};
    (void)state;
    struct application_draw *draw = application_draw_create(&lone, 3);
    assert_non_null(draw);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(application_draw_next(draw, i), 1);
    application_draw_destroy(draw);
}

int main(void)
{
    const struct CMUnitTest application_draw[] = {
        cmocka_unit_test(the_table_tells_what_the_walk_finds),
        cmocka_unit_test(a_larger_number_never_belongs_to_an_earlier_application),
        cmocka_unit_test(a_request_draws_from_the_stream_of_its_number),
        cmocka_unit_test(an_application_without_weight_is_never_drawn),
    };
    return cmocka_run_group_tests_name("application_draw", application_draw, NULL, NULL);
}
