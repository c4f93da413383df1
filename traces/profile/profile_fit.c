#include "traces/profile/profile_fit.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"

static const double COEFFICIENT_LIMIT = 1e9;
static const double ERROR_LIMIT = 1e6;
static const double LEAST_PART = 1e-4; /* smallest valid fraction of a GPU in `parts` */

/* The first is also the name of older profiles for the second. */
static const char *const error_keys[] = {"expected_error", "expected_error_50",
                                         "expected_error_90"};
enum { ERROR_KEYS = PROFILE_QUANTILES + 1 };

static enum profile_quantile quantile_of(int key)
{
    return key == ERROR_KEYS - 1 ? PROFILE_ERROR_90 : PROFILE_ERROR_50;
}

/* ---- Laws ------------------------------------------------------------------------------------ */

static bool read_range(const struct json_value *law, const char *key, int most, int range[2],
                       struct error *error)
{
    struct json_value array;
    int64_t bounds[2] = {0, 0};
    if (!json_require(law, key, &array, error) || !json_is_array(&array, 2, 2, error))
        return false;
    for (size_t i = 0; i < 2; i++) {
        struct json_value entry = json_entry(&array, i);
        if (!json_as_integer(&entry, i == 0 ? 1 : bounds[0], most, &bounds[i], error))
            return false;
        range[i] = (int)bounds[i];
    }
    return true;
}

static bool read_parts(const struct json_value *law, struct profile_law *extension,
                       struct error *error)
{
    const size_t count = (size_t)extension->unit;
    struct json_value array;
    if (!json_child(law, "parts", &array))
        return true;
    if (!json_is_array(&array, count, count, error))
        return false;
    extension->parts = arena_allocate(law->arena, count, sizeof *extension->parts);
    for (size_t i = 0; i < count; i++) {
        const struct json_value entry = json_entry(&array, i);
        const double least = i == 0 ? LEAST_PART : extension->parts[i - 1];
        if (!json_as_number(&entry, least, 1, &extension->parts[i], error))
            return false;
    }
    return true;
}

static bool read_law(const struct json_value *law, int unit, struct profile_law *extension,
                     struct error *error)
{
    enum { OTHERS = 3 + ERROR_KEYS };
    const char *keys[LAW_COEFFICIENTS + OTHERS + 1] = {"batch", "vgpu", "parts"};
    memcpy(&keys[3], error_keys, sizeof error_keys);
    memcpy(&keys[OTHERS], latency_coefficient_names, sizeof latency_coefficient_names);
    extension->unit = unit;
    extension->expected_errors[PROFILE_ERROR_50] = extension->expected_errors[PROFILE_ERROR_90] =
        NAN;
    if (!json_is_object(law, keys, error))
        return false;
    for (int i = 0; i < ERROR_KEYS; i++)
        if (!json_number(law, error_keys[i], 0, ERROR_LIMIT,
                         &extension->expected_errors[quantile_of(i)], error))
            return false;
    for (size_t i = 0; i < LAW_COEFFICIENTS; i++) {
        struct json_value coefficient;
        if (!json_require(law, latency_coefficient_names[i], &coefficient, error) ||
            !json_as_number(&coefficient, i == LAW_KINK ? 1 : 0,
                            i == LAW_SHARE_EXPONENT ? 2 : COEFFICIENT_LIMIT, &extension->law.k[i],
                            error))
            return false;
    }
    return read_range(law, "batch", UINT16_MAX, extension->batch, error) &&
           read_range(law, "vgpu", unit, extension->vgpu, error) &&
           read_parts(law, extension, error);
}

