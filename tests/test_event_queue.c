/* The event queue against a model that cannot be wrong: an unordered list searched from end to end.
 */
#include "sim/engine/event_queue.h"
#include "sim/engine/random.h"
#include "tests/event_queue_check.h"
#include "tests/suite.h"

OWNER(event_queue_destroy, struct event_queue)

enum { MODEL_LIMIT = 4096, STALE_KEPT = 64 };

struct model_event {
    struct event event;
    uint64_t order; /* of the push or re-time that set the time */
    event_queue_handle handle;
};

struct model {
    struct event_queue *event_queue;
    struct random_stream stream;
    struct model_event pending[MODEL_LIMIT];
    size_t count;
    uint64_t orders;
    sim_time_t now;
    event_queue_handle stale[STALE_KEPT]; /* handles of events gone, a ring */
    size_t stale_count;
};

static struct model *model_create(uint32_t instance, size_t capacity)
{
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    model->event_queue = event_queue_create(capacity);
    assert_non_null(model->event_queue);
    random_stream_open(&model->stream, 11, RANDOM_TEST, instance, 0);
    return model;
}

static void model_destroy(struct model *model)
{
    event_queue_destroy(model->event_queue);
    free(model);
}

OWNER(model_destroy, struct model)

static size_t draw_below(struct model *model, size_t limit)
{
    return gsl_rng_uniform_int(&model->stream.rng, limit);
}

/* Short delays make ties; a few long ones make the heap deep, and some are longer than a postponed
 * event's slot can tell. */
static sim_time_t draw_time(struct model *model)
{
    static const uint64_t ranges[] = {8,       8,       8,       8,       8,
                                      1000000, 1000000, 1000000, 1000000, UINT64_C(1) << 42};
    const uint64_t range = ranges[draw_below(model, sizeof ranges / sizeof *ranges)];
    return model->now + (sim_time_t)(random_uint64(&model->stream) % range);
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
    added->event = (struct event){draw_time(model), (uint16_t)random_uint64(&model->stream),
                                  (uint32_t)random_uint64(&model->stream)};
    added->order = model->orders++;
    added->handle = event_queue_push(model->event_queue, added->event.time, added->event.kind,
                                     added->event.subject);
    assert_true(added->handle != 0);
    for (size_t i = 0; i + 1 < model->count; i++)
        assert_true(model->pending[i].handle != added->handle);
}

static void model_pop(struct model *model)
{
    struct event event;
    if (model->count == 0) {
        assert_false(event_queue_pop(model->event_queue, &event));
        return;
    }
    size_t first = model_first(model);
    const struct event *expected = &model->pending[first].event;
    assert_true(event_queue_pop(model->event_queue, &event));
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
    assert_true(event_queue_cancel(model->event_queue, model->pending[index].handle));
    model_remove(model, index);
}

static void model_retime(struct model *model)
{
    if (model->count == 0)
        return;
    struct model_event *moved = &model->pending[draw_below(model, model->count)];
    moved->event.time = draw_time(model);
    moved->order = model->orders++;
    assert_true(event_queue_retime(model->event_queue, moved->handle, moved->event.time));
}

static void model_try_stale(struct model *model)
{
    if (model->stale_count < STALE_KEPT)
        return;
    event_queue_handle stale = model->stale[draw_below(model, STALE_KEPT)];
    assert_false(event_queue_cancel(model->event_queue, stale));
    assert_false(event_queue_retime(model->event_queue, stale, model->now + 1));
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
    assert_int_equal(event_queue_size(model->event_queue), model->count);
    assert_null(event_queue_fault(model->event_queue));
    if (draw_below(model, 3) == 0) {
        sim_time_t next =
            model->count == 0 ? SIM_FOREVER : model->pending[model_first(model)].event.time;
        assert_true(event_queue_next_time(model->event_queue) == next);
    }
}

static void model_drain(struct model *model)
{
    while (model->count > 0)
        model_pop(model);
    model_pop(model);
    assert_true(event_queue_is_sound(model->event_queue));
}

CASE(any_mix_of_operations_gives_the_order_of_a_sorted_list)
{
    static const unsigned mixes[][5] = {
        {4, 4, 1, 1, 1},  /* all in balance */
        {8, 4, 1, 1, 1},  /* grows */
        {2, 3, 1, 8, 1},  /* mostly re-timed */
        {6, 1, 6, 2, 1},  /* mostly cancelled */
        {10, 10, 0, 0, 0} /* a plain queue */
    };
    for (uint32_t instance = 0; instance < 60; instance++) {
        OWNED(model_destroy) struct model *model = model_create(instance, instance % 3 * 100);
        for (int step = 0; step < 1500; step++) {
            model_step(model, mixes[instance % 5]);
            if (step % 16 == 0)
                assert_true(event_queue_is_sound(model->event_queue));
        }
        model_drain(model);
    }
}

