/* Headway (ours): the margin of time left before a deadline decides everything.
 *
 * Not a published system. sched/HEADWAY.md explains each step, its source and its evidence. In
 * short: learn how much longer batches take than the profile says (risk.h); plan every batch
 * against the exact frontier of what remains, at times that include this risk (suffix.h); serve the
 * queue with the latest start that comes first; clear what is late in the cheapest batches.
 *
 * Every step has a parameter that disables it. With all of them disabled it is a plain planner: the
 * cheapest completion at nominal times, best fit, queues in order of arrival.
 */
#include "sched/headway/headway_internal.h"

#include <math.h>
#include <string.h>

/* ---- Order of the queues --------------------------------------------------------------------- */

enum { GATHER_LOOKS = 10000 }; /* at a queue whose next job does not come */

static const struct application *application_of(const struct headway *self,
                                                const struct platform *platform, uint32_t queue)
{
    return &self->workload->applications[platform_queue_application(platform, queue)];
}

/* The queue's rank after its oldest job or its length changed. */
static void queue_update(struct headway *self, const struct platform *platform, uint32_t queue)
{
    self->queues[queue].blocked = false;
    self->queues[queue].gathers_until = 0;
    if (platform_queue_length(platform, queue) == 0) {
        queue_order_remove(self->order, queue);
        return;
    }
    const struct job_view job = platform_job(platform, queue, 0);
    struct queue_rank rank = {(int64_t)job.request, (int64_t)job.ready};
    if (self->parameters->order == ORDER_LATEST_START)
        rank =
            (struct queue_rank){job.deadline - sim_round(self->parameters->pace *
                                                         (double)suffix_way(self->suffix, queue)),
                                (int64_t)job.request};
    queue_order_set(self->order, queue, rank);
}

/* True if the waiting jobs' work would keep the cluster busy for more than `fraction` of an SLO. */
static bool much_waits(struct headway *self, const struct platform *platform, double fraction)
{
    double waiting = 0;
    for (uint32_t q = platform_next_queue(platform, 0), last = 0; q != SIM_NONE && q >= last;
         last = q + 1, q = platform_next_queue(platform, q + 1)) {
        waiting += suffix_stage_work(self->suffix, q) * platform_queue_length(platform, q);
        self->owed++;
    }
    return waiting > fraction * self->mean_slo;
}

static void headway_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct headway *self = state;
    const struct application *application = application_of(self, platform, queue);
    queue_update(self, platform, queue);
    /* Of several sources the first enters first. */
    uint32_t source = 0;
    while (application->stages[source].after_count > 0)
        source++;
    if (queue == application->first_queue + source)
        arrival_rates_note(self->rates, platform_queue_application(platform, queue),
                           platform_now(platform));
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void headway_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                                 uint32_t instance)
{
    queue_update(state, platform, queue);
}

/* Moves a mean towards a new observation, the number `*count` + 1. */
static void learn_mean(const struct headway *self, double *mean, uint64_t *count, double seen)
{
    const double rate = self->parameters->rate;
    const double young = 1 / ((double)++*count + 10);
    *mean += (young > rate ? young : rate) * (seen - *mean);
}

static void learn(struct headway *self, const struct flight *flight, uint32_t function,
                  const struct finished_batch *batch)
{
    const double rate = self->parameters->rate;
    const struct configuration *spec =
        &self->workload->functions[function].configurations[batch->configuration];
    const double nominal = (double)spec->time;
    struct risk *risk = &self->risks[function * risk_class_count(self->workload) +
                                     risk_class(self->workload, spec)];
    if (nominal > 0)
        risk_observe(risk, (double)batch->execution / nominal, rate);
    if (flight->warm)
        learn_mean(self, &self->delay[flight->queue], &self->delays[flight->queue],
                   (double)(batch->started - flight->dispatched));
}

static void headway_on_finish(void *state, struct platform *platform,
                              const struct finished_batch *batch)
{
    struct headway *self = state;
    const uint32_t function = platform_queue_function(platform, batch->queue);
    const struct flight *flight = flights_take(self->flights, function, batch);
    self->releases++;
    if (flight == NULL)
        return;
    const struct function *spec = &self->workload->functions[function];
    places_use(self->places, &spec->configurations[batch->configuration], false,
               platform_now(platform));
    if (self->parameters->learning)
        learn(self, flight, function, batch);
}

