#include "sched/choices/tree.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/json.h"

static const char *const feature_names[] = {
#define NAME(name) #name,
    TREE_FEATURES(NAME)
#undef NAME
};

enum { INDENT = 2, VOTES_MOST = 64 };
enum tree_kind { QUEUE_TREE, CONFIGURATION_TREE };

const struct tree_node *tree_child(const struct tree_node *node, const int64_t *values)
{
    const int64_t value = values[node->feature];
    const bool yes = node->feature == TREE_function
                         ? value < TREE_FUNCTIONS_MOST && (node->functions >> value & 1) != 0
                         : value <= node->most;
    return yes ? node->yes : node->no;
}

const struct tree_node *tree_leaf(const struct tree_node *tree, const int64_t *values)
{
    while (tree->yes != NULL)
        tree = tree_child(tree, values);
    return tree;
}

size_t tree_leaves(const struct tree_node *tree)
{
    return tree->yes == NULL ? 1 : tree_leaves(tree->yes) + tree_leaves(tree->no);
}

size_t tree_depth(const struct tree_node *tree)
{
    if (tree->yes == NULL)
        return 0;
    const size_t yes = tree_depth(tree->yes), no = tree_depth(tree->no);
    return 1 + (yes > no ? yes : no);
}

static bool is_before(const struct tree_candidate *a, const struct tree_candidate *b)
{
    const uint64_t one = (uint64_t)a->leaf->chosen * b->leaf->rows;
    const uint64_t other = (uint64_t)b->leaf->chosen * a->leaf->rows;
    return one != other ? one > other : a->values[TREE_slack] < b->values[TREE_slack];
}

struct tree_candidate *tree_first(struct tree_candidate *candidates, size_t count)
{
    struct tree_candidate *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (!candidates[i].tried && (best == NULL || is_before(&candidates[i], best)))
            best = &candidates[i];
    if (best != NULL)
        best->tried = true;
    return best;
}

