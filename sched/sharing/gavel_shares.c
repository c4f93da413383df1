#include "sched/sharing/gavel_shares.h"

#include <math.h>

static const double TINY = 1e-9;      /* beside coefficients of about 1 */
static const double TIE_BREAK = 1e-4; /* weight of the mean beside the least */

/* Rows of (columns + 1) numbers: coefficients and a limit, at last those of what is maximised. */
struct programme {
    double *table;
    size_t rows, columns;
    size_t *names; /* of the variables that the columns, then the rows stand for */
};

/* The column that gains most, or, if `careful`, which cannot cycle, that of the lowest name. */
static size_t entering(const struct programme *own, bool careful)
{
    const double *gains = &own->table[own->rows * (own->columns + 1)];
    size_t best = own->columns;
    for (size_t c = 0; c < own->columns; c++)
        if (gains[c] > TINY && (best == own->columns || (careful ? own->names[c] < own->names[best]
                                                                 : gains[c] > gains[best])))
            best = c;
    return best;
}

/* The row that limits the column first, of equal ones that of the lowest name. */
static size_t leaving(const struct programme *own, size_t column)
{
    const size_t width = own->columns + 1, *names = &own->names[own->columns];
    size_t best = 0;
    double least = INFINITY;
    for (size_t r = 0; r < own->rows; r++) {
        const double *row = &own->table[r * width];
        const double ratio = row[width - 1] / row[column];
        if (row[column] > TINY && (ratio < least || (ratio <= least && names[r] < names[best]))) {
            least = ratio;
            best = r;
        }
    }
    return best;
}

/* Exchanges the variable of a column for that of the row that limits it. */
static void pivot(struct programme *own, size_t row, size_t column)
{
    const size_t width = own->columns + 1, name = own->names[column];
    double *base = &own->table[row * width];
    const double by = 1 / base[column];
    base[column] = 1;
    for (size_t c = 0; c < width; c++)
        base[c] *= by;
    for (size_t r = 0; r <= own->rows; r++) {
        double *other = &own->table[r * width];
        const double factor = other[column];
        if (r == row || !(fabs(factor) > 0))
            continue;
        other[column] = 0;
        for (size_t c = 0; c < width; c++)
            other[c] -= factor * base[c];
    }
    own->names[column] = own->names[own->columns + row];
    own->names[own->columns + row] = name;
}

/* Variables: by class and type the sum of its trainings' shares; at last the least of LAS. */
static void fill(struct programme *own, bool max_sum, const struct gavel_class *classes,
                 size_t count, const double *gpus, size_t types)
{
    const size_t width = own->columns + 1;
    double *gains = &own->table[own->rows * width];
    gains[count * types] = max_sum ? 0 : 1;
    for (size_t t = 0; t < types; t++)
        own->table[t * width + own->columns] = gpus[t];
    for (size_t i = 0; i < count; i++) {
        double *time = &own->table[(types + i) * width], *least = &time[count * width];
        double equal = 0, all = 0; /* the rate with an equal part of every GPU */
        time[own->columns] = least[count * types] = classes[i].count;
        for (size_t t = 0; t < types; t++) {
            equal += gpus[t] * classes[i].rates[t];
            all += gpus[t];
        }
        for (size_t t = 0; t < types; t++) {
            const double rate = classes[i].rates[t];
            const double gain =
                max_sum || !(equal > 0) ? rate : classes[i].gpus * rate * all / equal;
            const size_t x = i * types + t;
            time[x] = 1;
            own->table[t * width + x] = classes[i].gpus;
            least[x] = -gain;
            gains[x] = max_sum ? gain : TIE_BREAK * gain / (double)count;
        }
    }
}

void gavel_share(struct arena *arena, bool max_sum, struct gavel_class *classes, size_t count,
                 const double *gpus, size_t types)
{
    struct programme own = {.rows = types + 2 * count, .columns = count * types + 1};
    const size_t width = own.columns + 1;
    size_t idle = 0; /* pivots in a row without a gain */
    own.table = arena_allocate(arena, (own.rows + 1) * width, sizeof *own.table);
    own.names = arena_allocate(arena, own.rows + own.columns, sizeof *own.names);
    for (size_t i = 0; i < own.rows + own.columns; i++)
        own.names[i] = i;
    fill(&own, max_sum, classes, count, gpus, types);
    for (size_t c; (c = entering(&own, idle > own.rows)) < own.columns;) {
        const size_t row = leaving(&own, c);
        idle = own.table[row * width + own.columns] > 0 ? 0 : idle + 1;
        pivot(&own, row, c);
    }
    for (size_t r = 0; r < own.rows; r++) {
        const size_t x = own.names[own.columns + r];
        if (x < count * types)
            classes[x / types].shares[x % types] =
                fmax(0, own.table[r * width + own.columns]) / classes[x / types].count;
    }
    arena_release(arena, own.table);
    arena_release(arena, own.names);
}
