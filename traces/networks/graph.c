#include "traces/networks/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/array.h"
#include "traces/networks/graph_builder.h"

enum { NESTING_LIMIT = 8, REPEAT_LIMIT = 1024, STEP_LIMIT = 20000 };

static const char *const layer_keys[] = {"block", "with", "repeat", "name", "from", NULL};

/* ---- Names ----------------------------------------------------------------------------------- */

static const struct label *find_label(const struct builder *b, const char *name)
{
    for (size_t i = b->label_count; i > 0; i--)
        if (strcmp(b->labels[i - 1].name, name) == 0)
            return &b->labels[i - 1];
    return NULL;
}

static bool join_name(const struct scope *scope, const struct json_value *at, const char *own,
                      char full[static NAME_LIMIT], struct error *error)
{
    int length = snprintf(full, NAME_LIMIT, "%s%s", scope->prefix, own);
    if (length < 0 || length >= NAME_LIMIT)
        return json_fault(at, error, "its full name is longer than %d characters; shorten it",
                          NAME_LIMIT - 1);
    return true;
}

/* Lets later layers of the scope refer to `node` by the name `own`. An existing name is
 * an error. */
static bool add_label(struct builder *b, const struct scope *scope, const struct json_value *at,
                      const char *own, size_t node)
{
    char full[NAME_LIMIT];
    if (!join_name(scope, at, own, full, b->error))
        return false;
    if (find_label(b, full) != NULL)
        return json_fault(at, b->error, "the name \"%s\" is taken by an earlier layer", own);
    if (!array_reserve(&b->labels, &b->label_room, b->label_count + 1, sizeof *b->labels))
        return graph_out_of_memory(b);
    char *copy = strdup(full);
    if (copy == NULL)
        return graph_out_of_memory(b);
    struct label *label = &b->labels[b->label_count++];
    label->name = copy;
    label->node = node;
    return true;
}

/* True if the current layer or a later one of the same list has the name. */
static bool comes_later(const struct scope *scope, const char *name)
{
    const cJSON *layer = NULL;
    cJSON_ArrayForEach(layer, scope->list->node)
    {
        const cJSON *own = cJSON_GetObjectItemCaseSensitive(layer, "name");
        if (cJSON_IsString(own) && strcmp(own->valuestring, name) == 0)
            return true;
    }
    return false;
}