const struct tree_vote *tree_serves(const struct tree_node *leaf, bool forced)
{
    size_t v = 0;
    while (forced && v < leaf->vote_count && leaf->votes[v].action.batch == 0)
        v++;
    return v < leaf->vote_count && leaf->votes[v].action.batch > 0 ? &leaf->votes[v] : NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct line {
    char *text; /* without its indent */
    size_t indent;
    unsigned number;
};

struct reader {
    const char *path;
    struct arena *arena;
    const struct workload *workload;
    struct workload
        *named; /* the functions that the file names, in place of a workload's; or NULL */
    struct line *lines;
    size_t count, at;
    struct error *error;
    struct trees *trees;
};

static bool fault(const struct reader *reader, const char *wanted)
{
    const bool ended = reader->at >= reader->count;
    const struct line *line = &reader->lines[ended ? reader->count - 1 : reader->at];
    if (reader->count == 0)
        return error_input(reader->error, "%s: is empty; `esgsim distill` writes trees",
                           reader->path);
    return error_input(reader->error, "%s:%u: %s, not %s%s%s", reader->path, line->number, wanted,
                       ended ? "the end of the file" : "\"", ended ? "" : line->text,
                       ended ? "" : "\"");
}

static bool lines_cut(struct reader *reader, const char *text)
{
    char *rest = arena_text(reader->arena, "%s", text), *line;
    reader->lines = arena_allocate(reader->arena, TREE_LINES_MOST, sizeof *reader->lines);
    for (unsigned number = 1; (line = strsep(&rest, "\n")) != NULL; number++) {
        size_t length = strlen(line);
        while (length > 0 && isspace((unsigned char)line[length - 1]))
            line[--length] = '\0';
        const size_t indent = strspn(line, " ");
        if (line[indent] == '\0' || line[indent] == '#')
            continue;
        if (reader->count == TREE_LINES_MOST)
            return error_input(reader->error, "%s: has more than %d lines", reader->path,
                               TREE_LINES_MOST);
        reader->lines[reader->count++] = (struct line){line + indent, indent, number};
    }
    return true;
}

/* The next line, where it has this indent and begins so; its text after that. NULL: it does not. */
static char *take(struct reader *reader, size_t indent, const char *start)
{
    const size_t length = strlen(start);
    if (reader->at >= reader->count || reader->lines[reader->at].indent != indent ||
        strncmp(reader->lines[reader->at].text, start, length) != 0)
        return NULL;
    return reader->lines[reader->at++].text + length;
}

static bool back(struct reader *reader, const char *wanted)
{
    reader->at--;
    return fault(reader, wanted);
}

/* "a, b" into the bits of these functions. Those that the workload lacks have none: they are never
 * the function of a queue. The text is left as it is, for messages. */
static bool functions_parse(struct reader *reader, const char *list, uint64_t *functions)
{
    char *rest = arena_text(reader->arena, "%s", list), *name;
    *functions = 0;
    while ((name = strsep(&rest, ",")) != NULL) {
        name += strspn(name, " ");
        size_t f = 0;
        while (f < reader->workload->function_count &&
               strcmp(reader->workload->functions[f].name, name) != 0)
            f++;
        if (reader->named != NULL && f == reader->named->function_count && f < TREE_FUNCTIONS_MOST)
            reader->named->functions[reader->named->function_count++].name = name;
        if (f >= TREE_FUNCTIONS_MOST || *name == '\0')
            return back(reader, "a function is wanted, one of the first 64 of the experiment");
        if (f < reader->workload->function_count)
            *functions |= UINT64_C(1) << f;
        else if (reader->trees->unknown == NULL || strstr(reader->trees->unknown, name) == NULL)
            arena_append(reader->arena, &reader->trees->unknown, "%s%s",
                         reader->trees->unknown != NULL ? ", " : "", name);
    }
    return true;
}

/* Reads a number of least..most; false if there is none. sscanf would not notice one too great. */
static bool number_take(const char **at, int64_t least, int64_t most, int64_t *value)
{
    char *end = NULL;
    if (!isdigit((unsigned char)**at) && **at != '-')
        return false;
    errno = 0;
    *value = strtoll(*at, &end, 10);
    if (errno != 0 || end == *at || *value < least || *value > most)
        return false;
    *at = end;
    return true;
}

static bool words_take(const char **at, const char *words)
{
    const size_t length = strlen(words);
    if (strncmp(*at, words, length) != 0)
        return false;
    *at += length;
    return true;
}

static bool test_parse(struct reader *reader, const char *text, struct tree_node *node)
{
    static const char wanted[] = "\"if FEATURE <= NUMBER\" or \"if function is NAME, …\" is wanted";
    if (words_take(&text, "function is ")) {
        node->feature = TREE_function;
        return functions_parse(reader, text, &node->functions);
    }
    const size_t length = strcspn(text, " ");
    size_t f = 0;
    while (f < TREE_function &&
           (strlen(feature_names[f]) != length || strncmp(text, feature_names[f], length) != 0))
        f++;
    const char *at = text + length;
    if (!words_take(&at, " <= ") || !number_take(&at, INT64_MIN, INT64_MAX, &node->most) ||
        *at != '\0' || words_take(&text, "function "))
        return back(reader, wanted);
    node->feature = (enum tree_feature)f;
    return f < TREE_function ||
           back(reader, "a feature is wanted: slack, path, queue_length, oldest_wait, free_gpu, "
                        "free_vcpus, warm, depth, arrivals or function");
}

static bool vote_parse(const char *text, struct tree_vote *vote)
{
    int64_t batch = 0, rank = 0, count = 0;
    bool good = words_take(&text, "none");
    if (!good)
        good = number_take(&text, 1, UINT16_MAX, &batch) && words_take(&text, ":") &&
               number_take(&text, 0, UINT16_MAX, &rank);
    if (!good || !words_take(&text, " x ") || !number_take(&text, 0, UINT32_MAX, &count) ||
        *text != '\0')
        return false;
    *vote = (struct tree_vote){{(uint16_t)batch, (uint16_t)rank}, (uint32_t)count};
    return true;
}

static bool votes_parse(struct reader *reader, const char *list, struct tree_node *node)
{
    char *rest = arena_text(reader->arena, "%s", list), *one;
    node->votes = arena_allocate(reader->arena, VOTES_MOST, sizeof *node->votes);
    while ((one = strsep(&rest, ",")) != NULL) {
        if (node->vote_count == VOTES_MOST ||
            !vote_parse(one + strspn(one, " "), &node->votes[node->vote_count++]))
            return back(reader, "\"serve BATCH:RANK x COUNT, …\" with BATCH at least 1, or "
                                "\"none x COUNT\", is wanted");
    }
    return true;
}

static bool leaf_parse(struct reader *reader, enum tree_kind kind, size_t indent,
                       struct tree_node *node)
{
    char *text = take(reader, indent, kind == QUEUE_TREE ? "chosen " : "serve ");
    if (text == NULL)
        return fault(reader, kind == QUEUE_TREE
                                 ? "\"if …\" or \"chosen N of M\", two blanks deeper, is wanted"
                                 : "\"if …\" or \"serve …\", two blanks deeper, is wanted");
    if (kind == CONFIGURATION_TREE)
        return votes_parse(reader, text, node);
    const char *at = text;
    int64_t chosen = 0, rows = 0;
    if (!number_take(&at, 0, UINT32_MAX, &chosen) || !words_take(&at, " of ") ||
        !number_take(&at, 1, UINT32_MAX, &rows) || *at != '\0' || chosen > rows)
        return back(reader, "\"chosen N of M\" with N at most M is wanted");
    node->chosen = (uint32_t)chosen;
    node->rows = (uint32_t)rows;
    return true;
}

static struct tree_node *node_parse(struct reader *reader, enum tree_kind kind, size_t depth)
{
    struct tree_node *node = arena_allocate(reader->arena, 1, sizeof *node);
    char *text = take(reader, depth * INDENT, "if ");
    if (text == NULL)
        return leaf_parse(reader, kind, depth * INDENT, node) ? node : NULL;
    if (depth > TREE_DEPTH_MOST)
        return back(reader, "a leaf is wanted at the greatest depth, 16"), NULL;
    if (!test_parse(reader, text, node) ||
        (node->yes = node_parse(reader, kind, depth + 1)) == NULL)
        return NULL;
    text = take(reader, depth * INDENT, "else");
    if (text == NULL)
        return fault(reader, "\"else\", as deep as its \"if\", is wanted"), NULL;
    node->no = node_parse(reader, kind, depth + 1);
    return node->no != NULL ? node : NULL;
}

/* Whether the function can reach a leaf that serves. */
static bool serves(const struct tree_node *node, size_t function)
{
    if (node->yes == NULL)
        return node->votes[0].action.batch > 0;
    if (node->feature != TREE_function)
        return serves(node->yes, function) || serves(node->no, function);
    const bool yes = function < TREE_FUNCTIONS_MOST && (node->functions >> function & 1) != 0;
    return serves(yes ? node->yes : node->no, function);
}

bool trees_load(struct arena *arena, const char *path, const struct workload *workload,
                struct trees *trees, struct error *error)
{
    char *text = json_read_text(path, NULL, error);
    const bool good = text != NULL && trees_parse(arena, text, path, workload, trees, error);
    free(text);
    return good;
}

bool trees_parse(struct arena *arena, const char *text, const char *path,
                 const struct workload *workload, struct trees *trees, struct error *error)
{
    struct reader reader = {
        .path = path, .arena = arena, .workload = workload, .error = error, .trees = trees};
    if (workload == NULL) {
        reader.named = arena_allocate(arena, 1, sizeof *reader.named);
        reader.named->functions =
            arena_allocate(arena, TREE_FUNCTIONS_MOST, sizeof *reader.named->functions);
        reader.workload = workload = reader.named;
    }
    *trees = (struct trees){.workload = workload};
    if (!lines_cut(&reader, text))
        return false;
    if (take(&reader, 0, "queue") == NULL)
        return fault(&reader, "\"queue\" is wanted before the first tree");
    if ((trees->queue = node_parse(&reader, QUEUE_TREE, 1)) == NULL)
        return false;
    if (take(&reader, 0, "configuration") == NULL)
        return fault(&reader, "\"configuration\" is wanted before the second tree");
    if ((trees->configuration = node_parse(&reader, CONFIGURATION_TREE, 1)) == NULL)
        return false;
    if (reader.at < reader.count)
        return fault(&reader, "the end of the file is wanted after the second tree");
    for (size_t f = 0; f < workload->function_count; f++)
        if (!serves(trees->configuration, f))
            return error_input(error,
                               "%s: function \"%s\" would wait for ever: the first vote of each "
                               "of its leaves is none",
                               path, workload->functions[f].name);
    return true;
}

/* ---- Writing --------------------------------------------------------------------------------- */

const char *tree_leaf_text(struct arena *arena, const struct tree_node *leaf)
{
    char *text = arena_text(arena, "%s", "");
    if (leaf->votes == NULL)
        arena_append(arena, &text, "chosen %" PRIu32 " of %" PRIu32, leaf->chosen, leaf->rows);
    for (size_t v = 0; v < leaf->vote_count; v++) {
        const struct tree_vote *vote = &leaf->votes[v];
        const char *between = v == 0 ? "serve " : ", ";
        if (vote->action.batch > 0)
            arena_append(arena, &text, "%s%u:%u x %" PRIu32, between, vote->action.batch,
                         vote->action.rank, vote->count);
        else
            arena_append(arena, &text, "%snone x %" PRIu32, between, vote->count);
    }
    return text;
}

const char *tree_test_text(struct arena *arena, const struct trees *trees,
                           const struct tree_node *node, bool yes)
{
    char *text = node->feature == TREE_function
                     ? arena_text(arena, "%s", "")
                     : arena_text(arena, "%s %s %" PRId64, feature_names[node->feature],
                                  yes ? "<=" : ">", node->most);
    const char *between = yes ? "function is " : "function is not ";
    for (size_t f = 0; node->feature == TREE_function && f < trees->workload->function_count &&
                       f < TREE_FUNCTIONS_MOST;
         f++)
        if ((node->functions >> f & 1) != 0) {
            arena_append(arena, &text, "%s%s", between, trees->workload->functions[f].name);
            between = ", ";
        }
    return text;
}

static void node_write(FILE *out, struct arena *arena, const struct trees *trees,
                       const struct tree_node *node, size_t depth)
{
    const int indent = (int)(depth * INDENT);
    if (node->yes == NULL) {
        fprintf(out, "%*s%s\n", indent, "", tree_leaf_text(arena, node));
        return;
    }
    fprintf(out, "%*sif %s\n", indent, "", tree_test_text(arena, trees, node, true));
    node_write(out, arena, trees, node->yes, depth + 1);
    fprintf(out, "%*selse\n", indent, "");
    node_write(out, arena, trees, node->no, depth + 1);
}

void trees_write(FILE *out, const struct trees *trees)
{
    struct arena *arena = arena_create();
    fputs("queue\n", out);
    node_write(out, arena, trees, trees->queue, 1);
    fputs("configuration\n", out);
    node_write(out, arena, trees, trees->configuration, 1);
    arena_destroy(arena);
}
