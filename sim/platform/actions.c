#include "sim/platform/actions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <zlib.h>

#include "sched/registry.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/state.h"
#include "traces/readers/line_reader.h"
#include "workloads/load/loader_internal.h"

static const char *const names[ACTION_COUNT] = {
#define ACTION(name, call) #name,
    ACTIONS(ACTION)
#undef ACTION
};

void action_note(struct platform *platform, enum action action, const int64_t numbers[5])
{
    const struct recorder *recorder = platform->recorder; /* none of a replay */
    if (recorder == NULL || recorder->action == NULL || platform->asking || platform->failed)
        return;
    const struct action_row row = {platform->callback, platform->now, platform->unnoted,
                                   (uint8_t)action,    numbers[0],    numbers[1],
                                   numbers[2],         numbers[3],    numbers[4]};
    platform->unnoted = 0;
    platform->noted = platform->callback;
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
    platform_charge(platform, row->charged);
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

/* Does the rows of this callback. Returns the last's number if it is the result, else if any is. */
static int64_t replay(void *state, struct platform *platform, enum action result)
{
    struct replayed *replayed = state;
    const uint64_t callback = platform->callback; /* a drop calls others */
    const struct action_row *last = NULL;
    replayed->depth++;
    for (const struct action_row *row; (row = next_row(replayed, callback)) != NULL; last = row)
        act(platform, row);
    replayed->depth--;
    return last != NULL && last->action == result ? last->a : last != NULL;
}

static bool replay_init(void *state, struct platform *platform, const void *parameters,
                        struct error *error)
{
    (void)parameters, (void)error;
    *(struct replayed *)state =
        (struct replayed){platform, (const struct actions *)platform->policy, 0, 0};
    platform->numbered = true;
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

#define HEAD "esgsim actions 2"
#define COLUMNS "callback,time_ns,charged,action,a,b,c,d,e"

static void put(struct actions_writer *writer, const char *line)
{
    writer->checksum = crc32(writer->checksum, (const unsigned char *)line, (uInt)strlen(line));
    (void)fputs(line, writer->file.stream);
    (void)fputc('\n', writer->file.stream);
}

/* printf would take most of a recorded run's time. */
static char *put_number(char *to, uint64_t number)
{
    char text[24], *at = text + sizeof text;
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    *--at = ',';
    return mempcpy(to, at, (size_t)(text + sizeof text - at));
}

static bool take(void *context, const struct action_row *row, struct error *error)
{
    (void)error; /* a file that cannot be written is known at its end */
    const int64_t numbers[] = {row->a, row->b, row->c, row->d, row->e};
    char line[256], *end = put_number(line, row->callback);
    end = put_number(put_number(end, (uint64_t)row->time_ns), row->charged);
    end = stpcpy(stpcpy(end, ","), names[row->action]);
    for (size_t n = 0; n < 5; n++)
        end = put_number(end, (uint64_t)numbers[n]);
    *end = '\0';
    put(context, line + 1);
    return true;
}

/* The seed, and a digest of the experiment without what may differ. */
static const char *world_of(const struct experiment *experiment, char text[100])
{
    static const char *const aside[] = {"name", "policy", "record", "seed"};
    cJSON *world = cJSON_Parse(experiment->resolved_json);
    for (size_t i = 0; i < sizeof aside / sizeof *aside; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(world, aside[i]);
    char *json = cJSON_PrintUnformatted(world);
    const int length = snprintf(text, 100, "seed %" PRIu64 " in world ", experiment->seed);
    hash_bytes(json, strlen(json), text + length);
    text[length + 16] = '\0';
    free(json);
    cJSON_Delete(world);
    return text;
}

bool actions_begin(struct actions_writer *writer, const char *path,
                   const struct experiment *experiment, const struct policy *policy,
                   const double *values, struct recorder *recorder, struct error *error)
{
    const char *admission = policy->admission != NULL ? policy->admission : "none";
    if (policy_admission(policy, values, experiment).rule == ADMISSION_NONE)
        admission = policy->admits_requests ? "own" : "none";
    unsigned traits = 0;
    char line[512], world[100];
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
    (void)snprintf(line, sizeof line, HEAD ",%s,%u,%s,%s", world_of(experiment, world), traits,
                   admission, policy->name);
    put(writer, line);
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
    int64_t n[9];
    uint8_t action = 0;
    char *fields[9], *end;
    if (line_cut(line, ',', fields, 9) != 9)
        return false;
    for (size_t i = 0; i < 9; i += i == 2 ? 2 : 1) {
        n[i] = (int64_t)strtoull(fields[i], &end, 10);
        if (end == fields[i] || *end != '\0')
            return false;
    }
    while (action < ACTION_COUNT && strcmp(fields[3], names[action]) != 0)
        action++;
    *row = (struct action_row){(uint64_t)n[0], n[1], (uint64_t)n[2], action, n[4],
                               n[5],           n[6], n[7],           n[8]};
    return action < ACTION_COUNT;
}

static bool head_of(char *line, const char *world, struct actions *actions)
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
    return strcmp(fields[1], world) == 0 && fields[4][0] != '\0';
}

static bool read_all(struct arena *arena, struct line_reader *lines, const char *world,
                     struct actions *actions, struct error *error)
{
    unsigned long checksum = 0;
    char *line = NULL;
    enum line_status status;
    while ((status = line_reader_next(lines, &line, error)) == LINE_READ &&
           (strncmp(line, "end,", 4) != 0 || strtoul(line + 4, NULL, 16) != checksum)) {
        checksum = crc32(checksum, (const unsigned char *)line, (uInt)strlen(line));
        arena_reserve(arena, &actions->rows, actions->count + 1, sizeof *actions->rows);
        if (lines->line == 1 && !head_of(line, world, actions))
            return line_fault(lines, error, "no actions of %s; repeat --set and --seed", world);
        if (lines->line > 2 && !row_of(line, &actions->rows[actions->count++]))
            return line_fault(lines, error, "neither an action nor the checksum of all before");
    }
    return status == LINE_READ ||
           (status == LINE_END && line_fault(lines, error, "the end is missing"));
}

const struct policy *actions_read(struct arena *arena, const char *path,
                                  const struct experiment *experiment, struct error *error)
{
    char world[100];
    struct line_reader lines = {0};
    struct actions *actions = arena_allocate(arena, 1, sizeof *actions);
    actions->policy = (struct policy){.abi = POLICY_ABI,
                                      .name = actions->name,
                                      .admission = actions->admission,
                                      .state_bytes = sizeof(struct replayed),
                                      .init = replay_init,
                                      .decide = replay_decide};
    const bool good = line_reader_open(&lines, path, error) &&
                      read_all(arena, &lines, world_of(experiment, world), actions, error);
    line_reader_close(&lines);
    return good ? &actions->policy : NULL;
}
