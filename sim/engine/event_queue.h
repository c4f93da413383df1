/* Event queue of a discrete-event simulation.
 *
 * An event is an integer time, a kind and a subject. Events are popped in order of time. Events of
 * the same time are popped in insertion order: the order of the pushes or re-times that set this
 * time. Every event can be cancelled or re-timed by its handle, in O(1) amortised.
 *
 * The queue is a 4-ary heap of 16-byte keys. A key is one 128-bit integer (time ‖ sequence ‖ slot),
 * so one integer comparison orders two keys and ties cannot occur.
 *
 * Deletion is lazy. A cancel, or a re-time to an earlier time, leaves the old key in the heap. Such
 * a key is stale, because its sequence number or its time differs from that of its slot. Stale keys
 * are dropped when they reach the root. When they outnumber the live keys, all of them are removed
 * in one sweep. A re-time to a later time keeps the key in the heap. The key is reinserted at the
 * later time when it reaches the root.
 *
 * Popping leaves the root empty. The next pushed key sinks from there, so that a pop and a push
 * need only one pass through the heap.
 *
 * The heap contains only the earliest keys. Once it has grown, keys at or beyond a horizon are
 * appended to an overflow heap (overflow_heap.h). When the heap becomes empty, the earliest keys of
 * the overflow heap move into it. The heap therefore fits into the processor's first-level cache.
 * Distant timers, such as those of keep-alives, do not slow down earlier events.
 *
 * The queue does not allocate memory after it has grown to the largest number of pending events.
 * When all 2^40 sequence numbers have been used, the pending events are renumbered in their order.
 * A slot is retired after 2^24 uses. Neither is visible to callers.
 *
 * Arrivals of requests are not in this queue. The simulator merges the arrival stream with the
 * events by calling event_queue_next_time.
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

/* Returns an empty queue with room for `initial_capacity` events. NULL: memory exhausted. */
struct event_queue *event_queue_create(size_t initial_capacity);
/* Frees the queue. NULL is allowed. */
void event_queue_destroy(struct event_queue *event_queue);

/* Adds an event. O(log n). Returns 0 and sets the queue's fault in three cases: `time` is before
 * that of the last event popped, 2^24 events are pending, or memory is exhausted. */
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

/* Removes a pending event. Returns false if the handle is stale. */
bool event_queue_cancel(struct event_queue *event_queue, event_queue_handle handle);

/* Moves a pending event to another time, after all events already at that time. The handle remains
 * valid. Returns false if the handle is stale. Returns false, sets the queue's fault and leaves the
 * event unchanged for the reasons given at event_queue_push. */
bool event_queue_retime(struct event_queue *event_queue, event_queue_handle handle,
                        sim_time_t time);

/* Returns NULL if no error has occurred, otherwise a message about the first one, for example "an
 * event was set before the present time". The fault is never reset. The simulation's loop therefore
 * checks it occasionally and at the end, not after every push. */
const char *event_queue_fault(const struct event_queue *event_queue);

/* Returns the time of the next event, or SIM_FOREVER if the queue is empty. */
sim_time_t event_queue_next_time(struct event_queue *event_queue);

/* Removes the next event and stores it in *event. Returns false if the queue is empty. */
bool event_queue_pop(struct event_queue *event_queue, struct event *event);
/* Like event_queue_pop, but only if the next event has this time and this kind. */
bool event_queue_pop_if(struct event_queue *event_queue, sim_time_t time, uint16_t kind,
                        struct event *event);

/* Returns the number of pending events, without cancelled ones. */
size_t event_queue_size(const struct event_queue *event_queue);

#endif
