#include "sim/base/notice.h"

#include <stdarg.h>
#include <string.h>

#include "sim/base/arena.h"

enum { NOTE, WARNING };

const struct notice_row notice_kinds[] = {
#define NOTICE(kind, severity, text) {#kind, severity},
#include "sim/base/notices.def"
};

void notices_add(struct notices *notices, enum notice_kind kind, const char *text, ...)
{
    struct notice notice = {kind, notice_kinds[kind].warning, NULL};
    va_list args;
    if (notices->arena == NULL)
        notices->arena = arena_create();
    va_start(args, text);
    arena_append_of(notices->arena, &notice.text, text, args);
    va_end(args);
    *ARENA_NEXT(notices->arena, notices->rows, notices->count) = notice;
}

void notices_clear(struct notices *notices)
{
    arena_destroy(notices->arena);
    *notices = (struct notices){0};
}

const struct notice *notices_find(const struct notices *notices, enum notice_kind kind)
{
    for (size_t n = 0; n < notices->count; n++)
        if (notices->rows[n].kind == kind)
            return &notices->rows[n];
    return NULL;
}

bool notice_equals(const struct notice *one, const struct notice *other)
{
    return one->kind == other->kind && strcmp(one->text, other->text) == 0;
}

struct counted_notice *notice_count(struct arena *arena, struct counted_notice **list,
                                    size_t *count, const struct notice *notice, size_t runs)
{
    size_t n = 0;
    while (n < *count && !notice_equals(&(*list)[n].notice, notice))
        n++;
    if (n == *count)
        *ARENA_NEXT(arena, *list, *count) = (struct counted_notice){
            .notice = {notice->kind, notice->warning, arena_text(arena, "%s", notice->text)}};
    (*list)[n].runs += runs;
    return &(*list)[n];
}

enum notice_kind notice_kind_find(const char *name, bool warning)
{
    for (size_t kind = 0; name != NULL && kind < NOTICE_KINDS; kind++)
        if (strcmp(notice_kinds[kind].name, name) == 0)
            return (enum notice_kind)kind;
    return warning ? NOTICE_OTHER_WARNING : NOTICE_OTHER;
}
