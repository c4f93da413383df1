#include "sim/platform/actions.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "sched/registry.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/state.h"
#include "traces/readers/line_reader.h"

static const char *const names[ACTION_COUNT] = {
#define ACTION(name, call) #name,
    ACTIONS(ACTION)
#undef ACTION
};

void action_note(struct platform *platform, enum action action, const int64_t numbers[5])
{
    const struct recorder *recorder = platform->recorder;
    const uint64_t units = platform->unnoted;
    if (recorder == NULL || recorder->action == NULL || platform->asking || platform->failed)
        return;
    platform->unnoted = 0;
    if (units > 0)
        ACTION_NOTE(platform, charge, (int64_t)units);
    const struct action_row row = {platform->callback, platform->now, (uint8_t)action, numbers[0],
                                   numbers[1],         numbers[2],    numbers[3],      numbers[4]};
    if (numbers[0] == 0 && action == ACTION_charge)
        return;
    if (!recorder->action(recorder->context, &row, platform->error))
        platform->failed = true;
}

/* ---- A replay -------------------------------------------------------------------------------- */

struct actions {
    struct policy policy;
    char name[64], admission[16];
    struct action_row *rows;
    size_t count;
};

struct replayed {
    struct platform *platform;
    const struct actions *actions;
    size_t at;      /* rows done */
    unsigned depth; /* of callbacks in progress */
};

/* The next row, if it is of this callback. Those of an earlier one are of the callback around it,
 * or the run was another. */
static const struct action_row *next_row(struct replayed *replayed, uint64_t callback)
{
    const struct action_row *row = &replayed->actions->rows[replayed->at];
    if (replayed->at == replayed->actions->count || replayed->platform->failed ||
        row->callback > callback || (row->callback < callback && replayed->depth > 1))
        return NULL;
    if (row->callback == callback && row->time_ns == replayed->platform->now)
        return &replayed->actions->rows[replayed->at++];
    platform_fail(replayed->platform, "rule actions: action %zu, %s, does not fit the run",
                  replayed->at + 1, names[row->action]);
    return NULL;
}

static void act(struct platform *platform, const struct action_row *row)
{
    const uint32_t a = (uint32_t)row->a, b = (uint32_t)row->b, c = (uint32_t)row->c;
    const uint32_t d = (uint32_t)row->d, e = (uint32_t)row->e;
    switch ((enum action)row->action) {
#define ACTION(name, call)                                                                         \
    case ACTION_##name:                                                                            \
        (void)(call);                                                                              \
        break;
        ACTIONS(ACTION)
#undef ACTION
    case ACTION_COUNT:
        break;
    }
}

/* Does what the rows of this callback say. Returns the number of the last, if it is its result. */
static int64_t replay(void *state, struct platform *platform, enum action result)
{
    struct replayed *replayed = state;
    const uint64_t callback = platform->callback; /* a drop calls others */
    const struct action_row *last = NULL;
    replayed->depth++;
    for (const struct action_row *row; (row = next_row(replayed, callback)) != NULL; last = row)
        act(platform, row);
    replayed->depth--;
    return last != NULL && last->action == result ? last->a : 0;
}

static bool replay_init(void *state, struct platform *platform, const void *parameters,
                        struct error *error)
{
    (void)parameters, (void)error;
    *(struct replayed *)state =
        (struct replayed){platform, (const struct actions *)platform->policy, 0, 0};
    (void)replay(state, platform, ACTION_COUNT);
    return true;
}

#define REPLAY(callback, ...)                                                                      \
    static void replay_##callback(void *state, struct platform *platform, __VA_ARGS__)             \
    {                                                                                              \
        (void)subject, (void)replay(state, platform, ACTION_COUNT);                                \
    }
REPLAY(about, uint32_t subject)
REPLAY(withdrawn, uint32_t subject, __attribute__((unused)) uint32_t instance)
REPLAY(finished, const struct finished_batch *subject)

static bool replay_decide(void *state, struct platform *platform)
{
    return replay(state, platform, ACTION_more) != 0;
}

static sim_time_t replay_keep_alive(void *state, struct platform *platform, uint32_t function,
                                    uint32_t invoker)
{
    (void)function, (void)invoker;
    return replay(state, platform, ACTION_keep);
}

/* What a policy has decides what the platform does: a bit each. */
#define TRAITS(TRAIT)                                                                              \
    TRAIT(0, on_ready, replay_about)                                                               \
    TRAIT(1, on_withdrawn, replay_withdrawn)                                                       \
    TRAIT(2, on_finish, replay_finished)                                                           \
    TRAIT(3, on_instance_ready, replay_about)                                                      \
    TRAIT(4, on_timer, replay_about)                                                               \
    TRAIT(5, on_refused, replay_about)                                                             \
    TRAIT(6, keep_alive, replay_keep_alive)                                                        \
    TRAIT(7, places_containers, true)

/* ---- Files: a head, a line for each row, an end with the checksum of all before -------------- */

#define HEAD "esgsim actions 1"
#define COLUMNS "callback,time_ns,action,a,b,c,d,e"

