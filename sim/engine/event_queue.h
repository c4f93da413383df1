/* Event queue of a discrete-event simulation.
 *
 * Events are popped in order of time, and events of one time in the order in which a push or a
 * re-time set that time. Each pending event has a handle, by which it can be re-timed or cancelled
 * until it is popped. At most 2^24 events can be pending, and none can be set before the time of
 * the last one popped.
 */
#ifndef ESGSIM_SIM_ENGINE_EVENT_QUEUE_H
#define ESGSIM_SIM_ENGINE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/units.h"

struct event_queue;

/* Identifies a pending event. 0 is never a valid handle. After its event has been popped or
 * cancelled a handle is stale. A generation counter detects stale handles. */
typedef uint64_t event_queue_handle;

struct event {
    sim_time_t time;
    uint16_t kind;
    uint32_t subject;
};

struct arena;

/* Returns an empty queue with room for `initial_capacity` events, which lives in the arena. */
struct event_queue *event_queue_create(struct arena *arena, size_t initial_capacity);

/* Adds an event. O(log n) amortised. Returns 0 and sets the queue's fault in two cases: `time` is
 * before that of the last event popped, or 2^24 events are pending. */
event_queue_handle event_queue_push(struct event_queue *event_queue, sim_time_t time, uint16_t kind,
                                    uint32_t subject);

/* Returns a new insertion sequence number.
 *
 * A caller may have many events of which only the first can happen, such as the ends of the batches
 * on one GPU. It then keeps only the first one in the queue. It draws a sequence number for each
 * event when it sets the event's time, and passes the number of the first event to the functions
 * below. All events then happen in the same order as if all were in the queue.
 *
 * A caller may also draw numbers before all other events, and use one again and again. Its events
 * then precede all others of the same time, in the order of their numbers.
 *
 * Limitation: numbers drawn before all 2^40 are used up are not renumbered with the pending events.
 */
uint64_t event_queue_draw_order(struct event_queue *event_queue);
/* Like event_queue_push, but the event has the sequence number `order` among events of the same
 * time. */
event_queue_handle event_queue_push_ordered(struct event_queue *event_queue, sim_time_t time,
                                            uint64_t order, uint16_t kind, uint32_t subject);
/* Like event_queue_retime, but with the sequence number `order`. Also changes the event's subject.
 */
bool event_queue_retime_ordered(struct event_queue *event_queue, event_queue_handle handle,
                                sim_time_t time, uint64_t order, uint32_t subject);

/* Removes a pending event. O(1) amortised. Returns false if the handle is stale. */
bool event_queue_cancel(struct event_queue *event_queue, event_queue_handle handle);

/* Moves a pending event to another time, after all events already at that time. O(1) amortised if
 * it moves to a later time. The handle remains valid. Returns false if the handle is stale. Returns
 * false, sets the queue's fault and leaves the event unchanged for the reasons given at
 * event_queue_push. */
bool event_queue_retime(struct event_queue *event_queue, event_queue_handle handle,
                        sim_time_t time);

/* Returns NULL if no error has occurred, otherwise a message about the first one, for example "an
 * event was set before the present time". The fault is never reset. The simulation's loop therefore
 * checks it occasionally and at the end, not after every push. */
const char *event_queue_fault(const struct event_queue *event_queue);

/* Returns the time of the next event, or SIM_FOREVER if the queue is empty. The simulator compares
 * it with the next arrival of a request, which is in no queue. */
sim_time_t event_queue_next_time(struct event_queue *event_queue);

/* Removes the next event and stores it in *event. Returns false if the queue is empty. */
bool event_queue_pop(struct event_queue *event_queue, struct event *event);
/* Like event_queue_pop, but only if the next event has this time and this kind. */
bool event_queue_pop_if(struct event_queue *event_queue, sim_time_t time, uint16_t kind,
                        struct event *event);

/* Returns the number of pending events, without cancelled ones. */
size_t event_queue_size(const struct event_queue *event_queue);

#endif
