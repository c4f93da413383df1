/* Arrays in whole cache lines: small ones, large ones, and those that grow from one to the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/lines.h"

struct record {
    uint64_t number;
    char rest[88];
};

static uint64_t mark(size_t i)
{
    return (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15);
}

static void arrays_begin_at_a_line_whatever_their_size(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 7, 1000, 20000, 21845, 21846, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct record *array = lines_allocate(counts[i], sizeof *array);
        assert_non_null(array);
        assert_int_equal((uintptr_t)array % LINE, 0);
        for (size_t k = 0; k < counts[i]; k++)
            array[k] = (struct record){.number = mark(k)};
        lines_free(array, counts[i], sizeof *array);
    }
    lines_free(NULL, 0, sizeof(struct record));
}

/* From a few bytes over the size from which on pages are moved, to many pages. */
static void what_an_array_holds_stays_when_it_grows(void **state)
{
    (void)state;
    struct record *array = NULL;
    size_t count = 0;
    while (count < 300000) {
        const size_t more = count == 0 ? 3 : count * 2 + 1;
        array = lines_grow(array, count, more, sizeof *array);
        assert_non_null(array);
        assert_int_equal((uintptr_t)array % LINE, 0);
        for (size_t k = 0; k < count; k++)
            assert_int_equal(array[k].number, mark(k));
        for (size_t k = count; k < more; k++)
            array[k].number = mark(k);
        count = more;
    }
    lines_free(array, count, sizeof *array);
}

static void room_is_made_only_where_it_is_short(void **state)
{
    (void)state;
    size_t room = 0;
    struct record *array = lines_reserve(NULL, &room, 5, sizeof *array);
    assert_non_null(array);
    assert_int_equal(room, 5);
    for (size_t k = 0; k < room; k++)
        array[k].number = mark(k);
    assert_ptr_equal(lines_reserve(array, &room, 4, sizeof *array), array);
    assert_ptr_equal(lines_reserve(array, &room, SIZE_MAX / 2, sizeof *array), array);
    assert_int_equal(room, 5);
    array = lines_reserve(array, &room, 50000, sizeof *array);
    assert_int_equal(room, 50000);
    for (size_t k = 0; k < 5; k++)
        assert_int_equal(array[k].number, mark(k));
    lines_free(array, room, sizeof *array);
}

static void more_than_can_be_counted_is_out_of_memory(void **state)
{
    (void)state;
    assert_null(lines_allocate(SIZE_MAX / 2, 4));
    struct record *array = lines_allocate(1, sizeof *array);
    assert_non_null(array);
    array->number = 5;
    assert_null(lines_grow(array, 1, SIZE_MAX / 4, sizeof *array));
    assert_int_equal(array->number, 5);
    lines_free(array, 1, sizeof *array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_begin_at_a_line_whatever_their_size),
        cmocka_unit_test(what_an_array_holds_stays_when_it_grows),
        cmocka_unit_test(room_is_made_only_where_it_is_short),
        cmocka_unit_test(more_than_can_be_counted_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
