/* Reads a folder that traces/capture/measure.py wrote.
 *
 * device.json says what was measured and how. The tables are solo.csv, cold.csv and groups.csv, of
 * which the last two may be missing or without rows (traces/calibrate/sample_table.c).
 */
#ifndef ESGSIM_TRACES_CALIBRATE_MEASURED_FOLDER_H
#define ESGSIM_TRACES_CALIBRATE_MEASURED_FOLDER_H

#include <stdbool.h>

#include "sim/base/error.h"
#include "traces/calibrate/samples.h"

/* Adds the folder's samples to the set, and its device, evidence and source where the set has none.
 * ERROR_INPUT names the file and the fault. Without `rehearsal` a folder of `--by dry` is refused:
 * its times are a formula's. */
bool measured_folder_read(struct sample_set *set, const char *path, bool rehearsal,
                          struct error *error);

#endif