static void headway_on_timer(void *state, struct platform *platform, uint32_t id)
{
    /* A queue has gathered long enough: decide follows. */
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

static bool launch(struct headway *self, struct platform *platform, uint32_t queue,
                   const struct option *option, uint32_t invoker, bool warm)
{
    const uint32_t function = platform_queue_function(platform, queue);
    const struct flight flight = {.queue = queue,
                                  .configuration = option->configuration,
                                  .invoker = invoker,
                                  .jobs = option->batch,
                                  .dispatched = platform_now(platform),
                                  .warm = warm};
    const sim_time_t waited = platform_now(platform) - platform_job(platform, queue, 0).ready;
    if (!platform_dispatch(platform, queue, option->batch, option->configuration, invoker))
        return false;
    flights_add(self->flights, function, &flight);
    places_use(self->places,
               &self->workload->functions[function].configurations[option->configuration], true,
               platform_now(platform));
    if (self->parameters->learning && self->parameters->ahead)
        learn_mean(self, &self->wait[queue], &self->waits[queue], (double)waited);
    queue_update(self, platform, queue);
    return true;
}

/* Whether plans are to spare the cluster rather than money. */
static bool is_pressed(struct headway *self, const struct platform *platform)
{
    if (self->parameters->objective != PRESSED_AUTO)
        return self->parameters->objective == PRESSED_ALWAYS;
    return self->load > self->parameters->press_load ||
           much_waits(self, platform, self->parameters->press_work);
}

/* Tries the options in ascending order of price, up to `limit` times that of the best plan that
 * begins with one job: jobs do not wait for a share that only a batch would need. */
static bool try_options(struct headway *self, struct platform *platform, uint32_t queue,
                        size_t count, double limit)
{
    const uint32_t function = platform_queue_function(platform, queue);
    const size_t all = count;
    struct option cheapest = {0};
    double most = 0, alone = (double)INFINITY;
    for (size_t i = 0; i < count; i++)
        if (self->options[i].batch == 1 && self->options[i].price < alone)
            alone = self->options[i].price;
    while (count > 0) {
        size_t best = 0;
        double least = self->options[0].price;
        for (size_t i = 1; i < count; i++)
            if (self->options[i].price < least) {
                least = self->options[i].price;
                best = i;
            }
        const struct option option = self->options[best];
        if (count == all) {
            cheapest = option;
            most = limit * (alone < (double)INFINITY ? alone : option.price);
        } else if (option.price > most) {
            break;
        }
        const uint32_t invoker =
            places_choose(self->places, platform, function, option.configuration, true);
        const struct configuration *spec =
            &self->workload->functions[function].configurations[option.configuration];
        platform_explain(platform, (uint32_t)all,
                         self->pressed ? spec->cost_per_job_usd : option.price, option.time);
        if (invoker != SIM_NONE)
            return launch(self, platform, queue, &option, invoker, true);
        self->options[best] = self->options[--count];
    }
    const uint32_t invoker =
        places_choose(self->places, platform, function, cheapest.configuration, false);
    return invoker != SIM_NONE && launch(self, platform, queue, &cheapest, invoker, false);
}

/* ---- Batches to come ------------------------------------------------------------------------- */

/* Time in which `more` (>= 1) requests of the application arrive, with a reserve of as many
 * standard deviations of a Poisson process as plans keep. */
static double arrival_time(const struct headway *self, uint32_t application, uint32_t more)
{
    return (more + self->parameters->reserve * sqrt(more)) *
           arrival_rates_interval(self->rates, application);
}

/* Appends to `left`, which has the times of the `length` jobs that wait, those of the larger
 * batches that the next jobs will make. Returns the largest batch that leaves time. */
static uint32_t foresee(struct headway *self, uint32_t application, uint32_t length)
{
    const double left = (double)self->left[length - 1];
    uint32_t batch = length;
    while (self->parameters->gather && batch < self->parameters->max_batch) {
        const double wait = arrival_time(self, application, batch + 1 - length);
        if (!(wait < left))
            break;
        self->left[batch++] = sim_round(left - wait);
    }
    return batch;
}

/* The price of an option that waits for more than the `length` jobs that are there. Where later
 * stages follow, it rises by the part of the time left that the wait takes, because with that time
 * the later stages would be cheaper and safer. */
static double price_of_waiting(const struct headway *self, const struct option *option,
                               uint32_t length, bool last)
{
    const double left = (double)self->left[option->batch - 1] / (double)self->left[length - 1];
    return option->price * (last ? 1 : 2 - left);
}

/* True if the cheapest plan begins with more jobs than wait now: the queue waits for them, as long
 * as they need to arrive. When one has arrived or the time is over it is decided again, and plans
 * for which no time is left are no options then. Else keeps only the options for the `length` jobs
 * that wait. */
static bool gathers(struct headway *self, struct platform *platform, uint32_t queue,
                    uint32_t length, size_t *count)
{
    const struct application *application = application_of(self, platform, queue);
    const bool last = application->stages[platform_queue_stage(platform, queue)].next_count == 0;
    double now = (double)INFINITY, later = (double)INFINITY;
    uint32_t batch = length;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        const struct option option = self->options[i];
        if (option.batch <= length) {
            now = fmin(now, option.price);
            self->options[kept++] = option;
        } else if (price_of_waiting(self, &option, length, last) < later) {
            later = price_of_waiting(self, &option, length, last);
            batch = option.batch;
        }
    }
    *count = kept;
    if (kept == 0 || later >= now)
        return false;
    const uint32_t index = platform_queue_application(platform, queue);
    const double wait = (batch - length) * arrival_rates_interval(self->rates, index);
    /* Where nobody comes, it need not look again more often than the time left changes. */
    const double left =
        (double)(platform_job(platform, queue, 0).deadline - platform_now(platform));
    self->queues[queue].gathers_until =
        platform_now(platform) + sim_ceil(fmax(wait, left / GATHER_LOOKS));
    platform_set_timer(platform, self->queues[queue].gathers_until, 1);
    return true;
}

