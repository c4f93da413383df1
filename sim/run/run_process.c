#include "sim/base/clock.h"
#include "sim/run/run_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sched/registry.h"
#include "sim/run/guard.h"
#include "sim/run/walls.h"
#include "sim/run/worker_pool.h"
#include "workloads/load/policy_module.h"
#include "workloads/training/training_plan.h"

/* What a process and its parent both see. */
struct shared {
    struct shared *next; /* of the policies that were loaded */
    const char *path;
    bool ended, good;
    struct error error;
    struct simulation_place place; /* while it loads */
    struct policy policy;          /* what it points to is in `room`, but its functions */
    size_t used;
    char room[1 << 18];
};

static struct shared *loaded, *own; /* own: of this process, if code of a module runs in it */
static double limit_s;

/* ---- Processes ------------------------------------------------------------------------------- */

/* Async-signal-safe. */
static void tell(const char *message)
{
    own->error.kind = ERROR_RUN;
    strncpy(own->error.message, message, sizeof own->error.message - 1);
    own->ended = true;
    _exit(1);
}

/* Starts a process behind the walls, which may read the module and `files`. Returns the end of the
 * channel from it: for itself to write, for its parent to read. NULL: `shared` has the error. */
static FILE *process_start(struct shared *shared, const char *module, const char *const files[4],
                           pid_t *pid)
{
    char file[POLICY_MODULE_PATH] = "";
    int ends[2];
    if (!policy_module_file(module, file, &shared->error) || pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    (void)fflush(NULL);
    const pid_t parent = getpid();
    *pid = fork();
    (void)close(ends[*pid != 0]);
    if (*pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        own = shared;
        policy_probe = NULL;
        guard_enter_worker(tell);
        guard_watch_callbacks(limit_s);
        walls_raise((const char *const[]){module, file, files[0], files[1], files[2], files[3]}, 6);
    }
    return fdopen(ends[*pid == 0], *pid == 0 ? "w" : "r");
}

static _Noreturn void process_end(bool good)
{
    own->good = good;
    own->ended = true;
    _exit(0);
}

/* Waits for the end of a process that has closed its channel, and takes its outcome. */
static bool process_reap(pid_t pid, FILE *from, const struct simulation_place *place,
                         const struct shared *shared, struct error *error)
{
    (void)fclose(from);
    const int status = worker_pool_reap(pid);
    if (!shared->ended)
        worker_pool_word_end(place, status, error);
    else if (!shared->good && error != NULL)
        *error = shared->error;
    return shared->ended && shared->good;
}

static struct shared *shared_create(void)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return NULL;
    (void)error_run(&shared->error, "the process of a run cannot be started");
    return shared;
}

/* ---- What a policy is ------------------------------------------------------------------------ */

static void *put(struct shared *shared, const void *from, size_t bytes)
{
    void *to = shared->room + shared->used;
    if (from == NULL || bytes > sizeof shared->room - shared->used)
        return NULL;
    shared->used += (bytes + 15) / 16 * 16;
    return memcpy(to, from, bytes);
}

static char *put_text(struct shared *shared, const char *text)
{
    return put(shared, text, text != NULL ? strlen(text) + 1 : 0);
}

/* Names longer than the room are not there, and refused as such. */
static void put_policy(struct shared *shared, const struct policy *policy)
{
    const size_t count = keys_count(policy->parameters);
    struct key *keys = put(shared, policy->parameters, (count + 1) * sizeof *keys);
    shared->policy = *policy;
    shared->policy.name = put_text(shared, policy->name);
    shared->policy.summary = put_text(shared, policy->summary);
    shared->policy.parameters = keys;
    for (size_t k = 0; keys != NULL && k < count; k++) {
        size_t words = 0;
        while (keys[k].words != NULL && keys[k].words[words] != NULL)
            words++;
        const char **list = put(shared, keys[k].words, (words + 1) * sizeof *list);
        for (size_t w = 0; list != NULL && w < words; w++)
            list[w] = put_text(shared, list[w]);
        keys[k].words = list;
        keys[k].name = put_text(shared, keys[k].name);
        keys[k].help = put_text(shared, keys[k].help);
    }
}