static bool read_laws(const struct json_value *value, int unit, struct profile_function *function,
                      struct error *error)
{
    struct json_value law;
    if (!json_child(value, "law", &law))
        return true;
    const bool several = cJSON_IsArray(law.node);
    if (several && !json_is_array(&law, function->vcpu.count, function->vcpu.count, error))
        return false;
    const size_t count = several ? function->vcpu.count : 1;
    function->extension = arena_allocate(value->arena, count, sizeof *function->extension);
    function->extension_count = count;
    if (!several)
        return read_law(&law, unit, function->extension, error);
    for (struct json_value v = {0}; json_next(&law, &v);)
        if (!read_law(&v, unit, &function->extension[v.index], error))
            return false;
    return true;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static bool has_length(const struct json_value *array, size_t count, const char *axis,
                       struct error *error)
{
    if (!cJSON_IsArray(array->node) || json_size(array) != count)
        return json_fault(array, error, "must be an array of %zu entries, one for each of grid.%s",
                          count, axis);
    return true;
}

/* Reads the row of one batch and vCPU count; `cell` is the index of its first cell. */
typedef bool read_row(const struct json_value *row, const struct profile_function *function,
                      size_t cell, void *into, struct error *error);

static bool read_sources(const struct json_value *row, const struct profile_function *function,
                         size_t cell, void *into, struct error *error)
{
    static const char letters[] = {PROFILE_MEASURED, PROFILE_INTERPOLATED, PROFILE_EXTRAPOLATED,
                                   PROFILE_NONE, '\0'};
    const char *text = json_as_string(row, error);
    if (text == NULL)
        return false;
    if (strlen(text) != function->vgpu.count || strspn(text, letters) != function->vgpu.count)
        return json_fault(row, error,
                          "must have a letter for each of the %zu entries of grid.vgpu: m "
                          "(measured), i (interpolated), x (extrapolated) or - (null)",
                          function->vgpu.count);
    for (size_t i = 0; i < function->vgpu.count; i++)
        if ((text[i] == PROFILE_NONE) != isnan(function->latency_ms[cell + i]))
            return json_fault(row, error,
                              "letter %zu is '%c', and latency_ms there is %s; '-' and null go "
                              "together",
                              i + 1, text[i], text[i] == PROFILE_NONE ? "a number" : "null");
    memcpy((char *)into + cell, text, function->vgpu.count);
    return true;
}

static bool read_errors(const struct json_value *row, const struct profile_function *function,
                        size_t cell, void *into, struct error *error)
{
    double *errors = (double *)into + cell;
    if (!has_length(row, function->vgpu.count, "vgpu", error))
        return false;
    for (struct json_value v = {0}; json_next(row, &v);) {
        errors[v.index] = NAN;
        if (!cJSON_IsNull(v.node) && !json_as_number(&v, 0, ERROR_LIMIT, &errors[v.index], error))
            return false;
    }
    return true;
}

/* Reads one entry of `size` bytes for each cell into a new array. An absent key leaves NULL. */
static bool read_cells(const struct json_value *value, const char *key,
                       const struct profile_function *function, read_row *read, size_t size,
                       void **into, struct error *error)
{
    const size_t count = function->batch.count * function->vcpu.count * function->vgpu.count;
    struct json_value cells;
    if (!json_child(value, key, &cells))
        return true;
    *into = arena_allocate(value->arena, count, size);
    if (!has_length(&cells, function->batch.count, "batch", error))
        return false;
    for (struct json_value plane = {0}; json_next(&cells, &plane);) {
        if (!has_length(&plane, function->vcpu.count, "vcpu", error))
            return false;
        for (struct json_value row = {0}; json_next(&plane, &row);)
            if (!read(&row, function,
                      (plane.index * function->vcpu.count + row.index) * function->vgpu.count,
                      *into, error))
                return false;
    }
    return true;
}

bool profile_fit_read(const struct json_value *value, int unit, struct profile_function *function,
                      struct error *error)
{
    void *into = NULL;
    bool fine = read_laws(value, unit, function, error) &&
                read_cells(value, "source", function, read_sources, 1, &into, error);
    function->sources = into;
    for (int i = 0; fine && i < ERROR_KEYS; i++) {
        into = function->expected_errors[quantile_of(i)];
        fine =
            read_cells(value, error_keys[i], function, read_errors, sizeof(double), &into, error);
        function->expected_errors[quantile_of(i)] = into;
    }
    return fine;
}
