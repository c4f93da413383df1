#include "sim/platform/load_limit.h"

struct fraction {
    double credit;   /* admitted fraction minus admitted requests, so far */
    double admitted; /* x_a */
};

struct load_limit {
    const struct admission_spec *settings;
    double value;
    size_t count;
    struct fraction fractions[]; /* by application */
};

struct load_limit *load_limit_create(struct arena *arena, size_t count,
                                     const struct admission_spec *settings)
{
    struct load_limit *limit =
        arena_allocate(arena, 1, sizeof(struct load_limit) + count * sizeof(struct fraction));
    limit->settings = settings;
    limit->value = settings->start;
    limit->count = count;
    for (size_t a = 0; a < count; a++)
        limit->fractions[a].admitted = 1;
    return limit;
}

/* Lowers the fractions, in descending order of load per request, until `excess` is gone. */
static void shed_efficient(struct load_limit *limit, const double *share, const double *load,
                           double excess)
{
    while (excess > 0) {
        size_t heaviest = limit->count;
        double most = 0;
        for (size_t a = 0; a < limit->count; a++)
            if (limit->fractions[a].admitted >= 1 && load[a] > 0 && load[a] / share[a] > most) {
                heaviest = a;
                most = load[a] / share[a];
            }
        if (heaviest == limit->count)
            return;
        limit->fractions[heaviest].admitted =
            excess < load[heaviest] ? 1 - excess / load[heaviest] : 0;
        excess -= load[heaviest];
    }
}

/* Gives each application at most the same load. Each round fixes the applications below the level,
 * and what they leave raises it for the others. */
static void shed_max_min(struct load_limit *limit, const double *load)
{
    double level = 0, before = -1;
    while (level > before) {
        double left = limit->value;
        size_t above = 0;
        for (size_t a = 0; a < limit->count; a++) {
            above += load[a] > level;
            left -= load[a] > level ? 0 : load[a];
        }
        before = level;
        if (above > 0 && left / (double)above > level)
            level = left / (double)above;
    }
    for (size_t a = 0; a < limit->count; a++)
        limit->fractions[a].admitted = load[a] > level ? level / load[a] : 1;
}

void load_limit_balance(struct load_limit *limit, const double *share, const double *load)
{
    double total = 0;
    for (size_t a = 0; a < limit->count; a++) {
        limit->fractions[a].admitted = 1;
        total += load[a];
    }
    if (total <= limit->value)
        return;
    if (limit->settings->rate == ADMISSION_EFFICIENT)
        shed_efficient(limit, share, load, total - limit->value);
    else if (limit->settings->rate == ADMISSION_MAX_MIN)
        shed_max_min(limit, load);
    else
        for (size_t a = 0; a < limit->count; a++)
            limit->fractions[a].admitted = limit->value / total;
}

bool load_limit_admit(struct load_limit *limit, uint32_t application, bool shed)
{
    struct fraction *own = &limit->fractions[application];
    if (!shed || own->admitted >= 1) {
        own->credit = 0; /* what was admitted without need counts neither way */
        return true;
    }
    own->credit += own->admitted;
    if (own->credit < 1)
        return false;
    own->credit -= 1;
    return true;
}

void load_limit_outcome(struct load_limit *limit, bool hit)
{
    const struct admission_spec *settings = limit->settings;
    limit->value +=
        hit ? settings->step * settings->misses / (1 - settings->misses) : -settings->step;
    if (limit->value < settings->least)
        limit->value = settings->least;
    if (limit->value > settings->most)
        limit->value = settings->most;
}

double load_limit_value(const struct load_limit *limit)
{
    return limit->value;
}

double load_limit_fraction(const struct load_limit *limit, uint32_t application)
{
    return limit->fractions[application].admitted;
}