CASE(mixes_that_change_from_one_to_another_stay_in_order)
{
    static const unsigned grow[5] = {9, 1, 1, 3, 1}, shrink[5] = {1, 6, 6, 3, 1};
    for (uint32_t instance = 100; instance < 106; instance++) {
        OWNED(model_destroy) struct model *model = model_create(instance, 0);
        for (int step = 0; step < 6000; step++)
            model_step(model, step / 1000 % 2 == 0 ? grow : shrink);
        model_drain(model);
    }
}

CASE(events_at_one_time_come_in_the_order_they_were_set)
{
    enum { EVENTS = 1000 };
    OWNED(event_queue_destroy) struct event_queue *event_queue = event_queue_create(0);
    event_queue_handle handles[EVENTS];
    for (uint32_t i = 0; i < EVENTS; i++)
        handles[i] = event_queue_push(event_queue, 42, 0, i);
    /* Re-timed to where they are: behind all the others. */
    for (uint32_t i = 0; i < EVENTS; i += 2)
        assert_true(event_queue_retime(event_queue, handles[i], 42));
    struct event event;
    for (uint32_t i = 1; i < EVENTS; i += 2) {
        assert_true(event_queue_pop(event_queue, &event));
        assert_int_equal(event.subject, i);
    }
    for (uint32_t i = 0; i < EVENTS; i += 2) {
        assert_true(event_queue_pop(event_queue, &event));
        assert_int_equal(event.subject, i);
    }
    assert_false(event_queue_pop(event_queue, &event));
}

CASE(a_large_heap_pops_in_order)
{
    enum { EVENTS = 200000 };
    OWNED(event_queue_destroy) struct event_queue *event_queue = event_queue_create(0);
    struct random_stream stream;
    random_stream_open(&stream, 1, RANDOM_TEST, 7, 0);
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_true(
            event_queue_push(event_queue, (sim_time_t)(random_uint64(&stream) >> 40), 0, i) != 0);
    assert_true(event_queue_is_sound(event_queue));
    struct event last = {0, 0, 0}, event;
    for (uint32_t i = 0; i < EVENTS; i++) {
        assert_true(event_queue_pop(event_queue, &event));
        assert_true(i == 0 || event.time > last.time ||
                    (event.time == last.time && event.subject > last.subject));
        last = event;
    }
    assert_int_equal(event_queue_size(event_queue), 0);
    assert_true(event_queue_next_time(event_queue) == SIM_FOREVER);
}

/* A binary heap with lazy deletion, the plainest thing that is quick enough for many pending. */
enum { CROWD_MOST = 40000, CROWD_STEPS = 400000 };

struct crowd_key {
    sim_time_t time;
    uint64_t order;
    uint32_t id;
};

struct crowd {
    struct event_queue *event_queue;
    struct random_stream stream;
    struct crowd_key *heap;
    size_t length;
    uint64_t order[CROWD_MOST]; /* current one of each event; 0: not pending */
    sim_time_t time[CROWD_MOST];
    event_queue_handle handles[CROWD_MOST];
    uint32_t idle[CROWD_MOST], idle_count;
    uint64_t orders;
    sim_time_t now;
};

