/* The event event queue: what happens next.
 *
 * Integer time; ties in insertion order (the order of the push or re-time that set the time); every
 * event can be cancelled or re-timed by its handle in O(1) amortised. Knows nothing of GPUs: an
 * event is a time, a kind and a subject.
 *
 * The one idea: a 4-ary heap of 16-byte keys, (time ‖ sequence ‖ slot) in one 128-bit integer, so
 * that an ordering comparison is one integer comparison and a tie cannot occur. Cancelling and
 * re-timing to an earlier time leave the old key in the heap, where its sequence number no longer
 * matches its slot's; such keys are dropped as they surface, and swept out together when they
 * outnumber the live ones. Re-timing to a later time keeps the key until it surfaces, and only then
 * moves it on.
 * Popping leaves the root open, so that an event pushed next sinks from there: one pass for both.
 *
 * The heap holds only what comes first. Once it has grown, keys beyond a horizon go to
 * overflow_heap.h, where a push is an append; when the heap has run empty, the earliest of them
 * come in. So the heap stays within the processor's first cache, and a timer far ahead, as a
 * keep-alive's, costs nothing to those in front of it.
 *
 * No allocation once the event queue has grown to the largest number pending. When the 2^40
 * sequence numbers are used up, the pending events are numbered anew in their order; a slot used
 * 2^24 times is laid aside. Neither is seen from outside.
 *
 * Arrivals of requests do not pass through here: the simulator merges their stream by looking at
 * event_queue_next_time.
 */
#ifndef ESGSIM_SIM_ENGINE_EVENT_QUEUE_H
#define ESGSIM_SIM_ENGINE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/units.h"

struct event_queue;

/* Names a pending event; 0 is never a handle. A handle of an event that has happened or been
 * cancelled is stale, and is recognised as such (generation counter). */
typedef uint64_t event_queue_handle;

struct event {
    sim_time_t time;
    uint16_t kind;
    uint32_t subject;
};

/* `initial_capacity` events before the first growth; NULL when out of memory. */
struct event_queue *event_queue_create(size_t initial_capacity);
void event_queue_destroy(struct event_queue *event_queue);

/* Adds an event. O(log n). Returns 0 and sets the event queue's fault where
 * `time` is before that of the last event popped (time never goes back), 2^24 events are pending,
 * or memory is out. */
event_queue_handle event_queue_push(struct event_queue *event_queue, sim_time_t time, uint16_t kind,
                                    uint32_t subject);

/* Who keeps many events of which only the first can matter, as the ends of the batches on one GPU,
 * puts just that one into the event queue. It takes each event's order with event_queue_draw_order
 * when its time is set, and names that of the first: everything then happens in the order in which
 * it would if all were in the event queue. (Orders drawn before the 2^40 numbers are used up are
 * not numbered anew with the pending events.) */
uint64_t event_queue_draw_order(struct event_queue *event_queue);
/* event_queue_push among events of the same time in the place of `order`, which was drawn before.
 */
event_queue_handle event_queue_push_ordered(struct event_queue *event_queue, sim_time_t time,
                                            uint64_t order, uint16_t kind, uint32_t subject);
/* event_queue_retime to the place of `order`, as an event of `subject` from now on. */
bool event_queue_retime_ordered(struct event_queue *event_queue, event_queue_handle handle,
                                sim_time_t time, uint64_t order, uint32_t subject);

/* False where the handle is stale. */
bool event_queue_cancel(struct event_queue *event_queue, event_queue_handle handle);

/* Moves a pending event to another time, behind all events already at that time. The handle stays
 * valid. False where it is stale; false, with the event queue's fault set and the event left where
 * it was, for the reasons given at event_queue_push. */
bool event_queue_retime(struct event_queue *event_queue, event_queue_handle handle,
                        sim_time_t time);

/* NULL while all is well; otherwise what went wrong first, for ever after ("an event was set before
 * the present time"), for the error message of a run: a simulation's loop looks here now and then
 * and at its end instead of at every push. */
const char *event_queue_fault(const struct event_queue *event_queue);

/* Time of the next event, SIM_FOREVER where there is none. */
sim_time_t event_queue_next_time(struct event_queue *event_queue);

/* Takes the next event; false where there is none. */
bool event_queue_pop(struct event_queue *event_queue, struct event *event);

/* Pending events (cancelled ones not counted). */
size_t event_queue_size(const struct event_queue *event_queue);

/* Keys held for them, stale ones included: what the memory in use is proportional to. After a
 * cancel or re-time at most 2 * size + 64. */
size_t event_queue_keys(const struct event_queue *event_queue);

/* Checks heap order, slots and counts; for tests. O(n). */
bool event_queue_is_sound(const struct event_queue *event_queue);

/* Makes the event queue as old as `uses` pushes through each of its free slots (at most two short
 * of the limit), so that tests reach the end of the sequence and generation numbers. */
void event_queue_age(struct event_queue *event_queue, uint64_t uses);

#endif
