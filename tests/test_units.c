/* Rounding to whole nanoseconds against the C library's; lists that grow. */
#include "sim/base/units.h"
#include "sim/engine/random.h"
#include "tests/suite.h"

static void assert_rounds(double value)
{
    if (fabs(value) < (double)SIM_FOREVER) {
        assert_int_equal(sim_round(value), llround(value));
        assert_int_equal(sim_ceil(value), (sim_time_t)ceil(value));
        assert_int_equal(sim_whole(value), (sim_time_t)trunc(value));
        return;
    }
    const sim_time_t end = value < 0 ? -SIM_FOREVER : SIM_FOREVER;
    assert_int_equal(sim_round(value), end);
    assert_int_equal(sim_ceil(value), end);
    assert_int_equal(sim_whole(value), end);
}

static void assert_rounds_about(double value)
{
    assert_rounds(value);
    assert_rounds(-value);
    assert_rounds(nextafter(value, INFINITY));
    assert_rounds(-nextafter(value, INFINITY));
    assert_rounds(nextafter(value, 0));
    assert_rounds(-nextafter(value, 0));
}

CASE(halves_wholes_and_their_neighbours_round_as_the_library_rounds_them)
{
    assert_rounds_about(0.0);
    for (int k = 0; k < 20000; k++)
        assert_rounds_about(k / 4.0);
    for (int exponent = -60; exponent < 62; exponent++)
        for (int part = 8; part < 16; part++) {
            assert_rounds_about(ldexp(part / 8.0, exponent));
            assert_rounds_about(floor(ldexp(part / 8.0, exponent)) + 0.5);
        }
    assert_rounds_about((double)SIM_FOREVER);
    assert_rounds_about((double)SIM_CLOCK_END);
}

CASE(random_values_of_every_size_round_as_the_library_rounds_them)
{
    RANDOM_STREAM(random, 1, RANDOM_TEST, 0, 0);
    for (int k = 0; k < 1000000; k++) {
        double value = ldexp(random_uniform(&random), (int)(random_uint64(&random) % 100) - 37);
        assert_rounds(value);
        assert_rounds(-value);
    }
}

CASE(what_no_time_can_be_is_never)
{
    const double values[] = {INFINITY, -INFINITY, 1e300, -1e300, ldexp(1, 63), -ldexp(1, 63)};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        assert_rounds(values[k]);
    assert_int_equal(sim_round(NAN), SIM_FOREVER);
    assert_int_equal(sim_ceil(NAN), SIM_FOREVER);
    assert_int_equal(sim_from_ms(1e300), SIM_FOREVER);
    assert_int_equal(sim_from_s(-1e300), -SIM_FOREVER);
}

SUITE("units")