static bool crowd_before(const struct crowd_key *a, const struct crowd_key *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void crowd_file(struct crowd *crowd, uint32_t id, sim_time_t time, uint64_t order)
{
    struct crowd_key key = {time, order, id};
    size_t at = crowd->length++;
    crowd->time[id] = time;
    crowd->order[id] = order;
    for (; at > 0 && crowd_before(&key, &crowd->heap[(at - 1) / 2]); at = (at - 1) / 2)
        crowd->heap[at] = crowd->heap[(at - 1) / 2];
    crowd->heap[at] = key;
}

static struct crowd_key crowd_take(struct crowd *crowd)
{
    struct crowd_key first = crowd->heap[0], last = crowd->heap[--crowd->length];
    size_t at = 0;
    for (size_t child = 1; child < crowd->length; child = 2 * at + 1) {
        if (child + 1 < crowd->length && crowd_before(&crowd->heap[child + 1], &crowd->heap[child]))
            child++;
        if (!crowd_before(&crowd->heap[child], &last))
            break;
        crowd->heap[at] = crowd->heap[child];
        at = child;
    }
    crowd->heap[at] = last;
    return first;
}

/* Now, soon, in a while, or after the one long delay that all keep-alives have. */
static sim_time_t crowd_draw_time(struct crowd *crowd)
{
    switch (gsl_rng_uniform_int(&crowd->stream.rng, 8)) {
    case 0:
        return crowd->now;
    case 1:
        return crowd->now + (sim_time_t)gsl_rng_uniform_int(&crowd->stream.rng, 100);
    case 2:
    case 3:
        return crowd->now + 600 * SIM_S;
    default:
        return crowd->now + (sim_time_t)random_exponential(&crowd->stream, 1e9);
    }
}

static void crowd_push(struct crowd *crowd)
{
    uint32_t id = crowd->idle[--crowd->idle_count];
    sim_time_t time = crowd_draw_time(crowd);
    /* Now and then the order is drawn before the event is set. */
    bool ordered = gsl_rng_uniform_int(&crowd->stream.rng, 4) == 0;
    uint64_t order = ordered ? event_queue_draw_order(crowd->event_queue) : 0;
    crowd->handles[id] =
        ordered ? event_queue_push_ordered(crowd->event_queue, time, order, (uint16_t)(id % 7), id)
                : event_queue_push(crowd->event_queue, time, (uint16_t)(id % 7), id);
    assert_true(crowd->handles[id] != 0);
    crowd_file(crowd, id, time, ++crowd->orders);
}

/* Re-times or cancels one that is pending, if the one drawn is. */
static void crowd_disturb(struct crowd *crowd)
{
    uint32_t id = (uint32_t)gsl_rng_uniform_int(&crowd->stream.rng, CROWD_MOST);
    if (crowd->order[id] == 0)
        return;
    sim_time_t time = crowd_draw_time(crowd);
    switch (gsl_rng_uniform_int(&crowd->stream.rng, 4)) {
    case 0:
        assert_true(event_queue_cancel(crowd->event_queue, crowd->handles[id]));
        crowd->order[id] = 0;
        crowd->idle[crowd->idle_count++] = id;
        return;
    case 1:
        assert_true(event_queue_retime_ordered(crowd->event_queue, crowd->handles[id], time,
                                               event_queue_draw_order(crowd->event_queue), id));
        break;
    default:
        assert_true(event_queue_retime(crowd->event_queue, crowd->handles[id], time));
    }
    crowd_file(crowd, id, time, ++crowd->orders);
}

static void crowd_pop(struct crowd *crowd)
{
    struct event event;
    struct crowd_key first;
    do {
        if (crowd->length == 0) {
            assert_false(event_queue_pop(crowd->event_queue, &event));
            return;
        }
        first = crowd_take(crowd);
    } while (crowd->order[first.id] != first.order);
    assert_true(event_queue_next_time(crowd->event_queue) == first.time);
    assert_true(event_queue_pop(crowd->event_queue, &event));
    assert_true(event.time == first.time && event.subject == first.id &&
                event.kind == first.id % 7);
    crowd->now = first.time;
    crowd->order[first.id] = 0;
    crowd->idle[crowd->idle_count++] = first.id;
}

CASE(thousands_pending_with_delays_of_all_lengths_come_in_order)
{
    OWNED(free) struct crowd *crowd = calloc(1, sizeof *crowd);
    assert_non_null(crowd);
    crowd->event_queue = event_queue_create(0);
    crowd->heap = malloc(2 * CROWD_STEPS * sizeof *crowd->heap);
    assert_true(crowd->event_queue != NULL && crowd->heap != NULL);
    random_stream_open(&crowd->stream, 12, RANDOM_TEST, 0, 0);
    while (crowd->idle_count < CROWD_MOST) {
        crowd->idle[crowd->idle_count] = crowd->idle_count;
        crowd->idle_count++;
    }
    for (uint32_t step = 0; step < CROWD_STEPS; step++) {
        /* Fills, keeps its number, drains, and once more. */
        const unsigned pushes[] = {7, 5, 2, 7, 2}, phase = step / (CROWD_STEPS / 5);
        uint64_t draw = gsl_rng_uniform_int(&crowd->stream.rng, 12);
        if (draw < pushes[phase] && crowd->idle_count > 0)
            crowd_push(crowd);
        else if (draw < 10)
            crowd_pop(crowd);
        else
            crowd_disturb(crowd);
        if (step % 20000 == 0)
            assert_true(event_queue_is_sound(crowd->event_queue));
    }
    while (crowd->length > 0)
        crowd_pop(crowd);
    assert_int_equal(event_queue_size(crowd->event_queue), 0);
    assert_true(event_queue_is_sound(crowd->event_queue));
    event_queue_destroy(crowd->event_queue);
    free(crowd->heap);
}

/* Each subject has one order for ever and one event, which is set anew again and again; the other
 * events of these times have drawn orders. */
CASE(orders_drawn_first_come_first_however_often_they_are_used)
{
    enum { SUBJECTS = 40, STEPS = 200000, OTHER = 1, OWN = 2 };
    OWNED(event_queue_destroy) struct event_queue *queue = event_queue_create(0);
    struct random_stream stream;
    random_stream_open(&stream, 5, RANDOM_TEST, 0, 0);
    const uint64_t first = event_queue_draw_order(queue);
    event_queue_handle handles[SUBJECTS] = {0};
    sim_time_t times[SUBJECTS], now = 0;
    for (uint32_t id = 1; id < SUBJECTS; id++)
        assert_true(event_queue_draw_order(queue) == first + id);
    for (uint32_t id = 0; id < SUBJECTS; id++)
        times[id] = SIM_FOREVER;
    uint64_t popped = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        const uint32_t id = (uint32_t)gsl_rng_uniform_int(&stream.rng, SUBJECTS);
        const sim_time_t time = now + (sim_time_t)gsl_rng_uniform_int(&stream.rng, 12);
        assert_int_equal(event_queue_cancel(queue, handles[id]), times[id] < SIM_FOREVER);
        handles[id] = event_queue_push_ordered(queue, time, first + id, OWN, id);
        times[id] = time;
        if (step % 3 > 0)
            continue;
        assert_true(event_queue_push(queue, time, OTHER, 0) != 0);
        uint32_t least = 0;
        for (uint32_t k = 1; k < SUBJECTS; k++)
            least = times[k] < times[least] ? k : least;
        struct event event;
        now = event_queue_next_time(queue);
        const bool own = times[least] == now;
        assert_int_equal(event_queue_pop_if(queue, now, OWN, &event), own);
        if (own) {
            assert_int_equal(event.subject, least);
            times[least] = SIM_FOREVER;
            popped++;
        } else {
            assert_true(event_queue_pop(queue, &event) && event.kind == OTHER && event.time == now);
        }
    }
    assert_true(popped > STEPS / 20 && popped < STEPS / 3);
    assert_true(event_queue_keys(queue) <= 4 * event_queue_size(queue) + 64);
    assert_null(event_queue_fault(queue));
}

