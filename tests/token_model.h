/* The token scheduler of FaST-GShare (sched/fast_gshare/tokens.h), slice by slice: what the fluid
 * of the simulator is held against. */
#ifndef ESGSIM_TESTS_TOKEN_MODEL_H
#define ESGSIM_TESTS_TOKEN_MODEL_H

#include "sched/fast_gshare/tokens.h"
#include "sim/base/units.h"
#include "tests/suite.h"

#define TOKENS_WINDOW (40 * SIM_MS)

/* A spell of holding a token; `to` SIM_FOREVER would be one that never ends, which none is. */
struct spell {
    sim_time_t from, to;
};

struct holder {
    struct token_pod pod;
    bool active;
    struct spell *spells; /* a ring would do; those outside the window are dropped from the front */
    size_t first, count, room;
    sim_time_t before; /* token time of dropped spells */
    sim_time_t until;  /* end of the token that it holds; <= now: none */
};

struct tokens {
    uint32_t capacity;
    sim_time_t window, now;
    struct holder *holders;
    size_t count;
};

static void tokens_destroy(struct tokens *tokens);

/* A GPU of `capacity` (Σ share of holders at any instant) and `count` pods, all waiting for a token
 * whenever they have none. NULL when out of memory. */
static struct tokens *tokens_create(uint32_t capacity, const struct token_pod *pods, size_t count,
                                    sim_time_t window)
{
    struct tokens *tokens = calloc(1, sizeof *tokens);
    if (tokens == NULL)
        return NULL;
    *tokens = (struct tokens){.capacity = capacity, .window = window, .count = count};
    tokens->holders = calloc(count + 1, sizeof *tokens->holders);
    for (size_t i = 0; tokens->holders != NULL && i < count; i++)
        tokens->holders[i] = (struct holder){.pod = pods[i], .active = true};
    /* Spells are at least a slice long, and those in a window are within two of them. */
    for (size_t i = 0; tokens->holders != NULL && i < count; i++) {
        struct holder *holder = &tokens->holders[i];
        holder->room = (size_t)(2 / pods[i].request) + 4;
        holder->spells = calloc(holder->room, sizeof *holder->spells);
        if (holder->spells == NULL) {
            tokens_destroy(tokens);
            return NULL;
        }
    }
    if (tokens->holders == NULL) {
        free(tokens);
        return NULL;
    }
    return tokens;
}

static void tokens_destroy(struct tokens *tokens)
{
    if (tokens == NULL)
        return;
    for (size_t i = 0; i < tokens->count; i++)
        free(tokens->holders[i].spells);
    free(tokens->holders);
    free(tokens);
}

static void tokens_set_active(struct tokens *tokens, size_t pod, bool active)
{
    tokens->holders[pod].active = active;
}

static sim_time_t used_until(const struct holder *holder, sim_time_t from, sim_time_t to)
{
    sim_time_t used = 0;
    for (size_t i = 0; i < holder->count; i++) {
        const struct spell *spell = &holder->spells[holder->first + i];
        const sim_time_t start = spell->from > from ? spell->from : from;
        const sim_time_t end = spell->to < to ? spell->to : to;
        used += end > start ? end - start : 0;
    }
    return used;
}

static sim_time_t tokens_used(const struct tokens *tokens, size_t pod)
{
    return used_until(&tokens->holders[pod], tokens->now - tokens->window, tokens->now);
}

static sim_time_t tokens_held(const struct tokens *tokens, size_t pod)
{
    return tokens->holders[pod].before + used_until(&tokens->holders[pod], INT64_MIN, tokens->now);
}

static uint32_t tokens_load(const struct tokens *tokens)
{
    uint32_t load = 0;
    for (size_t i = 0; i < tokens->count; i++)
        load += tokens->holders[i].until > tokens->now ? tokens->holders[i].pod.share : 0;
    return load;
}

/* What the order of granting looks at. */
struct claim {
    bool below;    /* its request is not met */
    double unseen; /* fraction of it */
    sim_time_t used;
    sim_time_t since; /* it has been without a token */
};

static struct claim claim_of(const struct tokens *tokens, size_t pod)
{
    const double due = tokens->holders[pod].pod.request * (double)tokens->window;
    const sim_time_t used = tokens_used(tokens, pod);
    const double unseen = (due - (double)used) / due;
    return (struct claim){unseen > 0, unseen, used, tokens->holders[pod].until};
}

static bool goes_before(struct claim a, struct claim b)
{
    if (a.below != b.below)
        return a.below;
    if (a.below && (a.unseen > b.unseen || a.unseen < b.unseen))
        return a.unseen > b.unseen;
    if (!a.below && a.used != b.used)
        return a.used < b.used;
    return a.since < b.since;
}

/* The first in order among those that may have a token and fit. */
static size_t next_holder(const struct tokens *tokens, uint32_t room)
{
    size_t best = SIZE_MAX;
    struct claim best_claim = {0};
    for (size_t i = 0; i < tokens->count; i++) {
        const struct holder *holder = &tokens->holders[i];
        if (!holder->active || holder->until > tokens->now || holder->pod.share > room)
            continue;
        const struct claim claim = claim_of(tokens, i);
        if ((double)claim.used >= holder->pod.limit * (double)tokens->window)
            continue;
        if (best == SIZE_MAX || goes_before(claim, best_claim)) {
            best = i;
            best_claim = claim;
        }
    }
    return best;
}

static void grant(struct tokens *tokens, size_t pod)
{
    struct holder *holder = &tokens->holders[pod];
    sim_time_t slice = (sim_time_t)(holder->pod.request * (double)tokens->window);
    slice = slice > 0 ? slice : 1;
    while (holder->count > 0 && holder->spells[holder->first].to <= tokens->now - tokens->window) {
        holder->before += holder->spells[holder->first].to - holder->spells[holder->first].from;
        holder->first++;
        holder->count--;
    }
    if (holder->first + holder->count == holder->room) {
        memmove(holder->spells, holder->spells + holder->first,
                holder->count * sizeof *holder->spells);
        holder->first = 0;
    }
    holder->until = tokens->now + slice;
    holder->spells[holder->first + holder->count++] = (struct spell){tokens->now, holder->until};
}

/* The next instant at which a token ends or a pod at its limit gets room in its window. */
static sim_time_t next_event(const struct tokens *tokens)
{
    sim_time_t next = SIM_FOREVER;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct holder *holder = &tokens->holders[i];
        if (holder->until > tokens->now)
            next = holder->until < next ? holder->until : next;
        for (size_t s = 0; s < holder->count; s++) {
            const struct spell *spell = &holder->spells[holder->first + s];
            const sim_time_t leaves = spell->from + tokens->window;
            if (spell->to + tokens->window > tokens->now) {
                /* Once its oldest spell begins to leave, every instant would be an event. */
                const sim_time_t soon = leaves > tokens->now ? leaves : tokens->now + SIM_US;
                next = soon < next ? soon : next;
            }
        }
    }
    return next;
}

static void tokens_run(struct tokens *tokens, sim_time_t time)
{
    while (tokens->now < time) {
        uint32_t load = tokens_load(tokens);
        for (size_t pod = next_holder(tokens, tokens->capacity - load); pod != SIZE_MAX;
             pod = next_holder(tokens, tokens->capacity - load)) {
            grant(tokens, pod);
            load += tokens->holders[pod].pod.share;
        }
        const sim_time_t next = next_event(tokens);
        tokens->now = next < time ? next : time;
    }
}

#endif
