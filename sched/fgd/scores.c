#include <math.h>

#include "sched/fgd/fgd.h"

enum { BEST = 100, MILLI = 1000 };

/* ---- Fragmentation --------------------------------------------------------------------------- */

/* F after the share of the GPUs whose bits are set in `gone`, and these vCPUs, are taken. */
static double fragmented_after(const struct fgd *self, const struct fgd_node *node, uint64_t gone,
                               double share, int64_t micro_vcpus)
{
    struct fragment_gpu gpus[FGD_GPUS_MOST];
    uint32_t count = 0;
    for (uint32_t g = 0; g < node->gpu_count; g++) {
        const struct fgd_gpu *gpu = &node->gpus[g];
        const uint32_t left = gpu->left - ((gone >> g & 1) != 0 ? fgd_parts(gpu, share) : 0);
        if (left > 0)
            gpus[count++] =
                (struct fragment_gpu){(double)left / gpu->whole, gpu->memory_mb, gpu->type};
    }
    struct fragment_node after = node->shares;
    after.gpus = gpus;
    after.gpu_count = count;
    after.vcpus = (double)(node->micro_vcpus - micro_vcpus) / 1e6;
    after.memory_gb = (double)node->kb / (1024.0 * 1024.0);
    return fragmentation_of(&after, self->typical, self->typical_count);
}

double fgd_fragmented(const struct fgd *self, const struct fgd_node *node)
{
    return fragmented_after(self, node, 0, 0, 0);
}

static int gradient(const struct fgd *self, const struct fgd_node *node,
                    const struct fragment_shape *shape, uint64_t gone)
{
    const int64_t grants = shape->gpus > 0 ? shape->gpus : 1;
    const double after =
        fragmented_after(self, node, gone, shape->share, grants * fgd_micro_vcpus(node, shape));
    return (int)floor(BEST / (1 + exp(after - node->fragmented)));
}

/* fgd_score.go: the least growth of F, for a share on its best GPU. */
static int score_fgd(const struct fgd *self, const struct fgd_node *node,
                     const struct fragment_shape *shape, uint16_t *gpu)
{
    uint64_t gone = 0;
    uint32_t missing = shape->gpus;
    int best = FGD_NO_FIT;
    for (uint32_t g = 0; g < node->gpu_count && missing > 0; g++) {
        if (!fgd_gpu_fits(&node->gpus[g], shape))
            continue;
        if (!fgd_is_share(shape)) {
            gone |= UINT64_C(1) << g;
            missing--;
            continue;
        }
        uint32_t like = 0;
        while (node->gpus[like].left != node->gpus[g].left ||
               node->gpus[like].type != node->gpus[g].type ||
               !fgd_gpu_fits(&node->gpus[like], shape))
            like++;
        const int here = like < g ? FGD_NO_FIT : gradient(self, node, shape, UINT64_C(1) << g);
        if (here > best) {
            best = here;
            *gpu = (uint16_t)g;
        }
    }
    return fgd_is_share(shape) ? best : gradient(self, node, shape, gone);
}

/* ---- Baselines ------------------------------------------------------------------------------- */

static int64_t milli_left(const struct fgd_gpu *gpu)
{
    return (int64_t)gpu->left * MILLI / gpu->whole;
}

static int64_t milli_of_node(const struct fgd_node *node)
{
    int64_t sum = 0;
    for (uint32_t g = 0; g < node->gpu_count; g++)
        sum += milli_left(&node->gpus[g]);
    return sum;
}

/* The fullest GPU that fits and is not among `taken`; SIM_NONE: none. */
static uint32_t fullest(const struct fgd_node *node, const struct fragment_shape *shape,
                        uint64_t taken)
{
    uint32_t found = SIM_NONE;
    for (uint32_t g = 0; g < node->gpu_count; g++)
        if ((taken >> g & 1) == 0 && fgd_gpu_fits(&node->gpus[g], shape) &&
            (found == SIM_NONE || node->gpus[g].left < node->gpus[found].left))
            found = g;
    return found;
}