/* Loads the module in a process of its own, as if that were a callback. */
static bool load(struct shared *shared, const char *path, struct error *error)
{
    pid_t pid = -1;
    struct guard_watch watch = {.looked = clock_ns()};
    char late[GUARD_MESSAGE] = "";
    (void)snprintf(shared->place.experiment, sizeof shared->place.experiment, "%s", path);
    (void)snprintf(shared->place.policy, sizeof shared->place.policy, "%s", path);
    shared->place.callback = "load";
    shared->place.inside = true;
    FILE *channel = process_start(shared, path, (const char *const[4]){NULL}, &pid);
    if (channel == NULL)
        return error_input(error, "%s", shared->error.message);
    if (pid == 0) {
        simulation_share_place(&shared->place);
        const struct policy *policy = policy_find(path, &shared->error);
        if (policy != NULL)
            put_policy(shared, policy);
        process_end(policy != NULL);
    }
    struct pollfd end = {.fd = fileno(channel), .events = POLLIN};
    while (poll(&end, 1, guard_tick_ms(limit_s)) <= 0 && late[0] == '\0')
        if (guard_is_late(&watch, &shared->place, limit_s, late))
            (void)kill(pid, SIGKILL);
    const bool good = process_reap(pid, channel, &shared->place, shared, error);
    return late[0] != '\0' ? error_run(error, "%s", late) : good;
}

static const struct policy *probe(const char *path, struct error *error)
{
    struct shared *shared = loaded;
    while (shared != NULL && strcmp(shared->path, path) != 0)
        shared = shared->next;
    if (shared != NULL)
        return &shared->policy;
    shared = shared_create();
    if (shared == NULL || !load(shared, path, error)) {
        if (shared != NULL)
            (void)munmap(shared, sizeof *shared);
        return NULL;
    }
    shared->path = put_text(shared, path);
    shared->next = loaded;
    loaded = shared;
    return &shared->policy;
}

