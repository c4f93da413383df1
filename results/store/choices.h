/* What a policy chose in recorded runs (tables /runs/HASH/choices), run by run. The teacher is the
 * policy of the run, or the shadow that was asked in the states of another one. */
#ifndef ESGSIM_RESULTS_STORE_CHOICES_H
#define ESGSIM_RESULTS_STORE_CHOICES_H

#include "results/store/store.h"
#include "workloads/world/outline.h"

/* Hands the choices of every run to `take`, whose false ends the reading. `outline` becomes that of
 * the first run, if it is empty. ERROR_INPUT if a run has no choices of the teacher, if the runs
 * have several policies, or other functions than the outline: rows have their numbers. */
bool choices_read(const struct results *results, const char *teacher, struct outline *outline,
                  bool (*take)(void *context, const struct results *results, size_t run,
                               const struct choice_row *rows, size_t count, struct error *error),
                  void *context, struct error *error);

#endif
