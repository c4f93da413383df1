/* The rows of the detailed record of a run: a structure for each table of sim/base/records.def,
 * which says what the members mean. */
#ifndef ESGSIM_SIM_BASE_RECORDS_H
#define ESGSIM_SIM_BASE_RECORDS_H

#include <stdint.h>

#include "sim/base/units.h"

enum { RECORD_MAX_STAGES = 16 };

/* The parts of a job's time. */
enum job_part {
#define PART(name, words, mark, colour) PART_##name,
#include "sim/base/parts.def"
    REQUEST_PARTS
};

#define RECORD_u8 uint8_t
#define RECORD_u16 uint16_t
#define RECORD_u32 uint32_t
#define RECORD_u64 uint64_t
#define RECORD_f64 double
#define RECORD_time sim_time_t

#define RECORD(row, table, event, level, title) struct row {
#define TABLE(row, table, title) struct row {
#define FIELD(row, type, name, unit, help) RECORD_##type name;
#define FIELDS(row, type, name, most, unit, help) RECORD_##type name[most];
#define RECORD_END                                                                                 \
    }                                                                                              \
    ;
#include "sim/base/records.def"

#endif