/* What comes before the overflow heap that are already known of, when the near ones have run out.
 */
CASE(a_burst_before_a_far_crowd_comes_first)
{
    enum { FAR = 20000, BURST = 5000 };
    OWNED(event_queue_destroy) struct event_queue *event_queue = event_queue_create(0);
    struct event event;
    for (uint32_t i = 0; i < FAR; i++)
        assert_true(event_queue_push(event_queue, 600 * SIM_S + i % 1000, 0, i) != 0);
    for (sim_time_t begin = 0; begin < 3; begin++) {
        assert_true(event_queue_next_time(event_queue) == 600 * SIM_S);
        for (uint32_t i = 0; i < BURST; i++)
            assert_true(event_queue_push(event_queue, (begin + 1) * SIM_S - i, 1, i) != 0);
        assert_true(event_queue_is_sound(event_queue));
        for (uint32_t i = BURST; i-- > 0;) {
            assert_true(event_queue_pop(event_queue, &event));
            assert_true(event.kind == 1 && event.subject == i);
        }
    }
    for (uint32_t i = 0; i < FAR; i++) {
        assert_true(event_queue_pop(event_queue, &event));
        assert_int_equal(event.subject, i % 20 * 1000 + i / 20);
    }
}

CASE(a_handle_is_stale_once_its_slot_serves_another_event)
{
    OWNED(event_queue_destroy) struct event_queue *event_queue = event_queue_create(0);
    struct event event;
    event_queue_handle first = event_queue_push(event_queue, 1, 0, 1);
    assert_true(event_queue_pop(event_queue, &event));
    event_queue_handle second = event_queue_push(event_queue, 2, 0, 2);
    assert_false(event_queue_cancel(event_queue, first));
    assert_false(event_queue_retime(event_queue, first, 3));
    assert_false(event_queue_cancel(event_queue, 0));
    assert_false(event_queue_cancel(event_queue, UINT64_MAX));
    assert_true(event_queue_cancel(event_queue, second));
    assert_false(event_queue_cancel(event_queue, second));
    assert_null(event_queue_fault(event_queue));
}

