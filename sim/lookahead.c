/* Reads ahead: what the next events will touch is fetched while this one is handled.
 *
 * In a large run every event finds its batch, container, host and request where the processor's
 * caches have long dropped them, and would wait for each in turn. The calendar knows the events to
 * come. The batch of each is fetched as soon as it is one of a few that come next, and what a batch
 * names when it is the very next: by then the batch itself is there. Nothing is changed here, and a
 * wrong guess costs nothing but the fetch.
 */
#include "sim/state.h"

/* Below so many batches all of it stays in the cache. */
enum { BATCHES_FEW = 512 };

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

static void fetch_of_batch(const struct platform *platform, const struct batch *batch)
{
    const struct cluster *cluster = &platform->cluster;
    const size_t list = (size_t)batch->invoker * cluster->function_count + batch->function;
    if (batch->jobs == 0)
        return;
    fetch(&cluster->containers[batch->container], LINE);
    fetch(&platform->jobs[batch->first_job], sizeof *platform->jobs);
    fetch(job_request(platform, batch->first_job), LINE);
    fetch(&cluster->invokers[batch->invoker], sizeof *cluster->invokers);
    fetch(&cluster->warm[list], sizeof *cluster->warm);
    fetch(&cluster->standing[batch->invoker], sizeof *cluster->standing);
    fetch(&cluster->links[batch->invoker * cluster->link_stride],
          cluster->link_stride * sizeof *cluster->links);
    if (batch->gpu != SIM_NONE) {
        fetch(&cluster->gpus[batch->gpu], sizeof *cluster->gpus);
        fetch(&platform->gpu_work[batch->gpu], sizeof *platform->gpu_work);
    }
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
