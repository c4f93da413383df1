/* Reads ahead: what events will touch is fetched into the caches before they come.
 *
 * In a large run every event finds its batch, container, invoker and request where the processor's
 * caches have long dropped them, and would wait for each in turn. The calendar tells which events
 * have come near, a few hundred at a time, and these are gone through several times: first all
 * their batches are asked for, then what each batch names, then what that names in turn. By the
 * time that something is looked at it has come, and as many fetches are under way at once as the
 * processor can have. Nothing that counts is changed here, and a wrong guess costs nothing but the
 * fetch.
 */
#include "sim/state.h"

/* Below so many batches all of it stays in the cache. */
enum { BATCHES_FEW = 512 };

/* Of what stands together only a part may be looked at: the executions that share a GPU as a rule,
 * and of rows only the short ones. */
enum { WORK_LINES = 4, ROW_LINES = 4 };

static inline bool is_of_batch(uint16_t kind)
{
    return kind == EVENT_BATCH_START || kind == EVENT_BATCH_FINISH;
}

static inline void fetch_subject(const struct platform *platform, uint16_t kind, uint32_t subject)
{
    if (is_of_batch(kind))
        lines_fetch(&platform->batches[subject], sizeof *platform->batches);
    else if (kind == EVENT_CONTAINER_EXPIRY)
        lines_fetch(&platform->cluster.containers[subject], LINE);
}

/* What idles on the invoker, and where that is filed: all of it where that is little, else of the
 * function. */
static inline void fetch_cells(const struct cluster *cluster, uint32_t invoker, uint32_t function)
{
    const struct warm_cell *row = &cluster->cells[invoker * cluster->cell_stride];
    const size_t width = cluster->cell_stride * sizeof *row;
    if (width <= ROW_LINES * (size_t)LINE)
        lines_fetch(row, width);
    else
        lines_fetch(&row[FIT_FUNCTION + function], sizeof *row);
}

/* All jobs of the request where they are few, else the one. */
static inline void fetch_jobs(const struct platform *platform, uint32_t job)
{
    const size_t width = platform->stride * sizeof *platform->jobs;
    if (width <= ROW_LINES * (size_t)LINE)
        lines_fetch(&platform->jobs[job & ~(platform->stride - 1)], width);
    else
        lines_fetch(&platform->jobs[job], sizeof *platform->jobs);
}

/* All that start and end of the batch look at of which the batch tells where it is. */
static inline void fetch_of_batch(const struct platform *platform, const struct batch *batch)
{
    const struct cluster *cluster = &platform->cluster;
    if (batch->jobs == 0)
        return;
    lines_fetch(&cluster->containers[batch->container], LINE);
    fetch_jobs(platform, batch->first_job);
    lines_fetch(job_request(platform, batch->first_job), sizeof *platform->requests);
    lines_fetch(&cluster->invokers[batch->invoker], sizeof *cluster->invokers);
    fetch_cells(cluster, batch->invoker, batch_function(platform, batch));
    if (batch->gpu != SIM_NONE) {
        lines_fetch(&cluster->gpus[batch->gpu], sizeof *cluster->gpus);
        lines_fetch(&platform->gpu_work[batch->gpu], WORK_LINES * (size_t)LINE);
    }
}

static inline void fetch_idle(const struct cluster *cluster, uint32_t invoker, uint32_t function)
{
    const uint32_t idle = cluster_warm(cluster, invoker, function)->idle_head;
    if (idle != SIM_NONE)
        lines_fetch(&cluster->containers[idle], LINE);
}

/* The idle containers that the next stages find where this one ends. */
static inline void fetch_successors(const struct platform *platform, const struct batch *batch)
{
    if (batch->jobs == 0)
        return;
    const struct queue *queue = &platform->queues[batch->queue];
    const struct application *application = &platform->workload->applications[queue->application];
    const struct stage *stage = &application->stages[queue->stage];
    for (size_t i = 0; i < stage->next_count; i++)
        fetch_idle(&platform->cluster, batch->invoker,
                   application->stages[stage->next[i]].function);
}

/* Of a few: what each step asks for will have come when the next event of the run is handled, and
 * the next step is taken. */
static void lookahead_few(struct platform *platform, const uint16_t *kinds,
                          const uint32_t *subjects, size_t count)
{
    struct lookahead_steps *steps = &platform->steps;
    for (size_t i = 0; i < steps->second_count; i++)
        fetch_successors(platform, &platform->batches[steps->second[i]]);
    for (size_t i = 0; i < steps->first_count; i++) {
        fetch_of_batch(platform, &platform->batches[steps->first[i]]);
        steps->second[i] = steps->first[i];
    }
    steps->second_count = steps->first_count;
    steps->first_count = 0;
    for (size_t i = 0; i < count; i++) {
        fetch_subject(platform, kinds[i], subjects[i]);
        if (is_of_batch(kinds[i]))
            steps->first[steps->first_count++] = subjects[i];
    }
}

/* Of many: all take each step together. */
static void lookahead_many(const struct platform *platform, const uint16_t *kinds,
                           const uint32_t *subjects, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fetch_subject(platform, kinds[i], subjects[i]);
    for (size_t i = 0; i < count; i++)
        if (is_of_batch(kinds[i]))
            fetch_of_batch(platform, &platform->batches[subjects[i]]);
    for (size_t i = 0; i < count && platform->stride > 1; i++)
        if (is_of_batch(kinds[i]))
            fetch_successors(platform, &platform->batches[subjects[i]]);
}

void lookahead(struct platform *platform)
{
    if (platform->running_batches < BATCHES_FEW)
        return;
    uint16_t kinds[CALENDAR_NEAR_MOST];
    uint32_t subjects[CALENDAR_NEAR_MOST];
    const struct lookahead_steps *steps = &platform->steps;
    const size_t count = calendar_near(platform->calendar, kinds, subjects);
    if (count > CALENDAR_NEAR_FEW)
        lookahead_many(platform, kinds, subjects, count);
    else if (count + steps->first_count + steps->second_count > 0)
        lookahead_few(platform, kinds, subjects, count);
}

void lookahead_dispatch(const struct platform *platform, uint32_t function,
                        const struct placement *placement)
{
    const struct cluster *cluster = &platform->cluster;
    if (platform->running_batches < BATCHES_FEW)
        return;
    if (placement->container != SIM_NONE)
        lines_fetch(&cluster->containers[placement->container], LINE);
    fetch_cells(cluster, placement->invoker, function);
    if (placement->gpu != SIM_NONE)
        lines_fetch(&platform->gpu_work[placement->gpu], WORK_LINES * (size_t)LINE);
}
