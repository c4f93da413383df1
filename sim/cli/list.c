/* esgsim list: an overview of what ships, a list of one kind, or one entry in full. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sched/registry.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"

struct options {
    bool json, details;
};

static const struct cli_option list_table[] = {
    {"--details", NULL, "print every entry in full, as with its NAME",
     CLI_MEMBER(struct options, details)},
    {"--json", NULL,
     "one object: {KIND: [{\"name\", \"description\"}]}; policies and keep-alives also have "
     "\"parameters\", policies \"serves\"",
     CLI_MEMBER(struct options, json)},
    {.name = NULL},
};

static bool list_run(int argc, char **argv, bool quiet, struct error *error);

const struct command command_list = {
    .name = "list",
    .summary = "list the shipped policies and files, one line each",
    .help = "Without a kind: the number of each. With a NAME: that entry in full, for a policy "
            "or keep-alive with its parameters: name = default [range or choices], meaning "
            "(grade of the default). In brackets: whether a policy serves requests, trainings or "
            "both. Traces are listed with their format, as in `esgsim trace --help` and an "
            "experiment's \"arrivals\" or \"training.arrivals\". The others are the files of "
            "workloads/ and traces/ in the working folder or, if it has none, in the data folder "
            "($ESGSIM_DATA or the installed one).\n"
            "\n"
            "Examples: esgsim list policies\n"
            "          esgsim list policies esg\n",
    .run = list_run,
    .operands = "[policies|keep-alives|experiments|clusters|applications|functions|profiles|traces|"
                "models] [NAME]",
    .options = list_table,
};

enum { KINDS = REGISTERED_KINDS + DESCRIBED_KINDS };

static const struct described_kind *kind_of(size_t kind)
{
    return kind < REGISTERED_KINDS ? &registered_kinds[kind]
                                   : &described_kinds[kind - REGISTERED_KINDS];
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* The length of the words that fit into `most` bytes. */
static size_t words_within(const char *text, size_t most)
{
    size_t length = strlen(text);
    if (length <= most)
        return length;
    for (length = most; length > 0 && text[length] != ' ';)
        length--;
    return length;
}

/* With its note. A long note is cut at a word, unless the entry is wanted in full, and so is a text
 * of half a page. */
static const char *entry_text(const struct description *is, bool full, struct arena *arena)
{
    enum { COLUMNS = 100, HALF_A_PAGE = 1000 };
    const size_t used = strlen(is->text), rest = COLUMNS > used ? COLUMNS - used : 0;
    const size_t text = words_within(is->text, full ? used : HALF_A_PAGE);
    const size_t note = words_within(is->note, full ? strlen(is->note) : rest);
    const bool cut = text < used || is->note[note] != '\0';
    return arena_text(arena, "%.*s%s%.*s%s", (int)text, is->text, note > 0 ? ": " : "", (int)note,
                      is->note, cut ? " …" : "");
}

/* "name = default [range or choices]", and what it means. */
static void print_parameter(const struct key *parameter, struct arena *arena)
{
    char words[PARAMETER_WORDS];
    const char *word = parameter_word(parameter, parameter->fallback);
    const char *text = word != NULL
                           ? arena_text(arena, "%s = %s [%s]", parameter->name, word,
                                        parameter_words(parameter, words))
                           : arena_text(arena, "%s = %g [%g..%g]", parameter->name,
                                        parameter->fallback, parameter->low, parameter->high);
    printf("    %-34s  %s\n", text, parameter->help != NULL ? parameter->help : "");
}

static void entry_print(const struct description *is, bool full, struct arena *arena)
{
    printf(is->serves != NULL ? "%-28s  %s [%s]\n" : "%-28s  %s\n", is->name,
           entry_text(is, full, arena), is->serves);
    for (size_t p = 0; full && p < keys_count(is->parameters); p++)
        print_parameter(&is->parameters[p], arena);
}

static void put_parameter(cJSON *list, const struct key *parameter)
{
    char words[PARAMETER_WORDS];
    const char *word = parameter_word(parameter, parameter->fallback);
    cJSON *object = json_append(list);
    if (word != NULL)
        json_put(object, "name %s default %s choices %s", parameter->name, word,
                 parameter_words(parameter, words));
    else
        json_put(object, "name %s default %g low %g high %g", parameter->name, parameter->fallback,
                 parameter->low, parameter->high);
    json_put(object, "help %s", parameter->help);
}

static void entry_put(const struct description *is, struct arena *arena, cJSON *row)
{
    json_put(row, "name %s description %s serves %s", is->name, entry_text(is, true, arena),
             is->serves);
    cJSON *list = is->parameters != NULL ? cJSON_AddArrayToObject(row, "parameters") : NULL;
    for (size_t p = 0; list != NULL && p < keys_count(is->parameters); p++)
        put_parameter(list, &is->parameters[p]);
}

