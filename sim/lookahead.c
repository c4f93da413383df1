/* Reads ahead: what the next events will touch is fetched while this one is handled.
 *
 * In a large run every event finds its batch, container, host and request where the processor's
 * caches have long dropped them, and would wait for each in turn. The calendar knows the events to
 * come. The batch of each is fetched as soon as it is one of a few that come next, and what a batch
 * names when it is the very next: by then the batch itself is there. What that names in turn is
 * fetched when the event begins, which looks at it at its end. Nothing that counts is changed here,
 * and a wrong guess costs nothing but the fetch.
 */
#include "sim/state.h"

/* Below so many batches all of it stays in the cache. */
enum { BATCHES_FEW = 512 };

/* Of what stands together only a part may be looked at: as many executions and runners as share a
 * GPU most of the time, and of rows only the short ones. More fetches than the processor has
 * in flight at once wait for one another. */
enum { WORK_FETCHED = 4, ROW_LINES = 4 };

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

/* What idles on the invoker: all of it where that is little, else of the function. */
static inline void fetch_warm(const struct cluster *cluster, uint32_t invoker, uint32_t function)
{
    const size_t width = cluster->function_count * sizeof *cluster->warm;
    if (width <= ROW_LINES * (size_t)LINE)
        fetch(cluster_warm(cluster, invoker, 0), width);
    else
        fetch(cluster_warm(cluster, invoker, function), sizeof *cluster->warm);
}

static inline void fetch_links(const struct cluster *cluster, uint32_t invoker)
{
    fetch(&cluster->links[invoker * cluster->link_stride],
          cluster->link_stride * sizeof *cluster->links);
}

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
    /* The job and, as a rule, its successor. */
    fetch(&platform->jobs[batch->first_job], 2 * sizeof *platform->jobs);
    fetch(&platform->requests[job_slot(platform, batch->first_job)], sizeof *platform->requests);
    fetch(&cluster->invokers[batch->invoker], sizeof *cluster->invokers);
    fetch_warm(cluster, batch->invoker, batch->function);
    fetch_links(cluster, batch->invoker);
    if (batch->gpu != SIM_NONE) {
        fetch(&cluster->gpus[batch->gpu], sizeof *cluster->gpus);
        fetch_work(&platform->gpu_work[batch->gpu]);
    }
}

void lookahead_finish(const struct platform *platform, const struct batch *batch)
{
    if (platform->running_batches < BATCHES_FEW)
        return;
    const uint32_t slot = job_slot(platform, batch->first_job);
    if (platform->requests[slot].left == 1) /* whose critical path is next */
        fetch(&platform->jobs[slot * platform->stride], platform->stride * sizeof *platform->jobs);
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
    const uint32_t idle = cluster_warm(cluster, invoker, function)->idle_head;
    if (idle != SIM_NONE)
        fetch(&cluster->containers[idle], LINE);
}

void lookahead(struct platform *platform)
{
    if (platform->running_batches < BATCHES_FEW)
        return;
    uint32_t kinds[CALENDAR_UPCOMING], subjects[CALENDAR_UPCOMING];
    size_t first;
    size_t count = calendar_upcoming(platform->calendar, kinds, subjects, &first);
    for (size_t i = 0; i < count; i++)
        fetch_subject(platform, kinds[i], subjects[i]);
    if (count == 0 || subjects[first] == platform->fetched_batch ||
        (kinds[first] != EVENT_BATCH_START && kinds[first] != EVENT_BATCH_FINISH))
        return;
    platform->fetched_batch = subjects[first];
    fetch_of_batch(platform, &platform->batches[subjects[first]]);
}