static bool resolve(struct builder *b, const struct scope *scope, const struct json_value *at,
                    size_t *node)
{
    char full[NAME_LIMIT];
    const char *name = json_as_string(at, b->error);
    if (name == NULL || !join_name(scope, at, name, full, b->error))
        return false;
    const struct label *label = find_label(b, full);
    if (label != NULL) {
        *node = label->node;
        return true;
    }
    if (comes_later(scope, name))
        return json_fault(at, b->error,
                          "\"%s\" comes later; a layer takes earlier ones only, so that there is "
                          "no cycle",
                          name);
    return json_fault(at, b->error, "\"%s\" is no earlier layer here", name);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static struct graph_node *add_node(struct builder *b, const char *name, const char *place)
{
    struct graph *graph = b->graph;
    if (!array_reserve(&graph->nodes, &b->node_room, graph->node_count + 1, sizeof *graph->nodes))
        return NULL;
    struct graph_node *node = &graph->nodes[graph->node_count];
    *node = (struct graph_node){.name = strdup(name), .place = strdup(place)};
    graph->node_count++;
    return node->name == NULL || node->place == NULL ? NULL : node;
}

/* The inputs of a layer or of a use of a block: those that "from" names, otherwise the previous
 * layer. The caller frees them. */
static bool read_from(struct builder *b, const struct scope *scope, const struct json_value *layer,
                      size_t **inputs, size_t *count)
{
    struct json_value from;
    *inputs = calloc(GRAPH_INPUT_LIMIT, sizeof **inputs);
    *count = 1;
    if (*inputs == NULL)
        return graph_out_of_memory(b);
    if (!json_child(layer, "from", &from)) {
        if (!scope->has_last)
            return json_fault(layer, b->error,
                              "has no layer before it; name its input with \"from\"");
        (*inputs)[0] = scope->last;
        return true;
    }
    if (!cJSON_IsArray(from.node))
        return resolve(b, scope, &from, &(*inputs)[0]);
    if (!json_is_array(&from, 1, GRAPH_INPUT_LIMIT, b->error))
        return false;
    *count = json_size(&from);
    for (size_t i = 0; i < *count; i++) {
        struct json_value entry = json_entry(&from, i);
        if (!resolve(b, scope, &entry, &(*inputs)[i]))
            return false;
    }
    return true;
}

static bool read_kind(struct builder *b, const struct json_value *layer, enum graph_kind *kind)
{
    struct json_value op;
    const char *nearest = NULL;
    if (!json_child(layer, "op", &op))
        return json_fault(layer, b->error, "has neither \"op\" nor \"block\"");
    const char *name = json_as_string(&op, b->error);
    if (name == NULL)
        return false;
    *kind = graph_kind_find(name, &nearest);
    if (*kind != GRAPH_KINDS)
        return true;
    return json_fault(&op, b->error, "\"%s\" is no kind of layer%s%s%s", name,
                      nearest == NULL ? "; traces/capture/README.md lists them"
                                      : "; did you mean \"",
                      nearest == NULL ? "" : nearest, nearest == NULL ? "" : "\"?");
}

static bool name_layer(struct builder *b, struct scope *scope, const struct json_value *layer,
                       const char *fallback, char full[static NAME_LIMIT])
{
    struct json_value name;
    char own[64];
    (void)snprintf(own, sizeof own, "%.40s#%zu", fallback, b->graph->node_count);
    if (!json_child(layer, "name", &name))
        return join_name(scope, layer, own, full, b->error);
    const char *given = json_as_string(&name, b->error);
    if (given == NULL)
        return false;
    if (given[0] == '\0' || strpbrk(given, ".#$ ") != NULL)
        return json_fault(&name, b->error, "is \"%s\"; a name has letters, digits, _ and -", given);
    return join_name(scope, &name, given, full, b->error);
}

static bool expand_op(struct builder *b, struct scope *scope, const struct json_value *layer)
{
    enum graph_kind kind = GRAPH_KINDS;
    char full[NAME_LIMIT];
    struct json_value name;
    struct graph_attributes attributes;
    size_t *inputs = NULL;
    size_t count = 0;
    if (!read_kind(b, layer, &kind) || !graph_kind_read(kind, layer, &attributes, b->error) ||
        !name_layer(b, scope, layer, graph_kind_name(kind), full))
        return false;
    if (b->graph->node_count == GRAPH_NODE_LIMIT)
        return json_fault(layer, b->error, "the network has more than %d layers", GRAPH_NODE_LIMIT);
    if (!read_from(b, scope, layer, &inputs, &count)) {
        free(inputs);
        return false;
    }
    struct graph_node *node = add_node(b, full, layer->path);
    if (node == NULL) {
        free(inputs);
        return graph_out_of_memory(b);
    }
    node->kind = kind;
    node->attributes = attributes;
    node->inputs = inputs;
    node->input_count = count;
    scope->last = b->graph->node_count - 1;
    scope->has_last = true;
    if (!graph_infer_node(b->graph, node, b->error))
        return false;
    return !json_child(layer, "name", &name) ||
           add_label(b, scope, &name, name.node->valuestring, scope->last);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static bool expand_layers(struct builder *b, struct scope *scope, const struct json_value *list);

static bool find_block(struct builder *b, const struct scope *scope, const struct json_value *use,
                       struct json_value *block)
{
    static const char *const keys[] = {"parameters", "inputs", "layers", "note", NULL};
    struct json_value name;
    size_t depth = 0;
    (void)json_child(use, "block", &name);
    const char *wanted = json_as_string(&name, b->error);
    if (wanted == NULL)
        return false;
    for (const struct scope *s = scope; s != NULL; s = s->outer) {
        if (s->block != NULL && strcmp(s->block, wanted) == 0)
            return json_fault(&name, b->error,
                              "block \"%s\" is used inside itself; it would never "
                              "end",
                              wanted);
        depth++;
    }
    if (depth > NESTING_LIMIT)
        return json_fault(&name, b->error, "blocks lie more than %d deep", NESTING_LIMIT);
    if (b->blocks.node == NULL || !json_child(&b->blocks, wanted, block))
        return json_fault(&name, b->error, "\"%s\" is no block of this file", wanted);
    return json_is_object(block, keys, b->error);
}

/* Labels the inputs inside the block: "in", or the names that the block declares. */
static bool label_inputs(struct builder *b, struct scope *inner, const struct json_value *block,
                         const struct json_value *use, const size_t *inputs, size_t count)
{
    struct json_value names;
    if (!json_child(block, "inputs", &names)) {
        if (count != 1)
            return json_fault(use, b->error, "gives %zu inputs to a block of one", count);
        return add_label(b, inner, use, "in", inputs[0]);
    }
    if (!json_is_array(&names, 1, GRAPH_INPUT_LIMIT, b->error))
        return false;
    if (json_size(&names) != count)
        return json_fault(use, b->error, "gives %zu inputs to a block of %zu", count,
                          json_size(&names));
    for (size_t i = 0; i < count; i++) {
        struct json_value entry = json_entry(&names, i);
        const char *name = json_as_string(&entry, b->error);
        if (name == NULL || !add_label(b, inner, &entry, name, inputs[i]))
            return false;
    }
    return true;
}

/* Expands one copy of the block. `full` is the prefix of its layers' names. */
static bool expand_copy(struct builder *b, struct scope *scope, const struct json_value *use,
                        const struct json_value *block, const cJSON *values, const char *full,
                        const size_t *inputs, size_t count)
{
    struct json_value layers;
    struct scope inner = {
        .outer = scope,
        .block = block->node->string,
        .parameters = values,
        .list = &layers,
        .last = inputs[0],
        .has_last = true,
    };
    if (!json_require(block, "layers", &layers, b->error))
        return false;
    int length = snprintf(inner.prefix, sizeof inner.prefix, "%s.", full);
    if (length < 0 || length >= (int)sizeof inner.prefix)
        return json_fault(use, b->error, "its full name is longer than %d characters; shorten it",
                          NAME_LIMIT - 1);
    if (!label_inputs(b, &inner, block, use, inputs, count) || !expand_layers(b, &inner, &layers))
        return false;
    scope->last = inner.last;
    scope->has_last = true;
    return true;
}

/* Expands `repeat` copies. The input of each copy is the previous one. The layers of a repeated
 * block have names like NAME.0.LAYER. */
static bool expand_copies(struct builder *b, struct scope *scope, const struct json_value *use,
                          const struct json_value *block, const cJSON *values, size_t *inputs,
                          size_t count)
{
    char full[NAME_LIMIT];
    char own[NAME_LIMIT + 32];
    struct json_value name;
    int64_t repeat = 1;
    if (!json_integer(use, "repeat", 1, REPEAT_LIMIT, &repeat, b->error) ||
        !name_layer(b, scope, use, block->node->string, full))
        return false;
    if (repeat > 1 && count > 1)
        return json_fault(use, b->error, "repeats a block of %zu inputs; only one can follow on",
                          count);
    for (int64_t i = 0; i < repeat; i++) {
        if (repeat == 1)
            (void)snprintf(own, sizeof own, "%s", full);
        else
            (void)snprintf(own, sizeof own, "%s.%" PRId64, full, i);
        if (!expand_copy(b, scope, use, block, values, own, inputs, count))
            return false;
        inputs[0] = scope->last;
    }
    return !json_child(use, "name", &name) ||
           add_label(b, scope, &name, name.node->valuestring, scope->last);
}

static bool expand_block(struct builder *b, struct scope *scope, const struct json_value *use)
{
    struct json_value block = {.node = NULL};
    size_t *inputs = NULL;
    size_t count = 0;
    if (!json_is_object(use, layer_keys, b->error) || !find_block(b, scope, use, &block) ||
        block.node == NULL)
        return false;
    cJSON *values = graph_bind_parameters(b, &block, use);
    const bool good = values != NULL && read_from(b, scope, use, &inputs, &count) &&
                      expand_copies(b, scope, use, &block, values, inputs, count);
    free(inputs);
    cJSON_Delete(values);
    return good;
}

static bool expand_layer(struct builder *b, struct scope *scope, const struct json_value *layer)
{
    if (!json_is_object(layer, NULL, b->error))
        return false;
    if (++b->steps > STEP_LIMIT)
        return json_fault(layer, b->error, "the network has more than %d layers", GRAPH_NODE_LIMIT);
    struct json_value copy = *layer;
    cJSON *own = cJSON_Duplicate(layer->node, true);
    copy.node = own;
    if (own == NULL)
        return graph_out_of_memory(b);
    bool good = graph_substitute(b, scope, layer, own);
    if (good)
        good = cJSON_GetObjectItemCaseSensitive(own, "block") != NULL
                   ? expand_block(b, scope, &copy)
                   : expand_op(b, scope, &copy);
    cJSON_Delete(own);
    return good;
}

static bool expand_layers(struct builder *b, struct scope *scope, const struct json_value *list)
{
    size_t i = 0;
    if (!json_is_array(list, 1, GRAPH_NODE_LIMIT, b->error))
        return false;
    for (struct json_value v = json_first(list); v.node != NULL; v = json_after(list, &v, ++i))
        if (!expand_layer(b, scope, &v))
            return false;
    return true;
}

/* ---- The network ----------------------------------------------------------------------------- */

/* Reads {"name", "shape": [channels, height, width]} or {"name", "shape": [sequence], "type":
 * "tokens"}. */
static bool read_input(struct builder *b, struct scope *scope, const struct json_value *input)
{
    static const char *const keys[] = {"name", "shape", "type", NULL};
    static const char *const types[] = {"values", "tokens", NULL};
    struct json_value name;
    struct json_value shape;
    int type = 0;
    char full[NAME_LIMIT];
    if (!json_is_object(input, keys, b->error) || !json_require(input, "name", &name, b->error) ||
        !name_layer(b, scope, input, "input", full) ||
        !json_require(input, "shape", &shape, b->error) ||
        !json_is_array(&shape, 1, GRAPH_RANK - 1, b->error) ||
        !json_choice(input, "type", types, &type, b->error))
        return false;
    if (type == 1 && json_size(&shape) != 1)
        return json_fault(&shape, b->error, "tokens have one dimension, the sequence");
    struct graph_node *node = add_node(b, full, input->path);
    if (node == NULL)
        return graph_out_of_memory(b);
    node->kind = GRAPH_INPUT;
    node->tokens = type == 1;
    node->shape = (struct graph_shape){(int)json_size(&shape) + 1, {1}};
    for (size_t d = 0; d < json_size(&shape); d++) {
        struct json_value entry = json_entry(&shape, d);
        if (!json_as_integer(&entry, 1, 1 << 20, &node->shape.dims[d + 1], b->error))
            return false;
    }
    scope->last = b->graph->node_count - 1;
    return graph_infer_node(b->graph, node, b->error) &&
           add_label(b, scope, &name, name.node->valuestring, scope->last);
}

static bool read_inputs(struct builder *b, struct scope *scope, const struct json_value *root)
{
    struct json_value inputs;
    size_t i = 0;
    if (!json_require(root, "inputs", &inputs, b->error) ||
        !json_is_array(&inputs, 1, GRAPH_INPUT_LIMIT, b->error))
        return false;
    for (struct json_value v = json_first(&inputs); v.node != NULL;
         v = json_after(&inputs, &v, ++i))
        if (!read_input(b, scope, &v))
            return false;
    scope->has_last = json_size(&inputs) == 1;
    return true;
}

/* Reads the outputs that the file names. The default is the last layer. */
static bool read_outputs(struct builder *b, struct scope *scope, const struct json_value *root)
{
    struct json_value outputs;
    struct graph *graph = b->graph;
    const bool named = json_child(root, "outputs", &outputs);
    if (named && !json_is_array(&outputs, 1, 64, b->error))
        return false;
    graph->output_count = named ? json_size(&outputs) : 1;
    graph->outputs = calloc(graph->output_count, sizeof *graph->outputs);
    if (graph->outputs == NULL)
        return graph_out_of_memory(b);
    graph->outputs[0] = scope->last;
    for (size_t i = 0; named && i < graph->output_count; i++) {
        struct json_value entry = json_entry(&outputs, i);
        if (!resolve(b, scope, &entry, &graph->outputs[i]))
            return false;
    }
    return true;
}

/* Sets last_use. A layer whose output is unused is an error in the file. */
static bool find_last_uses(struct builder *b)
{
    struct graph *graph = b->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        graph->nodes[i].last_use = i;
        for (size_t k = 0; k < graph->nodes[i].input_count; k++)
            graph->nodes[graph->nodes[i].inputs[k]].last_use = i;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        graph->nodes[graph->outputs[i]].last_use = graph->node_count;
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].last_use == i)
            return error_input(b->error,
                               "%s: %s: no layer takes \"%s\" and it is no output; remove it or "
                               "name it in \"outputs\"",
                               graph->path, graph->nodes[i].place, graph->nodes[i].name);
    return true;
}