static void put(struct actions_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(struct actions_writer *writer, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    writer->checksum = crc32(writer->checksum, (const unsigned char *)line, (uInt)strlen(line));
    (void)fprintf(writer->file.stream, "%s\n", line);
}

static bool take(void *context, const struct action_row *row, struct error *error)
{
    put(context,
        "%" PRIu64 ",%" PRId64 ",%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64,
        row->callback, row->time_ns, names[row->action], row->a, row->b, row->c, row->d, row->e);
    return true;
}

bool actions_begin(struct actions_writer *writer, const char *path,
                   const struct experiment *experiment, const struct policy *policy,
                   const double *values, struct recorder *recorder, struct error *error)
{
    const char *admission = policy->admission != NULL ? policy->admission : "none";
    if (policy_admission(policy, values, experiment).rule == ADMISSION_NONE)
        admission = policy->admits_requests ? "own" : "none";
    unsigned traits = 0;
    if (experiment->training != NULL || experiment->platform.decision_cost == DECISION_MEASURED)
        return error_input(error,
                           "%s: actions on trainings, and after a measured decision_cost, "
                           "are not recorded; take fixed or modelled times",
                           experiment->path);
    if (!atomic_file_open(&writer->file, path, error))
        return false;
#define TRAIT(bit, member, own) traits |= (unsigned)(policy->member != 0) << (bit);
    TRAITS(TRAIT)
#undef TRAIT
    put(writer, HEAD ",%" PRIu64 ",%u,%s,%s", experiment->seed, traits, admission, policy->name);
    put(writer, COLUMNS);
    *recorder = (struct recorder){.context = writer, .action = take};
    return true;
}

bool actions_end(struct actions_writer *writer, bool good, struct error *error)
{
    if (writer->file.stream != NULL)
        (void)fprintf(writer->file.stream, "end,%08lx\n", writer->checksum);
    return atomic_file_end(&writer->file, good, error);
}

static bool row_of(char *line, struct action_row *row)
{
    int64_t callback = 0, *const numbers[] = {&callback, &row->time_ns, NULL,    &row->a,
                                              &row->b,   &row->c,       &row->d, &row->e};
    char *fields[8], *end;
    *row = (struct action_row){0};
    if (line_cut(line, ',', fields, 8) != 8)
        return false;
    for (size_t n = 0; n < 8; n += n == 1 ? 2 : 1) {
        *numbers[n] = strtoll(fields[n], &end, 10);
        if (end == fields[n] || *end != '\0')
            return false;
    }
    row->callback = (uint64_t)callback;
    while (row->action < ACTION_COUNT && strcmp(fields[2], names[row->action]) != 0)
        row->action++;
    return row->action < ACTION_COUNT;
}

static bool head_of(char *line, uint64_t seed, struct actions *actions)
{
    char *fields[5];
    if (line_cut(line, ',', fields, 5) != 5 || strcmp(fields[0], HEAD) != 0)
        return false;
    const unsigned long traits = strtoul(fields[2], NULL, 10);
    (void)snprintf(actions->admission, sizeof actions->admission, "%s", fields[3]);
    (void)snprintf(actions->name, sizeof actions->name, "%s", fields[4]);
    actions->policy.admits_requests = strcmp(actions->admission, "own") == 0;
    actions->policy.refuses = actions->policy.admits_requests ? "as its actions say" : NULL;
#define TRAIT(bit, member, own) actions->policy.member = (traits >> (bit)&1) != 0 ? own : 0;
    TRAITS(TRAIT)
#undef TRAIT
    return strtoull(fields[1], NULL, 10) == seed && fields[4][0] != '\0';
}

static bool read_all(struct arena *arena, struct line_reader *lines, uint64_t seed,
                     struct actions *actions, struct error *error)
{
    unsigned long checksum = 0;
    char *line = NULL, end[24] = "";
    enum line_status status;
    while ((status = line_reader_next(lines, &line, error)) == LINE_READ &&
           strcmp(line, end) != 0) {
        checksum = crc32(checksum, (const unsigned char *)line, (uInt)strlen(line));
        (void)snprintf(end, sizeof end, "end,%08lx", checksum);
        arena_reserve(arena, &actions->rows, actions->count + 1, sizeof *actions->rows);
        if (lines->line == 1 && !head_of(line, seed, actions))
            return line_fault(lines, error, "no actions of a run of seed %" PRIu64, seed);
        if (lines->line > 2 && !row_of(line, &actions->rows[actions->count++]))
            return line_fault(lines, error, "neither an action nor the checksum of all before");
    }
    return status == LINE_READ ||
           (status == LINE_END && line_fault(lines, error, "the end is missing"));
}

const struct policy *actions_read(struct arena *arena, const char *path,
                                  const struct experiment *experiment, struct error *error)
{
    struct line_reader lines = {0};
    struct actions *actions = arena_allocate(arena, 1, sizeof *actions);
    actions->policy = (struct policy){.abi = POLICY_ABI,
                                      .name = actions->name,
                                      .admission = actions->admission,
                                      .state_bytes = sizeof(struct replayed),
                                      .init = replay_init,
                                      .decide = replay_decide};
    const bool good = line_reader_open(&lines, path, error) &&
                      read_all(arena, &lines, experiment->seed, actions, error);
    line_reader_close(&lines);
    return good ? &actions->policy : NULL;
}
