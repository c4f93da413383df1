/* An event queue beside a sorted array, which cannot be wrong. Bytes decide what happens to both: a
 * test draws them, and libFuzzer looks for those under which the two differ. */
#ifndef ESGSIM_TESTS_EVENT_QUEUE_MODEL_H
#define ESGSIM_TESTS_EVENT_QUEUE_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "tests/event_queue_check.h"

enum { STALE_KEPT = 64, CROWD_FROM = 240, CROWD_UNIT = 128 };
enum model_action { PUSH, POP, CANCEL, RETIME, PEEK, TRY_STALE, MODEL_ACTIONS };

struct model_step {
    uint8_t action;
    uint8_t many;    /* below CROWD_FROM: the action happens once; otherwise hundreds of times */
    uint8_t how;     /* the time that is set */
    uint8_t pick[2]; /* the event concerned, or the delay */
};

struct model_event {
    struct event event;
    event_queue_handle handle;
};

struct model {
    struct event_queue *event_queue;
    struct model_event *events; /* of one time: in the order in which they were set */
    size_t first, count, room;
    sim_time_t now;
    uint32_t pushed;
    event_queue_handle stale[STALE_KEPT]; /* handles of events gone, a ring */
    size_t stale_count;
};

static inline struct event_queue *queue_create(size_t capacity)
{
    return event_queue_create(arena_create(), capacity);
}

static inline void queue_destroy(struct event_queue *queue)
{
    if (queue != NULL)
        arena_destroy(queue->arena);
}

static inline void model_destroy(struct model *model)
{
    if (model == NULL)
        return;
    queue_destroy(model->event_queue);
    free(model->events);
    free(model);
}

/* For at most `most` pending events. */
static inline struct model *model_create(size_t most, size_t capacity)
{
    struct model *model = calloc(1, sizeof *model);
    if (model == NULL)
        abort();
    model->room = 2 * most;
    model->events = malloc(model->room * sizeof *model->events);
    model->event_queue = queue_create(capacity);
    if (model->events == NULL)
        abort();
    return model;
}

/* Opens a gap of `count` events after all events at `time`. */
static inline struct model_event *model_open(struct model *model, sim_time_t time, size_t count)
{
    if (model->first + model->count + count > model->room) {
        memmove(model->events, &model->events[model->first], model->count * sizeof *model->events);
        model->first = 0;
    }
    size_t from = model->first, to = model->first + model->count;
    while (from < to) {
        const size_t middle = (from + to) / 2;
        if (model->events[middle].event.time <= time)
            from = middle + 1;
        else
            to = middle;
    }
    struct model_event *gap = &model->events[from];
    memmove(gap + count, gap, (model->first + model->count - from) * sizeof *gap);
    model->count += count;
    return gap;
}

static inline void model_close(struct model *model, struct model_event *gone)
{
    const struct model_event *first = &model->events[model->first];
    if (gone == first)
        model->first++;
    else
        memmove(gone, gone + 1, (model->count - 1 - (size_t)(gone - first)) * sizeof *gone);
    model->count--;
}

static inline struct model_event *model_pick(const struct model *model, size_t pick)
{
    return &model->events[model->first + pick % model->count];
}

/* Now, soon, after a delay of any length, or at, before or about a pending event. */
static inline sim_time_t model_time(const struct model *model, const struct model_step *step)
{
    const unsigned pick = step->pick[0] | (unsigned)step->pick[1] << 8, shift = step->how / 8;
    const sim_time_t other = model->count > 0 ? model_pick(model, pick)->event.time : model->now;
    const sim_time_t between = (other - model->now) >> (shift % 8);
    switch (step->how % 8) {
    case 0:
        return model->now;
    case 1:
        return model->now + pick % 8;
    case 2:
        return other;
    case 3:
        return other > model->now ? other - 1 : other + 1;
    case 4:
        return model->now + between;
    case 5:
        return other - between;
    default:
        return model->now + (sim_time_t)((uint64_t)pick << shift);
    }
}

