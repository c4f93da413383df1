#include "sched/headway/admission.h"

#include <math.h>

struct arrival {
    sim_time_t time;
    uint32_t application;
};

struct application_load {
    double credit;   /* admitted fraction minus admitted requests, so far */
    double fraction; /* x_a */
    uint32_t recent; /* arrivals in the window */
    double load;     /* if all were admitted */
};

struct admission {
    const struct workload *workload;
    struct admission_settings settings;
    struct arrival window[ADMISSION_WINDOW]; /* a ring */
    uint64_t arrivals;
    struct application_load *applications; /* by application */
    double limit;
    double load;
};

struct admission *admission_create(struct arena *arena, const struct workload *workload,
                                   const struct admission_settings *settings)
{
    struct admission *admission = arena_allocate(arena, 1, sizeof *admission);
    admission->workload = workload;
    admission->settings = *settings;
    admission->limit = settings->start;
    admission->applications =
        arena_allocate(arena, workload->application_count, sizeof *admission->applications);
    for (size_t a = 0; a < workload->application_count; a++)
        admission->applications[a].fraction = 1;
    return admission;
}

void admission_arrive(struct admission *admission, uint32_t application, sim_time_t now)
{
    struct arrival *slot = &admission->window[admission->arrivals % ADMISSION_WINDOW];
    if (admission->arrivals >= ADMISSION_WINDOW)
        admission->applications[slot->application].recent--;
    *slot = (struct arrival){now, application};
    admission->applications[application].recent++;
    admission->arrivals++;
}

/* Arrivals per ns, of all applications; 0 while two arrivals are not known. */
static double total_rate(const struct admission *admission)
{
    if (admission->arrivals < 2)
        return 0;
    const uint64_t last = admission->arrivals - 1;
    const uint64_t known =
        admission->arrivals < ADMISSION_WINDOW ? admission->arrivals : ADMISSION_WINDOW;
    const sim_time_t from = admission->window[(last + 1 - known) % ADMISSION_WINDOW].time;
    const sim_time_t span = admission->window[last % ADMISSION_WINDOW].time - from;
    return (double)(known - 1) / (double)(span > 0 ? span : 1);
}

static double share_of(const struct admission *admission, size_t application)
{
    const uint64_t known =
        admission->arrivals < ADMISSION_WINDOW ? admission->arrivals : ADMISSION_WINDOW;
    const double seen = (double)admission->applications[application].recent / (double)known;
    return 0.5 * (seen + admission->workload->applications[application].weight);
}

double admission_interval(const struct admission *admission, uint32_t application)
{
    const double rate = total_rate(admission);
    return rate > 0 ? 1 / (rate * share_of(admission, application)) : (double)INFINITY;
}

/* Lowers the fractions, in descending order of load per request, until `excess` is gone. */
static void shed_efficient(struct admission *admission, double excess)
{
    const size_t count = admission->workload->application_count;
    while (excess > 0) {
        size_t heaviest = count;
        double most = 0;
        for (size_t a = 0; a < count; a++) {
            const struct application_load *own = &admission->applications[a];
            const double each = own->load / share_of(admission, a);
            if (own->fraction >= 1 && own->load > 0 && each > most) {
                heaviest = a;
                most = each;
            }
        }
        if (heaviest == count)
            return;
        struct application_load *own = &admission->applications[heaviest];
        own->fraction = excess < own->load ? 1 - excess / own->load : 0;
        excess -= own->load;
    }
}

void admission_balance(struct admission *admission, const double *work)
{
    const size_t count = admission->workload->application_count;
    const double rate = total_rate(admission);
    admission->load = 0;
    for (size_t a = 0; a < count; a++) {
        struct application_load *own = &admission->applications[a];
        own->fraction = 1;
        own->load = rate * share_of(admission, a) * work[a];
        admission->load += own->load;
    }
    if (admission->load <= admission->limit)
        return;
    if (admission->settings.shedding == SHEDDING_EFFICIENT)
        shed_efficient(admission, admission->load - admission->limit);
    else
        for (size_t a = 0; a < count; a++)
            admission->applications[a].fraction = admission->limit / admission->load;
}

bool admission_admit(struct admission *admission, uint32_t application, bool shed)
{
    struct application_load *own = &admission->applications[application];
    if (!shed || own->fraction >= 1) {
        own->credit = 0; /* what was admitted without need counts neither way */
        return true;
    }
    own->credit += own->fraction;
    if (own->credit < 1)
        return false;
    own->credit -= 1;
    return true;
}

void admission_outcome(struct admission *admission, bool hit)
{
    const struct admission_settings *settings = &admission->settings;
    admission->limit +=
        hit ? settings->step * settings->misses / (1 - settings->misses) : -settings->step;
    if (admission->limit < settings->least)
        admission->limit = settings->least;
    if (admission->limit > settings->most)
        admission->limit = settings->most;
}

double admission_limit(const struct admission *admission)
{
    return admission->limit;
}

double admission_load(const struct admission *admission)
{
    return admission->load;
}

double admission_fraction(const struct admission *admission, uint32_t application)
{
    return admission->applications[application].fraction;
}