/* How one step serves the queues. */
enum service { SERVED, BLOCKED, RISKY };

/* Options for jobs that can keep no reserve: those that are in time if nothing goes wrong. Where
 * there is none, the oldest job is late whatever is done. Then the batches that spare the cluster
 * are the best ones, because they let the jobs behind it be in time soonest. */
static size_t late_options(struct headway *self, const struct platform *platform,
                           enum objective objective, uint32_t queue, uint32_t length)
{
    enum { SLOS_MOST = 4 }; /* that such a batch takes: late jobs end, too */
    size_t count = suffix_hurry(self->suffix, objective, queue, self->left, length, self->options);
    if (count > 0)
        return count;
    const sim_time_t most = SLOS_MOST * application_of(self, platform, queue)->slo;
    const size_t all = suffix_first_steps(self->suffix, objective, queue, length, self->options);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || (self->parameters->late == LATE_CHEAP && self->options[i].time <= most))
            self->options[count++] = self->options[i];
    return count;
}

/* Dispatches a batch of the queue if it fits somewhere at a bearable cost. If no plan keeps the
 * reserve, RISKY unless `risk` is taken. */
static enum service serve(struct headway *self, struct platform *platform, uint32_t queue,
                          bool pressed, bool risk)
{
    const sim_time_t now = platform_now(platform);
    const uint32_t application = platform_queue_application(platform, queue);
    const uint32_t waiting = platform_queue_length(platform, queue);
    const uint32_t length =
        waiting < self->parameters->max_batch ? waiting : self->parameters->max_batch;
    const enum objective objective = pressed ? OBJECTIVE_WORK : OBJECTIVE_COST;
    sim_time_t deadline = SIM_FOREVER;
    for (uint32_t i = 0; i < length; i++) {
        const sim_time_t own = platform_job(platform, queue, i).deadline;
        deadline = own < deadline ? own : deadline;
        self->left[i] = deadline - now;
    }
    uint64_t examined = 0;
    size_t count = suffix_options(self->suffix, objective, application, queue, self->left,
                                  foresee(self, application, length), self->options, &examined);
    double limit = self->parameters->patience;
    platform_charge(platform, examined);
    if (gathers(self, platform, queue, length, &count))
        return BLOCKED;
    if (count == 0 && !risk)
        return RISKY;
    if (count == 0) {
        count = late_options(self, platform, objective, queue, length);
        platform_charge(platform, count);
        limit = (double)INFINITY;
    }
    return try_options(self, platform, queue, count, limit) ? SERVED : BLOCKED;
}

static uint32_t warm_now(const struct platform *platform, uint32_t queue)
{
    return platform_warm_total(platform, platform_queue_function(platform, queue));
}

/* True if the queue was found blocked, and nothing has happened since that could change this. */
static bool still_blocked(const struct headway *self, const struct platform *platform,
                          uint32_t queue)
{
    const struct headway_queue *state = &self->queues[queue];
    if (platform_now(platform) < state->gathers_until)
        return true;
    return state->blocked && state->releases == self->releases &&
           warm_now(platform, queue) <= state->warm &&
           platform_now(platform) - state->tried <
               suffix_quantum(self->suffix, platform_queue_application(platform, queue));
}

/* Queues that were passed over return to the order. */
static void restore(struct headway *self, const struct platform *platform, uint32_t skipped)
{
    for (uint32_t i = 0; i < skipped; i++) {
        const struct headway_queue known = self->queues[self->skipped[i]];
        queue_update(self, platform, self->skipped[i]);
        self->queues[self->skipped[i]] = known;
    }
}