static inline bool model_push(struct model *model, sim_time_t time, size_t count)
{
    if (model->count + count > model->room / 2)
        return true;
    bool pushed = true;
    struct model_event *added = model_open(model, time, count);
    for (size_t i = 0; i < count; i++, added++) {
        const uint32_t id = model->pushed++;
        added->event = (struct event){time, (uint16_t)(id % 7), id};
        added->handle = id % 4 == 0
                            ? event_queue_push_ordered(model->event_queue, time,
                                                       event_queue_draw_order(model->event_queue),
                                                       added->event.kind, id)
                            : event_queue_push(model->event_queue, time, added->event.kind, id);
        pushed = pushed && added->handle != 0;
    }
    return pushed;
}

static inline bool model_pop(struct model *model, size_t pick)
{
    struct event event;
    if (model->count == 0)
        return !event_queue_pop(model->event_queue, &event);
    struct model_event *first = model_pick(model, 0);
    const struct event *expected = &first->event;
    const uint16_t other = (uint16_t)(expected->kind + 1);
    if (pick % 4 > 0
            ? !event_queue_pop(model->event_queue, &event)
            : event_queue_pop_if(model->event_queue, expected->time, other, &event) ||
                  !event_queue_pop_if(model->event_queue, expected->time, expected->kind, &event))
        return false;
    model->now = event.time;
    model->stale[model->stale_count++ % STALE_KEPT] = first->handle;
    model_close(model, first);
    return event.time == expected->time && event.kind == expected->kind &&
           event.subject == expected->subject;
}

static inline bool model_cancel(struct model *model, size_t pick)
{
    if (model->count == 0)
        return true;
    struct model_event *gone = model_pick(model, pick);
    const event_queue_handle handle = gone->handle;
    model->stale[model->stale_count++ % STALE_KEPT] = handle;
    model_close(model, gone);
    return event_queue_cancel(model->event_queue, handle);
}

static inline bool model_retime(struct model *model, size_t pick, sim_time_t time)
{
    if (model->count == 0)
        return true;
    struct model_event *from = model_pick(model, pick), moved = *from;
    moved.event.time = time;
    model_close(model, from);
    *model_open(model, time, 1) = moved;
    if (pick % 4 > 0)
        return event_queue_retime(model->event_queue, moved.handle, time);
    return event_queue_retime_ordered(model->event_queue, moved.handle, time,
                                      event_queue_draw_order(model->event_queue),
                                      moved.event.subject);
}

static inline bool model_peek(const struct model *model)
{
    return event_queue_next_time(model->event_queue) ==
           (model->count == 0 ? SIM_FOREVER : model_pick(model, 0)->event.time);
}

static inline bool model_try_stale(struct model *model, size_t pick)
{
    if (model->stale_count < STALE_KEPT)
        return true;
    const event_queue_handle stale = model->stale[pick % STALE_KEPT];
    return !event_queue_cancel(model->event_queue, stale) &&
           !event_queue_retime(model->event_queue, stale, model->now + 1);
}

static inline bool model_act(struct model *model, unsigned action, size_t pick, sim_time_t time)
{
    switch (action) {
    case POP:
        return model_pop(model, pick);
    case CANCEL:
        return model_cancel(model, pick);
    case RETIME:
        return model_retime(model, pick, time);
    case PEEK:
        return model_peek(model);
    default:
        return model_try_stale(model, pick);
    }
}

/* Returns whether the queue did what the array did. */
static inline bool model_step(struct model *model, const struct model_step *step)
{
    const unsigned action = step->action % MODEL_ACTIONS;
    const size_t many =
        step->many < CROWD_FROM ? 1 : (size_t)(step->many - CROWD_FROM + 1) * CROWD_UNIT;
    const sim_time_t time = model_time(model, step);
    bool right = action != PUSH || model_push(model, time, many);
    for (size_t i = 0; action != PUSH && i < many && right; i++)
        right = model_act(model, action, step->pick[0] + step->pick[1] * 61U + i, time);
    return right && event_queue_size(model->event_queue) == model->count &&
           event_queue_fault(model->event_queue) == NULL;
}

/* Pops all that is left. */
static inline bool model_drain(struct model *model)
{
    while (model->count > 0)
        if (!model_pop(model, 1))
            return false;
    return model_pop(model, 1) && event_queue_is_sound(model->event_queue);
}

#endif