CASE(stale_keys_are_swept_when_they_outnumber_the_live_ones)
{
    enum { EVENTS = 10, RETIMES = 200000 };
    OWNED(event_queue_destroy) struct event_queue *event_queue = event_queue_create(0);
    event_queue_handle handles[EVENTS];
    sim_time_t times[EVENTS];
    for (uint32_t i = 0; i < EVENTS; i++)
        handles[i] = event_queue_push(event_queue, times[i] = 1000 + i, 0, i);
    for (uint32_t i = 0; i < RETIMES; i++) {
        uint32_t subject = i % EVENTS;
        times[subject] = (sim_time_t)(1000 + (uint64_t)i * 7919 % 100003);
        assert_true(event_queue_retime(event_queue, handles[subject], times[subject]));
        assert_true(event_queue_keys(event_queue) <= 2 * EVENTS + 64);
    }
    assert_true(event_queue_is_sound(event_queue));
    struct event event;
    sim_time_t last = 0;
    for (uint32_t i = 0; i < EVENTS; i++) {
        assert_true(event_queue_pop(event_queue, &event));
        assert_true(event.time == times[event.subject] && event.time >= last);
        last = event.time;
    }
}

CASE(an_event_before_the_present_is_refused_and_remembered)
{
    OWNED(event_queue_destroy) struct event_queue *event_queue = event_queue_create(0);
    struct event event;
    event_queue_push(event_queue, 10, 0, 0);
    event_queue_handle later = event_queue_push(event_queue, 20, 0, 1);
    assert_true(event_queue_pop(event_queue, &event));
    assert_null(event_queue_fault(event_queue));
    assert_true(event_queue_push(event_queue, 9, 0, 2) == 0);
    assert_string_equal(event_queue_fault(event_queue), "an event was set before the present time");
    assert_false(event_queue_retime(event_queue, later, -1));
    assert_int_equal(event_queue_size(event_queue), 1);
    assert_true(event_queue_push(event_queue, 10, 0, 3) != 0);
    assert_true(event_queue_is_sound(event_queue));
    assert_true(event_queue_pop(event_queue, &event) && event.subject == 3);
    assert_true(event_queue_pop(event_queue, &event) && event.subject == 1 && event.time == 20);
    assert_non_null(event_queue_fault(event_queue));
}

CASE(the_end_of_the_sequence_numbers_changes_nothing)
{
    static const unsigned mix[5] = {5, 4, 1, 3, 1};
    for (uint32_t instance = 200; instance < 212; instance++) {
        OWNED(model_destroy) struct model *model = model_create(instance, 0);
        for (int step = 0; step < 1500; step++) {
            if (step % 300 == 250)
                event_queue_age(model->event_queue, UINT64_MAX);
            model_step(model, mix);
            assert_true(event_queue_is_sound(model->event_queue));
        }
        model_drain(model);
    }
}

CASE(a_slot_whose_generations_are_used_up_is_laid_aside)
{
    OWNED(event_queue_destroy) struct event_queue *event_queue = event_queue_create(0);
    struct event event;
    event_queue_handle first = event_queue_push(event_queue, 1, 0, 1);
    assert_true(event_queue_cancel(event_queue, first));
    event_queue_age(event_queue, UINT64_MAX);
    event_queue_handle last_use = event_queue_push(event_queue, 2, 0, 2);
    assert_true((last_use & 0xFFFFFF) == (first & 0xFFFFFF));
    assert_true(event_queue_pop(event_queue, &event) && event.subject == 2);
    event_queue_handle other = event_queue_push(event_queue, 3, 0, 3);
    assert_true((other & 0xFFFFFF) != (first & 0xFFFFFF));
    assert_false(event_queue_cancel(event_queue, first));
    assert_false(event_queue_cancel(event_queue, last_use));
    assert_true(event_queue_is_sound(event_queue));
}

CASE(more_than_two_to_the_24_pending_events_are_refused)
{
    OWNED(event_queue_destroy) struct event_queue *event_queue = event_queue_create(1 << 24);
    assert_non_null(event_queue);
    for (uint32_t i = 0; i < 1u << 24; i++)
        if (event_queue_push(event_queue, i, 0, i) == 0)
            fail_msg("push %u of 2^24 was refused", (unsigned)i);
    assert_null(event_queue_fault(event_queue));
    assert_true(event_queue_push(event_queue, 0, 0, 0) == 0);
    assert_string_equal(event_queue_fault(event_queue), "more than 16777216 events pending");
    assert_int_equal(event_queue_size(event_queue), 1 << 24);
    struct event event;
    assert_true(event_queue_pop(event_queue, &event) && event.subject == 0);
    assert_true(event_queue_push(event_queue, 0, 0, 77) != 0);
    assert_true(event_queue_pop(event_queue, &event) && event.subject == 77);
}

SUITE("event_queue")