static bool read_header(struct builder *b, const struct json_value *root)
{
    static const char *const keys[] = {
        "network", "title",  "source",  "licence",           "note", "inputs",
        "blocks",  "layers", "outputs", "unused_parameters", NULL};
    struct graph *graph = b->graph;
    struct json_value name;
    return json_is_object(root, keys, b->error) && json_require(root, "network", &name, b->error) &&
           json_string(root, "network", &graph->name, b->error) &&
           json_string(root, "title", &graph->title, b->error) &&
           json_string(root, "source", &graph->source, b->error) &&
           json_string(root, "licence", &graph->licence, b->error) &&
           json_integer(root, "unused_parameters", 0, INT64_C(1) << 40, &graph->unused_parameters,
                        b->error);
}

static bool read_network(struct builder *b, const struct json_value *root)
{
    struct json_value layers;
    struct scope scope = {.list = &layers};
    if (!read_header(b, root) || !json_require(root, "layers", &layers, b->error))
        return false;
    if (json_child(root, "blocks", &b->blocks) && !json_is_object(&b->blocks, NULL, b->error))
        return false;
    if (!read_inputs(b, &scope, root) || !expand_layers(b, &scope, &layers) ||
        !read_outputs(b, &scope, root) || !find_last_uses(b))
        return false;
    b->graph->batch = 1;
    graph_sum_counts(b->graph);
    return true;
}