void run_process_begin(double seconds)
{
    limit_s = seconds;
    policy_probe = probe;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* What comes over the channel: an event, and its row; or MESSAGE_RESULT, and the parts of it. */
enum message {
    MESSAGE_RESULT,
#define RECORD(row_type, table, event, level, title) MESSAGE_##event,
#include "sim/base/records.def"
};

/* A policy that has closed the channel has ended the process, for its parent. */
static void send(FILE *to, const void *bytes, size_t size)
{
    if (size > 0 && fwrite(bytes, size, 1, to) != 1)
        _exit(0);
}

#define RECORD(row_type, table, event, level, title)                                               \
    static bool send_##event(void *context, const struct row_type *row, struct error *error)       \
    {                                                                                              \
        (void)error;                                                                               \
        send(context, &(enum message){MESSAGE_##event}, sizeof(enum message));                     \
        send(context, row, sizeof *row);                                                           \
        return true;                                                                               \
    }
#include "sim/base/records.def"

/* In the run's process. */
static _Noreturn void run_here(const struct resolved_run *run, struct simulation_options options,
                               FILE *to)
{
    struct simulation_result result = {0};
    struct recorder recorder = {.context = to};
#define RECORD(row_type, table, event, level, title)                                               \
    recorder.event = options.recorder->event != NULL ? send_##event : NULL;
    if (options.recorder != NULL) {
#include "sim/base/records.def"
        options.recorder = &recorder;
    }
    const struct policy *policy = policy_find_for(run->experiment, &own->error);
    const bool good = policy != NULL && simulation_run_with(run->experiment, policy, run->values,
                                                            &options, &result, &own->error);
    if (good) {
        send(to, &(enum message){MESSAGE_RESULT}, sizeof(enum message));
        send(to, &result, sizeof result);
        send(to, result.applications, result.application_count * sizeof *result.applications);
        send(to, result.training, result.training != NULL ? sizeof *result.training : 0);
        for (size_t n = 0; n < result.notices.count; n++) {
            const struct notice *notice = &result.notices.rows[n];
            const size_t length = strlen(notice->text) + 1;
            send(to, &notice->kind, sizeof notice->kind);
            send(to, &length, sizeof length);
            send(to, notice->text, length);
        }
    }
    if (fflush(to) != 0)
        _exit(0);
    process_end(good);
}

/* The next `size` bytes, allocated; NULL if they do not come. */
static void *receive(FILE *from, size_t size)
{
    void *bytes = malloc(size + 1);
    if (bytes == NULL || (size > 0 && fread(bytes, size, 1, from) != 1)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static bool receive_notice(FILE *from, struct notices *notices)
{
    enum notice_kind kind;
    size_t length;
    if (fread(&kind, sizeof kind, 1, from) != 1 || fread(&length, sizeof length, 1, from) != 1)
        return false;
    char *text = receive(from, length);
    if (text != NULL)
        notices_add(notices, kind, "%s", text);
    free(text);
    return text != NULL;
}

static bool receive_result(FILE *from, struct simulation_result *result)
{
    struct simulation_result whole;
    if (fread(&whole, sizeof whole, 1, from) != 1)
        return false;
    const bool training = whole.training != NULL;
    *result = whole;
    result->applications = receive(from, whole.application_count * sizeof *whole.applications);
    result->training = training ? receive(from, sizeof *whole.training) : NULL;
    result->notices = (struct notices){0};
    bool good = result->applications != NULL && training == (result->training != NULL);
    for (size_t n = 0; good && n < whole.notices.count; n++)
        good = receive_notice(from, &result->notices);
    return good;
}

/* Takes rows until the channel closes. */
static bool receive_all(FILE *from, const struct recorder *recorder,
                        struct simulation_result *result, struct error *error)
{
    bool good = true;
    for (enum message message; good && fread(&message, sizeof message, 1, from) == 1;)
        switch (message) {
        case MESSAGE_RESULT:
            good = receive_result(from, result);
            break;
#define RECORD(row_type, table, event, level, title)                                               \
    case MESSAGE_##event: {                                                                        \
        struct row_type row;                                                                       \
        good = fread(&row, sizeof row, 1, from) == 1 &&                                            \
               recorder->event(recorder->context, &row, error);                                    \
        break;                                                                                     \
    }
#include "sim/base/records.def"
        }
    return good;
}

bool run_process_wanted(const struct resolved_run *run, const struct simulation_options *options)
{
    const char *shadow = run->experiment->policy_shadow;
    return policy_probe != NULL && options->backend == NULL &&
           (policy_module_named(run->experiment->policy_name) ||
            (shadow != NULL && policy_module_named(shadow)));
}

bool run_process_simulate(const struct resolved_run *run, const struct simulation_options *options,
                          struct simulation_result *result, struct error *error)
{
    const struct experiment *experiment = run->experiment;
    const char *const files[4] = {experiment->policy_file, experiment->arrivals.trace_path,
                                  experiment->training != NULL ? experiment->training->trace_path
                                                               : NULL,
                                  experiment->policy_shadow};
    struct shared *shared = shared_create();
    pid_t pid = -1;
    *result = (struct simulation_result){0};
    FILE *channel =
        shared != NULL ? process_start(shared, experiment->policy_name, files, &pid) : NULL;
    if (channel == NULL)
        return error_run(error, "the process of a run cannot be started");
    if (pid == 0)
        run_here(run, *options, channel);
    struct error taking = {0};
    bool good = receive_all(channel, options->recorder, result, &taking);
    if (!good)
        (void)kill(pid, SIGKILL);
    good = process_reap(pid, channel, simulation_shared_place(), shared, error) && good;
    if (taking.kind != ERROR_NONE && error != NULL)
        *error = taking;
    if (!good)
        simulation_result_clear(result);
    (void)munmap(shared, sizeof *shared);
    return good;
}
