#include "workloads/loader_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *load_array(size_t count, size_t size, struct error *error)
{
    void *array = calloc(count == 0 ? 1 : count, size);
    if (array == NULL)
        error_input(error, "out of memory");
    return array;
}

bool load_name(const struct json_value *object, const char *key, char **out, struct error *error)
{
    struct json_value child;
    if (!json_require(object, key, &child, error))
        return false;
    const char *name = json_as_string(&child, error);
    if (name == NULL)
        return false;
    size_t length = strlen(name);
    if (length == 0 || length > NAME_LIMIT)
        return json_fault(&child, error, "has %zu characters, a name has 1..%d", length,
                          NAME_LIMIT);
    return json_string(object, key, out, error);
}

bool load_unknown_name(const struct json_value *value, const char *what, const char *name,
                       const char *const *names, int count, struct error *error)
{
    const char *nearest = error_nearest_name(name, names, count);
    if (nearest != NULL)
        return json_fault(value, error, "\"%s\" is no %s; did you mean \"%s\"?", name, what,
                          nearest);
    char list[512];
    error_list_names(names, count, list, sizeof list);
    return json_fault(value, error, "\"%s\" is no %s; known are %s", name, what,
                      count == 0 ? "none" : list);
}

void hash_finish(struct sha256_ctx *context, char hex[65])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

void hash_bytes(const char *bytes, size_t size, char hex[65])
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, size, (const uint8_t *)bytes);
    hash_finish(&context, hex);
}
