/* The indices by best fit against a plain account of who was filed where and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/fit_index.h"
#include "sim/random.h"
#include "sim/units.h"

enum { INVOKERS_MOST = 700, INDICES_MOST = 9, STRIDE = 10 };

struct account {
    bool filed;
    uint32_t headroom, vcpus;
    uint64_t since;
};

struct fixture {
    struct fit_index index;
    struct fit_link links[INVOKERS_MOST * STRIDE];
    struct account accounts[INVOKERS_MOST][INDICES_MOST];
    uint32_t invokers;
    uint64_t filings;
    size_t packed; /* times that a bucket had fewer positions in use after a filing than before */
    struct random_stream random;
};

static struct fixture *fixture_make(uint32_t invokers, uint32_t indices, uint32_t units,
                                    uint32_t vcpus)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->invokers = invokers;
    random_stream_open(&fixture->random, 5, RANDOM_TEST, invokers, indices);
    assert_true(fit_index_init(&fixture->index, fixture->links, STRIDE, 1, invokers, indices, units,
                               vcpus));
    return fixture;
}

static void fixture_free(struct fixture *fixture)
{
    fit_index_clear(&fixture->index);
    free(fixture);
}

static uint32_t draw(struct fixture *fixture, uint32_t below)
{
    return (uint32_t)gsl_rng_uniform_int(&fixture->random.rng, below);
}

static uint32_t positions_used(const struct fixture *fixture)
{
    uint32_t used = 0;
    for (uint32_t b = 0; b < (fixture->index.units + 1) << fixture->index.column_bits; b++)
        used += fixture->index.buckets[b].used;
    return used;
}

static const struct fit_bucket *bucket_of(const struct fixture *fixture, uint32_t headroom,
                                          uint32_t vcpus)
{
    return &fixture->index.buckets[headroom << fixture->index.column_bits | vcpus];
}

static void file_set(struct fixture *fixture, uint32_t set, uint32_t invoker, uint32_t headroom,
                     uint32_t vcpus)
{
    const uint32_t first = set != 0 ? (uint32_t)__builtin_ctz(set) : 0;
    const uint32_t column = vcpus < fixture->index.vcpus ? vcpus : fixture->index.vcpus;
    const uint32_t before = positions_used(fixture);
    assert_true(fit_index_file_set(&fixture->index, first, set >> first, invoker, headroom, vcpus));
    fixture->packed += positions_used(fixture) < before;
    fixture->filings++;
    for (uint32_t which = 0; which < fixture->index.indices; which++) {
        struct account *account = &fixture->accounts[invoker][which];
        const bool moves =
            !account->filed || account->headroom != headroom || account->vcpus != column;
        if ((set >> which & 1) != 0 && moves)
            *account = (struct account){true, headroom, column, fixture->filings};
    }
}

static void file(struct fixture *fixture, uint32_t which, uint32_t invoker, uint32_t headroom,
                 uint32_t vcpus)
{
    struct account *account = &fixture->accounts[invoker][which];
    const uint32_t before = positions_used(fixture);
    assert_true(fit_index_file(&fixture->index, which, invoker, headroom, vcpus));
    fixture->packed += positions_used(fixture) < before;
    const uint32_t column = vcpus < fixture->index.vcpus ? vcpus : fixture->index.vcpus;
    if (!account->filed || account->headroom != headroom || account->vcpus != column)
        *account = (struct account){true, headroom, column, ++fixture->filings};
}

static void unfile(struct fixture *fixture, uint32_t which, uint32_t invoker)
{
    fit_index_remove(&fixture->index, which, invoker);
    fixture->accounts[invoker][which].filed = false;
}

struct candidate {
    struct account account;
    uint32_t invoker;
};

/* Fewest units, then fewest vCPUs, then the latest. */
static int candidate_compare(const void *a, const void *b)
{
    const struct account *x = &((const struct candidate *)a)->account;
    const struct account *y = &((const struct candidate *)b)->account;
    if (x->headroom != y->headroom)
        return x->headroom < y->headroom ? -1 : 1;
    if (x->vcpus != y->vcpus)
        return x->vcpus < y->vcpus ? -1 : 1;
    return x->since > y->since ? -1 : 1;
}

static void assert_walk(const struct fixture *fixture, uint32_t which, uint32_t units,
                        uint32_t vcpus)
{
    struct candidate expected[INVOKERS_MOST] = {0};
    size_t count = 0;
    const uint32_t column = vcpus < fixture->index.vcpus ? vcpus : fixture->index.vcpus;
    for (uint32_t i = 0; i < fixture->invokers; i++) {
        const struct account *account = &fixture->accounts[i][which];
        if (account->filed && account->headroom >= units && account->vcpus >= column)
            expected[count++] = (struct candidate){*account, i};
    }
    qsort(expected, count, sizeof *expected, candidate_compare);
    uint32_t cursor = SIM_NONE;
    for (size_t k = 0; k < count; k++) {
        cursor = fit_index_next(&fixture->index, which, units, vcpus, cursor);
        assert_int_equal(cursor, expected[k].invoker);
    }
    assert_int_equal(fit_index_next(&fixture->index, which, units, vcpus, cursor), SIM_NONE);
}

static void assert_all_walks(const struct fixture *fixture)
{
    for (uint32_t which = 0; which < fixture->index.indices; which++)
        assert_walk(fixture, which, 0, 0);
}

