/* Reads ahead: what the next events will touch is fetched while this one is handled.
 *
 * In a large run every event finds its batch, container, host and request where the processor's
 * caches have long dropped them, and would wait for each in turn. The calendar knows the events to
 * come. The batch of each is fetched as soon as it is one of a few that come next, and what a batch
 * names when it is the very next: by then the batch itself is there. What that names in turn, the
 * neighbours in lists, is fetched when the event begins, which looks at them at its end. Nothing is
 * changed here, and a wrong guess costs nothing but the fetch.
 */
#include "sim/state.h"

/* Below so many batches all of it stays in the cache. */
enum { BATCHES_FEW = 512 };

/* The batch's oldest job and, as a rule, its successor; executions and runners. */
enum { JOBS_OF_INTEREST = 2, WORK_FETCHED = 4 };

static inline void fetch(const void *object, size_t bytes)
{
    /* A function without any effect is one that the compiler leaves out. */
    __asm__ volatile("");
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch((const char *)object + at);
}

static void fetch_subject(const struct platform *platform, uint32_t kind, uint32_t subject)
{
    if (kind == EVENT_BATCH_START || kind == EVENT_BATCH_FINISH)
        fetch(&platform->batches[subject], sizeof *platform->batches);
    else if (kind == EVENT_CONTAINER_EXPIRY)
        fetch(&platform->cluster.containers[subject], LINE);
}

static inline void fetch_links(const struct cluster *cluster, uint32_t invoker)
{
    fetch(&cluster->links[invoker * cluster->link_stride],
          cluster->link_stride * sizeof *cluster->links);
}

/* Of those that execute on a GPU, as many as there are most of the time: more fetches than the
 * processor has in flight at once would wait for one another. */
static inline void fetch_work(const struct gpu_work *work)
{
    fetch(work, offsetof(struct gpu_work, usual_executions[WORK_FETCHED]));
    fetch(work->usual_runners, WORK_FETCHED * sizeof *work->usual_runners);
}

/* All that the end of the batch looks at of which the batch tells where it is. */
static void fetch_of_batch(const struct platform *platform, const struct batch *batch)
{
    const struct cluster *cluster = &platform->cluster;
    if (batch->jobs == 0)
        return;
    fetch(&cluster->containers[batch->container], LINE);
    fetch(&platform->jobs[batch->first_job], JOBS_OF_INTEREST * sizeof *platform->jobs);
    fetch(&platform->requests[job_slot(platform, batch->first_job)], sizeof *platform->requests);
    fetch(&cluster->invokers[batch->invoker], sizeof *cluster->invokers);
    fetch(&cluster->warm[(size_t)batch->invoker * cluster->function_count],
          cluster->function_count * sizeof *cluster->warm);
    fetch(&cluster->standing[batch->invoker], sizeof *cluster->standing);
    fetch_links(cluster, batch->invoker);
    if (batch->gpu != SIM_NONE) {
        fetch(&cluster->gpus[batch->gpu], sizeof *cluster->gpus);
        fetch_work(&platform->gpu_work[batch->gpu]);
    }
}

/* The neighbours in the lists of (invoker, function) and of equally free invokers. */
static void fetch_neighbours(const struct platform *platform, uint32_t invoker, uint32_t function)
{
    const struct cluster *cluster = &platform->cluster;
    const uint32_t idle =
        cluster->warm[(size_t)invoker * cluster->function_count + function].idle_head;
    const struct fit_link *link = &cluster->links[invoker * cluster->link_stride];
    if (idle != SIM_NONE)
        fetch(&cluster->containers[idle], LINE);
    if (link->next != SIM_NONE)
        fetch_links(cluster, link->next);
    if (link->previous != SIM_NONE)
        fetch_links(cluster, link->previous);
}

void lookahead_finish(const struct platform *platform, const struct batch *batch)
{
    if (platform->running_batches >= BATCHES_FEW)
        fetch_neighbours(platform, batch->invoker, batch->function);
}

void lookahead_dispatch(const struct platform *platform, const struct placement *placement)
{
    const struct cluster *cluster = &platform->cluster;
    if (platform->running_batches < BATCHES_FEW)
        return;
    if (placement->container != SIM_NONE)
        fetch(&cluster->containers[placement->container], LINE);
    fetch_links(cluster, placement->invoker);
    if (placement->gpu != SIM_NONE)
        fetch_work(&platform->gpu_work[placement->gpu]);
}

void lookahead_ready(const struct platform *platform, uint32_t function, uint32_t invoker)
{
    const struct cluster *cluster = &platform->cluster;
    if (platform->running_batches < BATCHES_FEW)
        return;
    const uint32_t idle =
        cluster->warm[(size_t)invoker * cluster->function_count + function].idle_head;
    if (idle != SIM_NONE)
        fetch(&cluster->containers[idle], LINE);
}

void lookahead(const struct platform *platform)
{
    if (platform->running_batches < BATCHES_FEW)
        return;
    uint32_t kinds[CALENDAR_UPCOMING], subjects[CALENDAR_UPCOMING];
    size_t first;
    size_t count = calendar_upcoming(platform->calendar, kinds, subjects, &first);
    for (size_t i = 0; i < count; i++)
        fetch_subject(platform, kinds[i], subjects[i]);
    if (count > 0 && (kinds[first] == EVENT_BATCH_START || kinds[first] == EVENT_BATCH_FINISH))
        fetch_of_batch(platform, &platform->batches[subjects[first]]);
}
