#include "sched/synergy/profile.h"

#include <math.h>

/* Two points are alike if their speeds differ by less than this part of the higher one's. */
#define ALIKE 0.1

struct points {
    const struct training_models *models;
    const double *truth; /* the matrix of the model at hand */
    bool *measured;      /* by row */
};

/* The last number of vCPUs that is not above `vcpus`; the first if all are. */
static size_t row_of(const struct training_models *models, double vcpus)
{
    size_t row = 0;
    while (row + 1 < models->vcpu_count && models->vcpus[row + 1] <= vcpus)
        row++;
    return row;
}

/* True speed of a row, with full host memory. */
static double speed_of(const struct points *points, size_t row)
{
    return points->truth[(row + 1) * points->models->memory_count - 1];
}

/* Marks the share, then the points of the authors' profiler, `left` in all. */
static void measure(const struct points *points, double share, uint32_t left)
{
    const struct training_models *models = points->models;
    size_t row = models->vcpu_count - 1;
    double last = speed_of(points, row); /* so that the second point is at half the vCPUs */
    for (size_t i = 0; i < models->vcpu_count; i++)
        points->measured[i] = false;
    points->measured[row_of(models, share)] = true;
    for (left--; points->measured[row] || left-- > 0;) {
        const double speed = speed_of(points, row);
        const bool alike = fabs(last - speed) < ALIKE * last;
        points->measured[row] = true;
        if (row == 0 || (alike && models->vcpus[row] < 2 * models->vcpus[0]))
            return;
        row = alike ? row_of(models, models->vcpus[row] / 2) : row - 1;
        last = speed;
    }
}

/* Estimated speed of a row with full host memory. */
static double estimate(const struct points *points, size_t row)
{
    const double *vcpus = points->models->vcpus;
    size_t low = row + 1;
    size_t high = row;
    while (low > 0 && !points->measured[low - 1])
        low--;
    while (high < points->models->vcpu_count && !points->measured[high])
        high++;
    if (high == points->models->vcpu_count)
        return speed_of(points, low - 1);
    if (low == 0)
        return speed_of(points, high) * vcpus[row] / vcpus[high];
    if (--low == high)
        return speed_of(points, row);
    return speed_of(points, low) + (speed_of(points, high) - speed_of(points, low)) *
                                       (vcpus[row] - vcpus[low]) / (vcpus[high] - vcpus[low]);
}

/* The estimated matrix, and the demand that follows from it. */
static void plan(struct arena *arena, const struct points *points, struct training_model *model)
{
    const struct training_models *models = points->models;
    const size_t columns = models->memory_count;
    const double *most = &points->truth[(models->vcpu_count - 1) * columns];
    model->throughput = arena_allocate(arena, models->vcpu_count * columns, sizeof(double));
    model->speedup = 0;
    for (size_t row = 0; row < models->vcpu_count; row++)
        for (size_t column = 0; column < columns; column++) {
            const double speed = fmin(estimate(points, row), most[column]);
            model->throughput[row * columns + column] = speed;
            if (speed > model->speedup) {
                model->speedup = speed;
                model->demand_vcpus = models->vcpus[row];
                model->demand_gb = models->memory_gb[column];
            }
        }
}

const struct training_models *synergy_profile(struct arena *arena,
                                              const struct training_models *models, double vcpus,
                                              uint32_t points)
{
    struct training_models *planned = arena_allocate(arena, 1, sizeof *planned);
    struct points own = {.models = models};
    *planned = *models;
    planned->models = arena_allocate(arena, models->count, sizeof *planned->models);
    own.measured = arena_allocate(arena, models->vcpu_count, sizeof *own.measured);
    for (size_t m = 0; m < models->count; m++) {
        planned->models[m] = models->models[m];
        own.truth = models->models[m].throughput;
        if (own.truth == NULL)
            continue;
        measure(&own, vcpus, points);
        plan(arena, &own, &planned->models[m]);
    }
    arena_release(arena, own.measured);
    return planned;
}
