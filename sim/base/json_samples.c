/* Measured samples in a JSON object. */
#include "sim/base/json.h"

#include <math.h>

#include "sim/base/arena.h"

bool json_samples(const struct json_value *object, double high, struct json_samples *samples,
                  struct error *error)
{
    enum { SAMPLES_LIMIT = 1000000 };
    static const char *const derived[] = {"mean", "mean_ms", "cv"};
    struct json_value array, other;
    if (!json_require(object, "samples_ms", &array, error) ||
        !json_is_array(&array, 1, SAMPLES_LIMIT, error))
        return false;
    for (size_t i = 0; i < 3; i++)
        if (json_child(object, derived[i], &other))
            return json_fault(&other, error, "follows from \"samples_ms\"; remove it");
    samples->values = arena_allocate(object->arena, json_size(&array), sizeof *samples->values);
    double sum = 0;
    for (struct json_value value = {0}; json_next(&array, &value);) {
        if (!json_as_number(&value, 0, high, &samples->values[samples->count], error))
            return false;
        sum += samples->values[samples->count++];
    }
    samples->mean = sum / (double)samples->count;
    double squares = 0;
    for (size_t i = 0; i < samples->count; i++)
        squares += pow(samples->values[i] - samples->mean, 2);
    samples->cv = samples->mean > 0 ? sqrt(squares / (double)samples->count) / samples->mean : 0;
    return true;
}
