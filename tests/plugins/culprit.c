/* Does what a policy must not do: the fault that its parameter names, in its first decision. */
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "sched/policy.h"
#include "sched/policy_training.h"

enum fault {
    FAULT_NONE,
    FAULT_LOOP,
    FAULT_SEGV,
    FAULT_STACK,
    FAULT_FPE,
    FAULT_ABORT,
    FAULT_EXIT,
    FAULT_FORK,
    FAULT_RAISE,
    FAULT_INIT,
    FAULT_CHARGE,
    FAULT_CHARGE_TWICE,
    FAULT_PRINT,
    FAULT_RAND,
    FAULT_TIME,
    FAULT_BLOCK,
    FAULT_ALARM,
    FAULT_CLOSE,
    FAULT_LEAVE,
    FAULT_EXEC,
    FAULT_ROUND,
    FAULT_TIMER,
    FAULT_STATIC,
    FAULT_DRAW,
    FAULT_STOP,
    FAULT_DAMAGE,
    FAULT_KILL,
    FAULT_HOARD
};

struct culprit_parameters {
    enum fault fault;
};
static const struct key culprit_parameters[] = {
    PARAMETER_WORD(culprit, fault,
                   WORDS("none", "loop", "segv", "stack", "fpe", "abort", "exit", "fork", "raise",
                         "init", "charge", "charge-twice", "print", "rand", "time", "block",
                         "alarm", "close", "leave", "exec", "round", "timer", "static", "draw",
                         "stop", "damage", "kill", "hoard"),
                   FAULT_NONE, "what it does"),
    KEY_END,
};

struct culprit {
    enum fault fault;
};

static bool culprit_init(void *state, struct platform *platform, const void *parameters,
                         struct error *error)
{
    (void)platform;
    (void)error;
    const enum fault fault = ((const struct culprit_parameters *)parameters)->fault;
    ((struct culprit *)state)->fault = fault;
    return fault != FAULT_INIT;
}

/* Deeper than any stack; what it returns keeps a compiler from making a loop of it. */
static int descend(volatile int *depth)
{
    volatile int room[1024];
    room[0] = ++*depth;
    return *depth > 0 ? descend(depth) + room[0] : 0;
}

/* Nothing that this process does to itself ends it. */
static _Noreturn void wait_unseen(bool alarmed)
{
    sigset_t all;
    (void)sigfillset(&all);
    if (alarmed)
        (void)alarm(1);
    else
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
    for (;;)
        (void)pause();
}

static unsigned decisions; /* of all runs, unless each begins with the module as it was loaded */

static bool culprit_decide(void *state, struct platform *platform)
{
    volatile int zero = 0;
    volatile int *nowhere = NULL;
    switch (((struct culprit *)state)->fault) {
    case FAULT_LOOP:
        for (;;)
            zero = 0;
    case FAULT_SEGV:
        *nowhere = 1; /* NOLINT(clang-analyzer-core.NullDereference): the fault wanted */
        break;
    case FAULT_STACK:
        return descend(&zero) > 0;
    case FAULT_FPE:
        (void)raise(SIGFPE);
        break;
    case FAULT_ABORT:
        abort();
    case FAULT_EXIT:
        exit(0);
    case FAULT_FORK:
        return fork() == 0;
    case FAULT_KILL:
        (void)raise(SIGKILL); /* as the kernel does when memory is short */
        break;
    case FAULT_HOARD: /* an exabyte */
        (void)platform_allocate(platform, (size_t)1 << 30, (size_t)1 << 30);
        break;
    case FAULT_RAISE:
        (void)raise(SIGTERM);
        break;
    case FAULT_CHARGE_TWICE:
        platform_charge(platform, 1);
        platform_charge(platform, UINT64_MAX);
        break;
    case FAULT_CHARGE:
        platform_charge(platform, UINT64_MAX);
        break;
    case FAULT_PRINT:
        (void)puts("a policy's own words");
        break;
    case FAULT_RAND:
        srand(1); /* NOLINT(cert-msc32-c,cert-msc51-cpp): the fault wanted */
        break;
    case FAULT_TIME:
        zero = (int)time(NULL);
        break;
    case FAULT_BLOCK:
    case FAULT_ALARM:
        wait_unseen(((struct culprit *)state)->fault == FAULT_ALARM);
    case FAULT_CLOSE:
        for (int file = 3; file < 256; file++)
            (void)close(file);
        break;
    case FAULT_LEAVE:
        _exit(0);
    case FAULT_EXEC:
        (void)execlp("sleep", "sleep", "60", (char *)NULL);
        break;
    case FAULT_ROUND:
        (void)fesetround(FE_UPWARD);
        break;
    case FAULT_TIMER:
        platform_set_timer(platform, platform_now(platform), 0);
        return false;
    case FAULT_STATIC:
        if (++decisions % 3 == 0 && platform_next_queue(platform, 0) != SIM_NONE)
            return platform_drop(platform, platform_next_queue(platform, 0), 0);
        break;
    case FAULT_DRAW:
        if (platform_random(platform) < 0.5 && platform_next_queue(platform, 0) != SIM_NONE)
            return platform_drop(platform, platform_next_queue(platform, 0), 0);
        break;
    case FAULT_DAMAGE:
        for (volatile char *byte = state; byte < (char *)state + 60000; byte++)
            if (byte >= (char *)state + sizeof(struct culprit))
                *byte = 'A';
        return false;
    case FAULT_STOP:
        platform_stop(platform, NULL);
        break;
    case FAULT_NONE:
    case FAULT_INIT:
        break;
    }
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t configuration =
        (uint32_t)platform_workload(platform)->functions[function].minimum_configuration;
    const uint32_t invoker = platform_best_fit(platform, function, configuration, false);
    return invoker != SIM_NONE && platform_dispatch(platform, queue, 1, configuration, invoker);
}

const struct policy esgsim_policy = {
    .abi = POLICY_ABI,
    .name = "culprit",
    .summary = "does what a policy must not do",
    .parameters = culprit_parameters,
    .parameters_bytes = sizeof(struct culprit_parameters),
    .state_bytes = sizeof(struct culprit),
    .init = culprit_init,
    .decide = culprit_decide,
};
