/* The calendar against a model that cannot be wrong: an unordered list searched from end to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "sim/calendar.h"
#include "sim/random.h"

enum { MODEL_LIMIT = 4096, STALE_KEPT = 64 };

struct model_event {
    struct event event;
    uint64_t order; /* of the push or re-time that set the time */
    calendar_handle handle;
};

struct model {
    struct calendar *calendar;
    struct random_stream stream;
    struct model_event pending[MODEL_LIMIT];
    size_t count;
    uint64_t orders;
    sim_time_t now;
    calendar_handle stale[STALE_KEPT]; /* handles of events gone, a ring */
    size_t stale_count;
};

static struct model *model_create(uint32_t instance, size_t capacity)
{
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    model->calendar = calendar_create(capacity);
    assert_non_null(model->calendar);
    random_stream_open(&model->stream, 11, RANDOM_TEST, instance, 0);
    return model;
}

static void model_destroy(struct model *model)
{
    calendar_destroy(model->calendar);
    free(model);
}

static size_t draw_below(struct model *model, size_t limit)
{
    return gsl_rng_uniform_int(&model->stream.rng, limit);
}

/* Short delays make ties; a few long ones make the heap deep. */
static sim_time_t draw_time(struct model *model)
{
    sim_time_t range = draw_below(model, 4) == 0 ? 1000000 : 8;
    return model->now + (sim_time_t)draw_below(model, (size_t)range);
}

static size_t model_first(const struct model *model)
{
    size_t first = 0;
    for (size_t i = 1; i < model->count; i++) {
        const struct model_event *a = &model->pending[i], *b = &model->pending[first];
        if (a->event.time < b->event.time ||
            (a->event.time == b->event.time && a->order < b->order))
            first = i;
    }
    return first;
}

static void model_remove(struct model *model, size_t index)
{
    model->stale[model->stale_count++ % STALE_KEPT] = model->pending[index].handle;
    model->pending[index] = model->pending[--model->count];
}

static void model_push(struct model *model)
{
    if (model->count == MODEL_LIMIT)
        return;
    struct model_event *added = &model->pending[model->count++];
    added->event = (struct event){draw_time(model), (uint32_t)random_uint64(&model->stream),
                                  (uint32_t)random_uint64(&model->stream)};
    added->order = model->orders++;
    added->handle =
        calendar_push(model->calendar, added->event.time, added->event.kind, added->event.subject);
    assert_true(added->handle != 0);
    for (size_t i = 0; i + 1 < model->count; i++)
        assert_true(model->pending[i].handle != added->handle);
}

static void model_pop(struct model *model)
{
    struct event event;
    if (model->count == 0) {
        assert_false(calendar_pop(model->calendar, &event));
        return;
    }
    size_t first = model_first(model);
    const struct event *expected = &model->pending[first].event;
    assert_true(calendar_pop(model->calendar, &event));
    assert_true(event.time == expected->time && event.kind == expected->kind &&
                event.subject == expected->subject);
    model->now = event.time;
    model_remove(model, first);
}

static void model_cancel(struct model *model)
{
    if (model->count == 0)
        return;
    size_t index = draw_below(model, model->count);
    assert_true(calendar_cancel(model->calendar, model->pending[index].handle));
    model_remove(model, index);
}

static void model_retime(struct model *model)
{
    if (model->count == 0)
        return;
    struct model_event *moved = &model->pending[draw_below(model, model->count)];
    moved->event.time = draw_time(model);
    moved->order = model->orders++;
    assert_true(calendar_retime(model->calendar, moved->handle, moved->event.time));
}

static void model_try_stale(struct model *model)
{
    if (model->stale_count < STALE_KEPT)
        return;
    calendar_handle stale = model->stale[draw_below(model, STALE_KEPT)];
    assert_false(calendar_cancel(model->calendar, stale));
    assert_false(calendar_retime(model->calendar, stale, model->now + 1));
}

/* Weights of push, pop, cancel, re-time, stale handle, in that order. */
static void model_step(struct model *model, const unsigned weights[5])
{
    static void (*const actions[5])(struct model *) = {model_push, model_pop, model_cancel,
                                                       model_retime, model_try_stale};
    unsigned total = 0;
    for (int i = 0; i < 5; i++)
        total += weights[i];
    size_t draw = draw_below(model, total);
    int action = 0;
    while (draw >= weights[action])
        draw -= weights[action++];
    actions[action](model);
    assert_int_equal(calendar_size(model->calendar), model->count);
    assert_null(calendar_fault(model->calendar));
    if (draw_below(model, 3) == 0) {
        sim_time_t next =
            model->count == 0 ? SIM_FOREVER : model->pending[model_first(model)].event.time;
        assert_true(calendar_next_time(model->calendar) == next);
    }
}

static void model_drain(struct model *model)
{
    while (model->count > 0)
        model_pop(model);
    model_pop(model);
    assert_true(calendar_is_sound(model->calendar));
}

