#include <math.h>

#include "traces/profile/profile.h"

static const struct profile_function *function_choose(const struct profile *profile,
                                                      const char *wanted, struct error *error)
{
    const struct profile_function *found = profile_find(profile, wanted);
    if (found != NULL)
        return found;
    const struct profile_function *all = profile->functions;
    const char *near = error_nearest_of(wanted, &all[0].name, profile->function_count, sizeof *all);
    error_input(error, "%s: --function: no function '%s'; %s%s%s", profile->path, wanted,
                near != NULL ? "did you mean '" : "its first is '",
                near != NULL ? near : all[0].name, "'?");
    return NULL;
}

/* Checks that the profile answers for the configuration: on each axis from the least to the most of
 * its grid, and of the law where that is wider. */
static bool axes_check(const struct profile *profile, const struct profile_function *function,
                       int batch, int vcpu, int vgpu, struct error *error)
{
    const struct profile_law *law = function->extension;
    const struct {
        const char *option;
        int value;
        const struct profile_axis *axis;
        const int *extended; /* NULL: no law */
    } axes[] = {{"--batch", batch, &function->batch, law == NULL ? NULL : law->batch},
                {"--vgpu", vgpu, &function->vgpu, law == NULL ? NULL : law->vgpu},
                {"--vcpu", vcpu, &function->vcpu, NULL}};
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        const struct profile_axis *axis = axes[i].axis;
        const int *extended = axes[i].extended;
        int least = axis->values[0], most = axis->values[axis->count - 1];
        if (extended != NULL && extended[0] < least)
            least = extended[0];
        if (extended != NULL && extended[1] > most)
            most = extended[1];
        if (axes[i].value < least || axes[i].value > most)
            return error_input(error, "%s: %s has latencies for %s from %d to %d, not %d",
                               profile->path, function->name, axes[i].option, least, most,
                               axes[i].value);
    }
    return true;
}

static const char *source_name(enum profile_source source)
{
    return source == PROFILE_MEASURED       ? "measured"
           : source == PROFILE_INTERPOLATED ? "interpolated"
                                            : "extrapolated";
}

bool profile_predict(const struct profile *profile, const char *name, int batch, int vcpu, int vgpu,
                     struct profile_prediction *prediction, struct error *error)
{
    const struct profile_function *function = function_choose(profile, name, error);
    if (function == NULL)
        return false;
    if (vcpu == 0)
        vcpu = function->vcpu.values[0];
    if (!axes_check(profile, function, batch, vcpu, vgpu, error))
        return false;
    const double ms = profile_latency_ms(function, batch, vcpu, vgpu);
    const struct profile_origin origin = profile_origin_at(function, batch, vcpu, vgpu);
    *prediction = (struct profile_prediction){vcpu, ms, origin, source_name(origin.source)};
    return !isnan(ms) ||
           error_input(error,
                       "%s: %s at batch %d, %d vCPU, %d vGPU did not run, or is next to what "
                       "did not (null)",
                       profile->path, name, batch, vcpu, vgpu);
}