static struct graph *read_document(const char *name, const cJSON *json, struct error *error)
{
    struct error fault = {0};
    struct graph *graph = calloc(1, sizeof *graph);
    struct builder builder = {.graph = graph, .error = error != NULL ? error : &fault};
    if (graph == NULL || (graph->path = strdup(name)) == NULL ||
        (graph->title = strdup("")) == NULL || (graph->source = strdup("")) == NULL ||
        (graph->licence = strdup("")) == NULL) {
        error_run(error, "%s: out of memory", name);
        graph_free(graph);
        return NULL;
    }
    const struct json_value root = json_root(name, json);
    const bool good = read_network(&builder, &root);
    for (size_t i = 0; i < builder.label_count; i++)
        free(builder.labels[i].name);
    free(builder.labels);
    if (good)
        return graph;
    graph_free(graph);
    return NULL;
}

struct graph *graph_parse(const char *text, const char *name, struct error *error)
{
    cJSON *json = json_parse(text, name, error);
    struct graph *graph = json == NULL ? NULL : read_document(name, json, error);
    cJSON_Delete(json);
    return graph;
}

struct graph *graph_load(const char *path, struct error *error)
{
    cJSON *json = json_parse_file(path, error);
    struct graph *graph = json == NULL ? NULL : read_document(path, json, error);
    cJSON_Delete(json);
    return graph;
}

struct graph *graph_load_resized(const char *path, int64_t batch, struct error *error)
{
    struct graph *graph = graph_load(path, error);
    if (graph != NULL && graph_resize(graph, batch, 0, 0, error))
        return graph;
    graph_free(graph);
    return NULL;
}

static int select_network(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot != NULL && strcmp(dot, ".json") == 0;
}

int graph_files(const char *folder, struct dirent ***entries)
{
    return scandir(folder, entries, select_network, alphasort);
}

void graph_free(struct graph *graph)
{
    if (graph == NULL)
        return;
    for (size_t i = 0; i < graph->node_count; i++) {
        free(graph->nodes[i].name);
        free(graph->nodes[i].place);
        free(graph->nodes[i].inputs);
    }
    free(graph->nodes);
    free(graph->outputs);
    free(graph->path);
    free(graph->name);
    free(graph->title);
    free(graph->source);
    free(graph->licence);
    free(graph);
}
