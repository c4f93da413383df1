/* Arrays that grow: entries survive, the room doubles, and an impossible size is refused. */
#include "sim/base/array.h"
#include "tests/suite.h"

enum { COUNT = 1000 };

CASE(test_reserve_keeps_entries_and_doubles)
{
    uint64_t *items = NULL;
    size_t room = 0, growths = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const size_t old = room;
        assert_true(array_reserve(&items, &room, i + 1, sizeof *items));
        assert_true(room > i && (room == old || room >= 2 * old));
        growths += room != old;
        items[i] = 3 * i;
    }
    assert_in_range(growths, 2, 10);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(items[i], 3 * i);
    assert_true(array_reserve(&items, &room, 5 * COUNT, sizeof *items));
    assert_true(room >= 5 * COUNT);
    free(items);
}

CASE(test_reserve_refuses_what_no_size_holds)
{
    uint64_t *items = NULL;
    size_t room = 0;
    assert_true(array_reserve(&items, &room, 1, sizeof *items));
    uint64_t *const before = items;
    const size_t room_before = room;
    items[0] = 7;
    assert_false(array_reserve(&items, &room, SIZE_MAX / sizeof *items + 1, sizeof *items));
    assert_false(array_reserve(&items, &room, SIZE_MAX, sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(room, room_before);
    assert_int_equal(items[0], 7);
    free(items);
}

SUITE("array")
