/* Trainings on a timeline: a process "trainings" with a thread per training, a slice per lease. */
#ifndef ESGSIM_RESULTS_INSPECT_TIMELINE_TRAINING_H
#define ESGSIM_RESULTS_INSPECT_TIMELINE_TRAINING_H

#include "results/inspect/trace_events.h"
#include "sim/platform/simulation.h"

/* Names the process; called once, before the rows. */
bool timeline_trainings_begin(struct trace_events *events, struct error *error);
/* Writes a lease's slice, with its restart inside. */
bool timeline_lease(struct trace_events *events, const struct lease_row *row, struct error *error);
/* Names the training's thread, and marks its arrival. */
bool timeline_training(struct trace_events *events, const struct training_result_row *row,
                       struct error *error);

#endif