static void any_mix_of_operations_gives_the_order_of_a_sorted_list(void **state)
{
    (void)state;
    static const unsigned mixes[][5] = {
        {4, 4, 1, 1, 1},  /* all in balance */
        {8, 4, 1, 1, 1},  /* grows */
        {2, 3, 1, 8, 1},  /* mostly re-timed */
        {6, 1, 6, 2, 1},  /* mostly cancelled */
        {10, 10, 0, 0, 0} /* a plain queue */
    };
    for (uint32_t instance = 0; instance < 60; instance++) {
        struct model *model = model_create(instance, instance % 3 * 100);
        for (int step = 0; step < 1500; step++) {
            model_step(model, mixes[instance % 5]);
            if (step % 16 == 0)
                assert_true(calendar_is_sound(model->calendar));
        }
        model_drain(model);
        model_destroy(model);
    }
}

static void mixes_that_change_from_one_to_another_stay_in_order(void **state)
{
    (void)state;
    static const unsigned grow[5] = {9, 1, 1, 3, 1}, shrink[5] = {1, 6, 6, 3, 1};
    for (uint32_t instance = 100; instance < 106; instance++) {
        struct model *model = model_create(instance, 0);
        for (int step = 0; step < 6000; step++)
            model_step(model, step / 1000 % 2 == 0 ? grow : shrink);
        model_drain(model);
        model_destroy(model);
    }
}

static void events_at_one_time_come_in_the_order_they_were_set(void **state)
{
    (void)state;
    enum { EVENTS = 1000 };
    struct calendar *calendar = calendar_create(0);
    calendar_handle handles[EVENTS];
    for (uint32_t i = 0; i < EVENTS; i++)
        handles[i] = calendar_push(calendar, 42, 0, i);
    /* Re-timed to where they are: behind all the others. */
    for (uint32_t i = 0; i < EVENTS; i += 2)
        assert_true(calendar_retime(calendar, handles[i], 42));
    struct event event;
    for (uint32_t i = 1; i < EVENTS; i += 2) {
        assert_true(calendar_pop(calendar, &event));
        assert_int_equal(event.subject, i);
    }
    for (uint32_t i = 0; i < EVENTS; i += 2) {
        assert_true(calendar_pop(calendar, &event));
        assert_int_equal(event.subject, i);
    }
    assert_false(calendar_pop(calendar, &event));
    calendar_destroy(calendar);
}

static void a_large_heap_pops_in_order(void **state)
{
    (void)state;
    enum { EVENTS = 200000 };
    struct calendar *calendar = calendar_create(0);
    struct random_stream stream;
    random_stream_open(&stream, 1, RANDOM_TEST, 7, 0);
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_true(calendar_push(calendar, (sim_time_t)(random_uint64(&stream) >> 40), 0, i) != 0);
    assert_true(calendar_is_sound(calendar));
    struct event last = {0, 0, 0}, event;
    for (uint32_t i = 0; i < EVENTS; i++) {
        assert_true(calendar_pop(calendar, &event));
        assert_true(i == 0 || event.time > last.time ||
                    (event.time == last.time && event.subject > last.subject));
        last = event;
    }
    assert_int_equal(calendar_size(calendar), 0);
    assert_true(calendar_next_time(calendar) == SIM_FOREVER);
    calendar_destroy(calendar);
}

static void a_handle_is_stale_once_its_slot_serves_another_event(void **state)
{
    (void)state;
    struct calendar *calendar = calendar_create(0);
    struct event event;
    calendar_handle first = calendar_push(calendar, 1, 0, 1);
    assert_true(calendar_pop(calendar, &event));
    calendar_handle second = calendar_push(calendar, 2, 0, 2);
    assert_false(calendar_cancel(calendar, first));
    assert_false(calendar_retime(calendar, first, 3));
    assert_false(calendar_cancel(calendar, 0));
    assert_false(calendar_cancel(calendar, UINT64_MAX));
    assert_true(calendar_cancel(calendar, second));
    assert_false(calendar_cancel(calendar, second));
    assert_null(calendar_fault(calendar));
    calendar_destroy(calendar);
}

static void stale_keys_are_swept_when_they_outnumber_the_live_ones(void **state)
{
    (void)state;
    enum { EVENTS = 10, RETIMES = 200000 };
    struct calendar *calendar = calendar_create(0);
    calendar_handle handles[EVENTS];
    sim_time_t times[EVENTS];
    for (uint32_t i = 0; i < EVENTS; i++)
        handles[i] = calendar_push(calendar, times[i] = 1000 + i, 0, i);
    for (uint32_t i = 0; i < RETIMES; i++) {
        uint32_t subject = i % EVENTS;
        times[subject] = (sim_time_t)(1000 + (uint64_t)i * 7919 % 100003);
        assert_true(calendar_retime(calendar, handles[subject], times[subject]));
        assert_true(calendar_keys(calendar) <= 2 * EVENTS + 64);
    }
    assert_true(calendar_is_sound(calendar));
    struct event event;
    sim_time_t last = 0;
    for (uint32_t i = 0; i < EVENTS; i++) {
        assert_true(calendar_pop(calendar, &event));
        assert_true(event.time == times[event.subject] && event.time >= last);
        last = event.time;
    }
    calendar_destroy(calendar);
}