/* ---- The command ----------------------------------------------------------------------------- */

static bool list_overview(cJSON *root, struct arena *arena, struct error *error)
{
    cJSON *rows = root != NULL ? cJSON_AddArrayToObject(root, "kinds") : NULL;
    for (size_t k = 0; k < KINDS; k++) {
        const struct described_kind *kind = kind_of(k);
        struct descriptions all = {.arena = arena, .wanted = ""};
        if (!describe_kind(kind, &all, error))
            return false;
        if (root == NULL)
            printf("%-14s %4zu  %s\n", kind->name, all.count, kind->what);
        else
            json_put(json_append(rows), "name %s count %zu description %s", kind->name, all.count,
                     kind->what);
    }
    if (root == NULL)
        printf("\n`esgsim list KIND` lists one, `esgsim list KIND NAME` an entry in full, for "
               "example: esgsim list policies esg\n");
    return true;
}

static const char *nearest(const struct descriptions *all, const char *wanted)
{
    return error_nearest_of(wanted, all->list, all->count, sizeof *all->list);
}

static bool unknown_name(const struct described_kind *kind, const struct descriptions *all,
                         struct error *error)
{
    const char *near = nearest(all, all->wanted);
    return error_input(error, "list: there is no %s \"%.80s\"%s%s%s; `esgsim list %s` lists them",
                       kind->singular, all->wanted, near != NULL ? ", did you mean \"" : "",
                       near != NULL ? near : "", near != NULL ? "\"?" : "", kind->name);
}

static bool list_kind(size_t k, const char *only, bool details, cJSON *root, struct arena *arena,
                      struct error *error)
{
    const struct described_kind *kind = kind_of(k);
    struct descriptions all = {.arena = arena, .wanted = only};
    cJSON *rows = root != NULL ? cJSON_AddArrayToObject(root, kind->name) : NULL;
    size_t shown = 0;
    if (!describe_kind(kind, &all, error))
        return false;
    for (size_t i = 0; i < all.count; i++) {
        if (all.list[i].text == NULL)
            continue;
        shown++;
        if (root != NULL)
            entry_put(&all.list[i], arena, json_append(rows));
        else
            entry_print(&all.list[i], details || only != NULL, arena);
    }
    if (shown > 0 && only != NULL && root == NULL && kind == registered_kinds)
        printf("source and decisions of the port: sched/README.md; grades: sim/ASSUMPTIONS.md\n");
    return only == NULL || shown > 0 || unknown_name(kind, &all, error);
}

/* Reads all kinds. Returns the first that has the wanted entry; KINDS: none has. A kind that cannot
 * be read has none. */
static size_t find_entry(struct descriptions *all)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct error fault = {0};
        const size_t before = all->count;
        const bool good = describe_kind(kind_of(k), all, &fault);
        for (size_t i = before; good && i < all->count; i++)
            if (describe_wants(all, all->list[i].name))
                return k;
    }
    return KINDS;
}

/* `wanted` is not a kind. It may be an entry, or be near to the name of an entry or a kind. */
static bool unknown_kind(const char *wanted, struct arena *arena, struct error *error)
{
    struct descriptions all = {.arena = arena, .wanted = wanted}, again = {.arena = arena};
    size_t kind = find_entry(&all);
    for (size_t k = 0; k < KINDS; k++)
        describe_add(&all, kind_of(k)->name, NULL, "");
    const char *near = nearest(&all, wanted);
    if (kind == KINDS && near != NULL) {
        again.wanted = near;
        kind = find_entry(&again);
        wanted = kind < KINDS ? near : wanted;
    }
    if (kind < KINDS)
        return error_input(error, "list: wants a kind first: `esgsim list %s %.80s`",
                           kind_of(kind)->name, wanted);
    return error_input(error, "list: \"%.80s\" is not a kind%s%s%s; `esgsim list` lists them",
                       wanted, near != NULL ? ", did you mean \"" : "", near != NULL ? near : "",
                       near != NULL ? "\"?" : "");
}

static bool list_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    if (!cli_parse(&command_list, &argc, argv, &options, error))
        return false;
    struct arena *arena = arena_create();
    cJSON *root = options.json ? cJSON_CreateObject() : NULL;
    /* Elsewhere an entry stays one line, for grep. */
    if (!options.json && isatty(STDOUT_FILENO))
        text_begin();
    size_t k = 0;
    while (argc > 1 && k < KINDS && strcmp(kind_of(k)->name, argv[1]) != 0)
        k++;
    const bool good =
        argc == 1    ? list_overview(root, arena, error)
        : k == KINDS ? unknown_kind(argv[1], arena, error)
                     : list_kind(k, argc > 2 ? argv[2] : NULL, options.details, root, arena, error);
    arena_destroy(arena);
    if (good && root != NULL)
        return cli_print_json_line(root, error);
    cJSON_Delete(root);
    return good;
}
