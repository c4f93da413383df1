/* What input files hold, a line for each entry: for people who look for one (`esgsim list`). */
#ifndef ESGSIM_WORKLOADS_SWEEP_DESCRIBE_H
#define ESGSIM_WORKLOADS_SWEEP_DESCRIBE_H

#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "sim/base/keys.h"

struct description {
    const char *name;             /* its own, or the file's */
    const char *text;             /* NULL: it was not wanted */
    const char *note;             /* of the file; "": none */
    const struct key *parameters; /* of what is no file, but in a registry; NULL: a file */
    const char *serves;           /* of a policy: requests, trainings or both */
};

struct descriptions {
    struct arena *arena; /* of all below; set by the caller */
    const char *wanted;  /* the name whose text is wanted; NULL: all; "": none */
    struct description *list;
    size_t count;
};

/* A kind of entry, mostly of files that ship. */
struct described_kind {
    const char *name, *singular;
    const char *what;    /* one line */
    const char *folders; /* of its files, separated by blanks; NULL: all are described at once */
    bool (*describe)(const char *path, const char *name, struct descriptions *all,
                     struct error *error);
};
enum { DESCRIBED_KINDS = 7 };
extern const struct described_kind described_kinds[DESCRIBED_KINDS];

/* Adds the entries of a kind's files, in order of folder and file. A folder is looked for in the
 * working folder, then in the data folder. False: ERROR_INPUT if there is none, or a file is
 * faulty.
 */
bool describe_kind(const struct described_kind *kind, struct descriptions *all,
                   struct error *error);

/* Adds an entry, whose text may be NULL, and returns it. All texts are copied. */
struct description *describe_add(struct descriptions *all, const char *name, const char *text,
                                 const char *note);

/* Returns whether the entry's text is wanted. A file is known by its name with and without folder
 * and ending: "theory/mm1.json" is named mm1.json, mm1 and theory/mm1, too. */
bool describe_wants(const struct descriptions *all, const char *name);

#endif