static void an_event_before_the_present_is_refused_and_remembered(void **state)
{
    (void)state;
    struct calendar *calendar = calendar_create(0);
    struct event event;
    calendar_push(calendar, 10, 0, 0);
    calendar_handle later = calendar_push(calendar, 20, 0, 1);
    assert_true(calendar_pop(calendar, &event));
    assert_null(calendar_fault(calendar));
    assert_true(calendar_push(calendar, 9, 0, 2) == 0);
    assert_string_equal(calendar_fault(calendar), "an event was set before the present time");
    assert_false(calendar_retime(calendar, later, -1));
    assert_int_equal(calendar_size(calendar), 1);
    assert_true(calendar_push(calendar, 10, 0, 3) != 0);
    assert_true(calendar_is_sound(calendar));
    assert_true(calendar_pop(calendar, &event) && event.subject == 3);
    assert_true(calendar_pop(calendar, &event) && event.subject == 1 && event.time == 20);
    assert_non_null(calendar_fault(calendar));
    calendar_destroy(calendar);
}

static void the_end_of_the_sequence_numbers_changes_nothing(void **state)
{
    (void)state;
    static const unsigned mix[5] = {5, 4, 1, 3, 1};
    for (uint32_t instance = 200; instance < 212; instance++) {
        struct model *model = model_create(instance, 0);
        for (int step = 0; step < 1500; step++) {
            if (step % 300 == 250)
                calendar_age(model->calendar, UINT64_MAX);
            model_step(model, mix);
            assert_true(calendar_is_sound(model->calendar));
        }
        model_drain(model);
        model_destroy(model);
    }
}

static void a_slot_whose_generations_are_used_up_is_laid_aside(void **state)
{
    (void)state;
    struct calendar *calendar = calendar_create(0);
    struct event event;
    calendar_handle first = calendar_push(calendar, 1, 0, 1);
    assert_true(calendar_cancel(calendar, first));
    calendar_age(calendar, UINT64_MAX);
    calendar_handle last_use = calendar_push(calendar, 2, 0, 2);
    assert_true((last_use & 0xFFFFFF) == (first & 0xFFFFFF));
    assert_true(calendar_pop(calendar, &event) && event.subject == 2);
    calendar_handle other = calendar_push(calendar, 3, 0, 3);
    assert_true((other & 0xFFFFFF) != (first & 0xFFFFFF));
    assert_false(calendar_cancel(calendar, first));
    assert_false(calendar_cancel(calendar, last_use));
    assert_true(calendar_is_sound(calendar));
    calendar_destroy(calendar);
}

static void more_than_two_to_the_24_pending_events_are_refused(void **state)
{
    (void)state;
    struct calendar *calendar = calendar_create(1 << 24);
    assert_non_null(calendar);
    for (uint32_t i = 0; i < 1u << 24; i++)
        if (calendar_push(calendar, i, 0, i) == 0)
            fail_msg("push %u of 2^24 was refused", (unsigned)i);
    assert_null(calendar_fault(calendar));
    assert_true(calendar_push(calendar, 0, 0, 0) == 0);
    assert_string_equal(calendar_fault(calendar), "more than 16777216 events pending");
    assert_int_equal(calendar_size(calendar), 1 << 24);
    struct event event;
    assert_true(calendar_pop(calendar, &event) && event.subject == 0);
    assert_true(calendar_push(calendar, 0, 0, 77) != 0);
    assert_true(calendar_pop(calendar, &event) && event.subject == 77);
    calendar_destroy(calendar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_mix_of_operations_gives_the_order_of_a_sorted_list),
        cmocka_unit_test(mixes_that_change_from_one_to_another_stay_in_order),
        cmocka_unit_test(events_at_one_time_come_in_the_order_they_were_set),
        cmocka_unit_test(a_large_heap_pops_in_order),
        cmocka_unit_test(a_handle_is_stale_once_its_slot_serves_another_event),
        cmocka_unit_test(stale_keys_are_swept_when_they_outnumber_the_live_ones),
        cmocka_unit_test(an_event_before_the_present_is_refused_and_remembered),
        cmocka_unit_test(the_end_of_the_sequence_numbers_changes_nothing),
        cmocka_unit_test(a_slot_whose_generations_are_used_up_is_laid_aside),
        cmocka_unit_test(more_than_two_to_the_24_pending_events_are_refused),
    };
    return cmocka_run_group_tests_name("calendar", tests, NULL, NULL);
}
