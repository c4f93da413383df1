/* Parameters of blocks: substitutes the value for "$width*4" in a layer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/networks/graph_builder.h"

bool graph_out_of_memory(const struct builder *b)
{
    return error_run(b->error, "%s: out of memory", b->graph->path);
}

/* Evaluates "$width", "$width*4" or "$width/2" in whole numbers. NULL with an error. The caller
 * owns the result. */
static cJSON *evaluate(struct builder *b, const struct scope *scope, const struct json_value *at)
{
    const char *text = at->node->valuestring;
    char name[NAME_LIMIT];
    const size_t length = strcspn(text + 1, "*/");
    const char operation = text[1 + length];
    (void)snprintf(name, sizeof name, "%.*s", (int)(length < NAME_LIMIT ? length : NAME_LIMIT - 1),
                   text + 1);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(scope->parameters, name);
    if (value == NULL) {
        json_fault(at, b->error, "\"$%s\" is no parameter of this block", name);
        return NULL;
    }
    if (operation == '\0')
        return cJSON_Duplicate(value, true);
    char *end = NULL;
    const long operand = strtol(text + 2 + length, &end, 10);
    const double number = cJSON_IsNumber(value) ? value->valuedouble : -1;
    if (end == text + 2 + length || *end != '\0' || operand < 1 || operand > 1 << 20 ||
        number < 0 || number > 1 << 20) {
        json_fault(at, b->error,
                   "\"%s\" cannot be computed; write $name, $name*NUMBER or $name/NUMBER of whole "
                   "numbers",
                   text);
        return NULL;
    }
    if (operation == '*')
        return cJSON_CreateNumber(number * (double)operand);
    if ((long)number % operand != 0) {
        json_fault(at, b->error, "\"%s\" is no whole number: %g / %ld", text, number, operand);
        return NULL;
    }
    return cJSON_CreateNumber(number / (double)operand);
}

static bool substitute_member(struct builder *b, const struct scope *scope,
                              const struct json_value *at, cJSON *parent, cJSON *node)
{
    if (cJSON_IsArray(node) || cJSON_IsObject(node))
        return graph_substitute(b, scope, at, node);
    if (!cJSON_IsString(node) || node->valuestring[0] != '$')
        return true;
    cJSON *value = evaluate(b, scope, at);
    if (value == NULL)
        return b->error->kind != ERROR_NONE ? false : graph_out_of_memory(b);
    if (cJSON_IsArray(parent))
        return cJSON_ReplaceItemViaPointer(parent, node, value);
    return cJSON_ReplaceItemInObjectCaseSensitive(parent, node->string, value);
}

/* Replaces every "$…" below `parent`, a copy of the value at `at`. */
bool graph_substitute(struct builder *b, const struct scope *scope, const struct json_value *at,
                      cJSON *parent)
{
    size_t i = 0;
    struct json_value copy = *at;
    copy.node = parent;
    for (struct json_value v = json_first(&copy); v.node != NULL;) {
        struct json_value next = json_after(&copy, &v, ++i);
        if (!substitute_member(b, scope, &v, parent, (cJSON *)v.node))
            return false;
        v = next;
    }
    return true;
}

cJSON *graph_bind_parameters(struct builder *b, const struct json_value *block,
                             const struct json_value *use)
{
    struct json_value declared;
    struct json_value given;
    const bool has_declared = json_child(block, "parameters", &declared);
    const bool has_given = json_child(use, "with", &given);
    if ((has_declared && !json_is_object(&declared, NULL, b->error)) ||
        (has_given && !json_is_object(&given, NULL, b->error)))
        return NULL;
    cJSON *values = has_declared ? cJSON_Duplicate(declared.node, true) : cJSON_CreateObject();
    const cJSON *value = NULL;
    const cJSON *list = has_given ? given.node : NULL;
    cJSON_ArrayForEach(value, list)
    {
        cJSON *copy = cJSON_Duplicate(value, true);
        if (cJSON_GetObjectItemCaseSensitive(values, value->string) == NULL) {
            json_fault(&given, b->error, "unknown key \"%s\"; the block has no such parameter",
                       value->string);
            cJSON_Delete(copy);
            cJSON_Delete(values);
            return NULL;
        }
        if (!cJSON_ReplaceItemInObjectCaseSensitive(values, value->string, copy))
            cJSON_Delete(copy);
    }
    cJSON_ArrayForEach(value, values)
    {
        if (cJSON_IsNull(value)) {
            json_fault(use, b->error, "gives no \"%s\", which the block needs", value->string);
            cJSON_Delete(values);
            return NULL;
        }
    }
    return values;
}
