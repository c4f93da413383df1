/* The event queue against a model that cannot be wrong: a sorted array. */
#include "sim/engine/event_queue.h"
#include "sim/engine/random.h"
#include "tests/event_queue_model.h"
#include "tests/suite.h"

OWNER(queue_destroy, struct event_queue)
OWNER(model_destroy, struct model)

struct mix {
    unsigned weights[MODEL_ACTIONS];
    unsigned crowds; /* of 256 steps, those that act on hundreds of events */
};

static void draw_step(struct random_stream *stream, const struct mix *mix, struct model_step *step)
{
    unsigned total = 0;
    for (size_t i = 0; i < MODEL_ACTIONS; i++)
        total += mix->weights[i];
    const uint64_t bits = random_uint64(stream);
    unsigned draw = (unsigned)(bits >> 32) % total;
    memcpy(step, &bits, sizeof *step);
    for (step->action = 0; draw >= mix->weights[step->action]; step->action++)
        draw -= mix->weights[step->action];
    const bool crowd = step->many < mix->crowds;
    step->many = (uint8_t)(random_uint64(stream) % (crowd ? 16 : 1) + (crowd ? CROWD_FROM : 0));
}

static void model_run(struct model *model, struct random_stream *stream, const struct mix *mix,
                      int steps)
{
    struct model_step step;
    for (int i = 0; i < steps; i++) {
        draw_step(stream, mix, &step);
        assert_true(model_step(model, &step));
    }
}

CASE(random_sequences_give_the_order_of_a_sorted_array)
{
    static const struct mix mixes[] = {
        {{4, 4, 1, 1, 4, 1}, 0},   /* all in balance */
        {{2, 3, 1, 8, 4, 1}, 0},   /* mostly re-timed */
        {{4, 4, 1, 1, 4, 0}, 80},  /* crowds come and go */
        {{4, 3, 1, 3, 4, 1}, 40},  /* crowds by re-times */
        {{6, 1, 6, 2, 1, 1}, 20},  /* mostly cancelled */
        {{9, 9, 0, 0, 9, 0}, 100}, /* a plain queue */
    };
    const size_t sequences = trials(10000);
    for (uint32_t i = 0; i < sequences; i++) {
        OWNED(model_destroy) struct model *model = model_create(6000, i % 3 * 100);
        RANDOM_STREAM(stream, 11, RANDOM_TEST, i, 0);
        model_run(model, &stream, &mixes[i % (sizeof mixes / sizeof *mixes)], 60);
        assert_true(event_queue_is_sound(model->event_queue));
        assert_true(model_drain(model));
    }
}

/* The queue fills, keeps its number, and drains, and once more. */
CASE(thousands_pending_with_delays_of_all_lengths_come_in_order)
{
    static const struct mix grow = {{9, 1, 1, 3, 2, 1}, 2}, keep = {{5, 5, 1, 3, 2, 1}, 1},
                            shrink = {{1, 6, 6, 3, 2, 1}, 4};
    static const struct mix *const phases[] = {&grow, &keep, &shrink, &grow, &shrink};
    OWNED(model_destroy) struct model *model = model_create(20000, 0);
    RANDOM_STREAM(stream, 12, RANDOM_TEST, 0, 0);
    for (int i = 0; i < 100; i++) {
        model_run(model, &stream, phases[i / 20], 1000);
        assert_true(event_queue_is_sound(model->event_queue));
    }
    assert_true(model_drain(model));
}

/* The overflow heap looks at the crowd when its time is asked for. */
CASE(an_event_set_after_a_look_at_a_far_crowd_comes_before_it)
{
    enum { NEAR = 800, FAR = 1000 };
    OWNED(queue_destroy) struct event_queue *event_queue = queue_create(0);
    struct event event;
    for (uint32_t i = 0; i < NEAR; i++)
        assert_true(event_queue_push(event_queue, 50 * SIM_MS, 1, i) != 0);
    for (uint32_t i = 0; i < FAR; i++)
        assert_true(event_queue_push(event_queue, 500 * SIM_MS, 2, i) != 0);
    for (uint32_t i = 0; i < NEAR; i++)
        assert_true(event_queue_pop(event_queue, &event) && event.subject == i);
    assert_true(event_queue_next_time(event_queue) == 500 * SIM_MS);
    assert_true(event_queue_is_sound(event_queue));
    assert_true(event_queue_push(event_queue, 126 * SIM_MS, 3, 0) != 0);
    assert_true(event_queue_pop(event_queue, &event) && event.kind == 3);
    for (uint32_t i = 0; i < FAR; i++)
        assert_true(event_queue_pop(event_queue, &event) && event.subject == i);
}

CASE(a_large_heap_pops_in_order)
{
    enum { EVENTS = 200000 };
    OWNED(queue_destroy) struct event_queue *event_queue = queue_create(0);
    RANDOM_STREAM(stream, 1, RANDOM_TEST, 7, 0);
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

/* Each subject has one order for ever and one event, which is set anew again and again; the other
 * events of these times have drawn orders. */
CASE(orders_drawn_first_come_first_however_often_they_are_used)
{
    enum { SUBJECTS = 40, STEPS = 200000, OTHER = 1, OWN = 2 };
    OWNED(queue_destroy) struct event_queue *queue = queue_create(0);
    RANDOM_STREAM(stream, 5, RANDOM_TEST, 0, 0);
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
    OWNED(queue_destroy) struct event_queue *event_queue = queue_create(0);
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
    OWNED(queue_destroy) struct event_queue *event_queue = queue_create(0);
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
    OWNED(queue_destroy) struct event_queue *event_queue = queue_create(0);
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
    OWNED(queue_destroy) struct event_queue *event_queue = queue_create(0);
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
    static const struct mix mix = {{5, 4, 1, 3, 4, 1}, 10};
    for (uint32_t instance = 200; instance < 212; instance++) {
        OWNED(model_destroy) struct model *model = model_create(6000, 0);
        RANDOM_STREAM(stream, 11, RANDOM_TEST, instance, 0);
        for (int i = 0; i < 50; i++) {
            if (i % 10 == 9)
                event_queue_age(model->event_queue, UINT64_MAX);
            model_run(model, &stream, &mix, 30);
            assert_true(event_queue_is_sound(model->event_queue));
        }
        assert_true(model_drain(model));
    }
}

CASE(a_slot_whose_generations_are_used_up_is_laid_aside)
{
    OWNED(queue_destroy) struct event_queue *event_queue = queue_create(0);
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
    OWNED(queue_destroy) struct event_queue *event_queue = must(queue_create(1 << 24));
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