/* Free vCPUs and GPUs, and those asked for, relative to the largest invoker. */
static void normalise(const struct fgd *self, const struct fgd_node *node,
                      const struct fragment_shape *shape, double *left, double *asked)
{
    const int64_t grants = shape->gpus > 0 ? shape->gpus : 1;
    left[0] = (double)node->micro_vcpus / 1e6 / self->most_vcpus;
    left[1] = (double)milli_of_node(node) / MILLI / self->most_gpus;
    asked[0] = (double)(grants * fgd_micro_vcpus(node, shape)) / 1e6 / self->most_vcpus;
    asked[1] = shape->gpus * shape->share / self->most_gpus;
}

static int score_best_fit(const struct fgd *self, const struct fgd_node *node,
                          const struct fragment_shape *shape, uint16_t *gpu)
{
    double left[2], asked[2];
    normalise(self, node, shape, left, asked);
    *gpu = (uint16_t)fullest(node, shape, 0);
    return (int)(BEST * (1 - (left[0] - asked[0]) / 2 - (left[1] - asked[1]) / 2));
}

static int score_dot_product(const struct fgd *self, const struct fgd_node *node,
                             const struct fragment_shape *shape, uint16_t *gpu)
{
    double left[2], asked[2];
    normalise(self, node, shape, left, asked);
    *gpu = (uint16_t)fullest(node, shape, 0);
    return (int)(BEST * (1 - (left[0] * asked[0] + left[1] * asked[1]) / 2));
}

/* gpu_packing_score.go: GPUs in use, then idle ones of a node in use, then those of an idle node.
 */
static int score_packing(const struct fgd *self, const struct fgd_node *node,
                         const struct fragment_shape *shape, uint16_t *gpu)
{
    const int gpus = (int)node->gpu_count;
    int64_t per_cent = 0;
    uint64_t taken = 0;
    int idle = 0, needed = 0;
    if (shape->gpus == 0)
        return 0;
    *gpu = (uint16_t)fullest(node, shape, 0);
    for (int g = 0; g < gpus; g++)
        idle += node->gpus[g].left == node->gpus[g].whole;
    if (idle == gpus)
        return BEST / 3 - gpus > gpus ? BEST / 3 - gpus : gpus;
    for (uint32_t i = 0; i < shape->gpus; i++) {
        const uint32_t g = fullest(node, shape, taken);
        taken |= UINT64_C(1) << g;
        needed += node->gpus[g].left == node->gpus[g].whole;
        per_cent += milli_left(&node->gpus[g]) / 10;
    }
    if (needed > 0)
        return BEST / 2 - needed > BEST / 3 ? BEST / 2 - needed : BEST / 3;
    const int score = BEST - (int)(per_cent / 10);
    return score > BEST / 2 ? score : BEST / 2;
}

/* gpu_clustering_score.go: nodes that have pods of this class alone, then those that have others,
 * too, then empty ones, then the others. */
static int score_clustering(const struct fgd *self, const struct fgd_node *node,
                            const struct fragment_shape *shape, uint16_t *gpu)
{
    if (shape->gpus == 0)
        return 0;
    const int64_t most = (int64_t)self->most_gpus * MILLI;
    const uint32_t class = fgd_is_share(shape) ? 0 : shape->gpus;
    const int base = node->pods[class] > 0 ? (node->classes == 1 ? 3 : 2) : node->classes == 0;
    *gpu = (uint16_t)fullest(node, shape, 0);
    return base * BEST / 4 + (int)(BEST / 4 * (most - milli_of_node(node)) / most);
}

fgd_score *const fgd_scores[FGD_SCORES] = {score_fgd,        NULL,          score_dot_product,
                                           score_clustering, score_packing, score_best_fit};