/* Invokers move in all, in some, or in one of their indices, and leave them. */
static void random_filings(struct fixture *fixture, int steps, uint32_t most_headroom,
                           uint32_t most_vcpus)
{
    for (int step = 0; step < steps; step++) {
        const uint32_t invoker = draw(fixture, fixture->invokers);
        const uint32_t headroom = draw(fixture, most_headroom + 1);
        const uint32_t vcpus = draw(fixture, most_vcpus + 1);
        const uint32_t kind = draw(fixture, 8), one = draw(fixture, fixture->index.indices);
        const uint32_t some = draw(fixture, 1U << fixture->index.indices);
        if (kind < 5)
            file_set(fixture, some, invoker, headroom, vcpus);
        else if (kind < 7)
            file(fixture, one, invoker, headroom, vcpus);
        for (uint32_t which = 0; kind == 7 && which < fixture->index.indices; which++)
            if ((some >> which & 1) != 0)
                unfile(fixture, which, invoker);
        if (step % 16 == 0)
            assert_walk(fixture, one, draw(fixture, most_headroom + 2),
                        draw(fixture, most_vcpus + 1));
    }
    assert_all_walks(fixture);
}

static void walks_follow_an_account_of_all_filings(void **state)
{
    (void)state;
    static const struct {
        uint32_t invokers, indices, units, vcpus, most_headroom, most_vcpus;
    } cases[] = {
        {1, 1, 0, 0, 0, 0},  {5, 2, 1, 2, 1, 4},       {40, 7, 7, 16, 7, 16},
        {40, 9, 2, 3, 2, 5}, {300, 8, 3, 130, 3, 140}, {INVOKERS_MOST, 3, 0, 1, 0, 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct fixture *fixture =
            fixture_make(cases[k].invokers, cases[k].indices, cases[k].units, cases[k].vcpus);
        random_filings(fixture, 6000, cases[k].most_headroom, cases[k].most_vcpus);
        fixture_free(fixture);
    }
}

/* Of a crowd in two buckets a few go to and fro: the others keep their order where positions are
 * used up, whether the bucket doubles or is packed. */
static void the_order_outlives_the_positions(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_make(INVOKERS_MOST, 4, 1, 0);
    size_t grown = 0;
    for (uint32_t i = 0; i < INVOKERS_MOST; i++)
        for (uint32_t which = 0; which < 1 + i % 4; which++)
            file(fixture, which, i, 0, 0);
    for (int step = 0; step < 60000; step++) {
        const uint32_t capacity = bucket_of(fixture, 0, 0)->capacity;
        const uint32_t i = draw(fixture, 50), headroom = draw(fixture, 2);
        if (step == 30000) /* the crowd leaves, so that few are left of many positions */
            for (uint32_t k = 60; k < INVOKERS_MOST; k++)
                for (uint32_t which = 0; which < 4; which++)
                    unfile(fixture, which, k);
        for (uint32_t which = 0; which < 4; which++)
            file(fixture, which, i, headroom, 0);
        grown += bucket_of(fixture, 0, 0)->capacity > capacity;
        if (step % 500 == 0)
            assert_all_walks(fixture);
    }
    assert_all_walks(fixture);
    assert_true(grown > 0 && fixture->packed > 3);
    /* 50 invokers in two buckets: the one that the crowd never saw has stayed small. */
    assert_true(bucket_of(fixture, 0, 1)->capacity <= 2 * FIT_SPARSE * 64);
    fixture_free(fixture);
}

/* Few of an index among many of another, thousands of positions apart. */
static void a_walk_finds_the_few_among_the_many(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_make(INVOKERS_MOST, 2, 1, 0);
    for (uint32_t i = 0; i < INVOKERS_MOST; i++)
        file(fixture, 0, i, 0, 0);
    for (uint32_t few = 0; few < 5; few++) {
        file(fixture, 1, few, 0, 0);
        for (int round = 0; round < 9; round++)
            for (uint32_t i = 10; i < INVOKERS_MOST; i++) {
                file(fixture, 0, i, 1, 0);
                file(fixture, 0, i, 0, 0);
            }
        assert_all_walks(fixture);
    }
    assert_true(bucket_of(fixture, 0, 0)->capacity > 4096); /* several words of words */
    fixture_free(fixture);
}

static void what_is_filed_together_has_one_position(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_make(8, 6, 2, 2);
    for (uint32_t round = 0; round < 6; round++)
        for (uint32_t i = 0; i < 8; i++)
            for (uint32_t which = 0; which < 6; which++)
                file(fixture, which, i, round % 3, 1);
    for (uint32_t headroom = 0; headroom < 3; headroom++)
        assert_int_equal(bucket_of(fixture, headroom, 1)->used, 16);
    /* Alone in one index: the others keep theirs, but for the one that came last. */
    unfile(fixture, 2, 3);
    file(fixture, 2, 3, 2, 1);
    assert_int_equal(bucket_of(fixture, 2, 1)->used, 17);
    unfile(fixture, 4, 3);
    file(fixture, 4, 3, 2, 1);
    assert_int_equal(bucket_of(fixture, 2, 1)->used, 17);
    assert_all_walks(fixture);
    fixture_free(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_follow_an_account_of_all_filings),
        cmocka_unit_test(the_order_outlives_the_positions),
        cmocka_unit_test(a_walk_finds_the_few_among_the_many),
        cmocka_unit_test(what_is_filed_together_has_one_position),
    };
    return cmocka_run_group_tests_name("fit_index", tests, NULL, NULL);
}