/* Serves the first queue in order that can be served. While pressed, queues whose oldest request
 * can keep no reserve come after all others: in overload the most urgent requests are those that
 * will be late anyway, and to hurry them makes the next ones late. */
static bool serve_first(struct headway *self, struct platform *platform)
{
    const bool pressed = is_pressed(self, platform);
    self->pressed = pressed;
    const bool risk = !pressed || self->parameters->risky == RISKY_FIRST;
    uint32_t skipped = 0;
    enum service service = BLOCKED;
    while (service != SERVED) {
        const uint32_t queue = queue_order_first(self->order, NULL);
        if (queue == SIM_NONE)
            break;
        if (!still_blocked(self, platform, queue)) {
            service = serve(self, platform, queue, pressed, risk);
            if (service == SERVED)
                break;
            self->queues[queue] =
                (struct headway_queue){.blocked = true,
                                       .risky = service == RISKY,
                                       .gathers_until = self->queues[queue].gathers_until,
                                       .tried = platform_now(platform),
                                       .warm = warm_now(platform, queue),
                                       .releases = self->releases};
        }
        queue_order_remove(self->order, queue);
        self->skipped[skipped++] = queue;
    }
    for (uint32_t i = 0; i < skipped && service != SERVED; i++) {
        const uint32_t queue = self->skipped[i];
        if (!self->queues[queue].risky || platform_queue_length(platform, queue) == 0)
            continue; /* its jobs may have been dropped with requests of another queue */
        self->queues[queue].risky = false;
        service = serve(self, platform, queue, pressed, true);
    }
    restore(self, platform, skipped);
    return service == SERVED;
}

/* Each function's part of the mean work of a request at minimum configurations, and the mean SLO,
 * by the mix of applications that arrived. */
static void mix(struct headway *self)
{
    const struct workload *workload = self->workload;
    double total = 0;
    self->mean_slo = 0;
    memset(self->part, 0, workload->function_count * sizeof *self->part);
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        const double share = arrival_rates_share(self->rates, a);
        self->mean_slo += share * (double)application->slo;
        for (size_t s = 0; s < application->stage_count; s++) {
            const uint32_t f = application->stages[s].function;
            const struct function *function = &workload->functions[f];
            const double work =
                share * function->configurations[function->minimum_configuration].cost_usd;
            self->part[f] += work;
            total += work;
        }
    }
    for (size_t f = 0; total > 0 && f < workload->function_count; f++)
        self->part[f] /= total;
}

/* New tables, if what they depend on has moved. */
static void refresh(struct headway *self, struct platform *platform)
{
    mix(self);
    self->neighbour = places_mean_units(self->places);
    for (uint32_t f = 0; f < self->workload->function_count; f++) {
        const uint32_t containers =
            platform_warm_total(platform, f) + flights_total(self->flights, f);
        self->container_share[f] = containers > 0 ? self->part[f] / containers : 0;
    }
    uint64_t units = suffix_refresh(self->suffix, self->parameters->change);
    self->load = 0;
    for (uint32_t a = 0; a < self->workload->application_count; a++) {
        const double interval = arrival_rates_interval(self->rates, a);
        const double work = suffix_request_work(self->suffix, a, interval, &units);
        self->load += work / interval;
        platform_tell_work(platform, a, sim_round(work));
    }
    platform_charge(platform, units);
}

/* Learned times are looked at from time to time only. */
static void keep_up(struct headway *self, struct platform *platform)
{
    const sim_time_t now = platform_now(platform);
    if (now >= self->next_refresh) {
        refresh(self, platform);
        self->next_refresh = now + self->parameters->rebuild_ms;
    }
}

static bool headway_decide(void *state, struct platform *platform)
{
    struct headway *self = state;
    platform_charge(platform, self->owed);
    self->owed = 0;
    if (queue_order_first(self->order, NULL) == SIM_NONE)
        return false;
    keep_up(self, platform);
    return serve_first(self, platform) && queue_order_first(self->order, NULL) != SIM_NONE;
}

const struct policy policy_headway = {
    .abi = POLICY_ABI,
    .name = "headway",
    .admission = "efficient",
    .summary = "ours: risk-aware plans for the time left",
    .parameters = headway_parameters,
    .parameters_bytes = sizeof(struct headway_parameters),
    .state_bytes = sizeof(struct headway),
    .init = headway_init,
    .on_ready = headway_on_ready,
    .on_withdrawn = headway_on_withdrawn,
    .on_finish = headway_on_finish,
    .on_timer = headway_on_timer,
    .decide = headway_decide,
};
