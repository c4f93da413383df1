#include "plots/palette.h"

#include <string.h>

#include "sched/registry.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define BLACK 0x000000
#define ORANGE 0xE69F00
#define SKY 0x56B4E9
#define GREEN 0x009E73
#define BLUE 0x0072B2
#define VERMILLION 0xD55E00
#define PURPLE 0xCC79A7
#define GREY 0x767676

static const uint32_t colours[] = {BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY};
/* Point types of gnuplot's terminals: 1 plus, 2 cross, 3 star, then hollow and filled in pairs: 4
 * and 5 square, 6 and 7 circle, 8 and 9 triangle, 10 and 11 triangle down, 12 and 13 diamond, 14
 * and 15 pentagon. The numbers of colours and of markers are coprime, so there are 120 different
 * pairs. */
static const int markers[] = {7, 5, 9, 11, 13, 15, 6, 4, 8, 10, 12, 14, 1, 2, 3};
/* For a policy's third variant and later. Types that no first variant uses are first. */
static const int further[] = {14, 12, 4, 8, 10, 15, 13, 9, 11, 5, 6, 1, 2, 3};

enum { DASHES = 5 };

/* Mixes `percent` white into the colour. */
static uint32_t lightened(uint32_t colour, unsigned percent)
{
    uint32_t result = 0;
    for (unsigned shift = 0; shift <= 16; shift += 8) {
        uint32_t part = (colour >> shift) & 0xFFU;
        part += (0xFFU - part) * percent / 100;
        result |= part << shift;
    }
    return result;
}

static struct look policy_first(const char *policy)
{
    const struct policy *known = NULL;
    for (size_t i = 0; (known = policy_at(i)) != NULL; i++)
        if (strcmp(known->name, policy) == 0)
            return palette_series(i);
    uint32_t mix = 5381;
    for (const char *c = policy; *c != '\0'; c++)
        mix = mix * 33 + (unsigned char)*c;
    return (struct look){colours[mix % COUNT(colours)], 3, 1 + (int)(mix / 8 % DASHES)};
}

struct look palette_policy(const char *policy, size_t variant)
{
    struct look look = policy_first(policy);
    if (variant == 0)
        return look;
    /* The second variant uses the hollow form of the same marker. */
    const bool filled = look.point > 4 && look.point % 2 == 1;
    look.point = variant == 1 && filled ? look.point - 1 : further[variant % COUNT(further)];
    look.dash = 1 + (look.dash - 1 + (int)(variant % DASHES)) % DASHES;
    look.colour = lightened(look.colour, variant < DASHES ? 0 : variant < 2 * DASHES ? 30 : 50);
    return look;
}

struct look palette_variant(const char *policy, size_t variant, bool alone)
{
    const struct look look = palette_policy(policy, variant);
    size_t first = 0;
    if (!alone || variant == 0)
        return look;
    const uint32_t colour = policy_first(policy).colour;
    while (colours[first] != colour)
        first++;
    return palette_series(first + variant);
}

struct look palette_distinct(struct look look, unsigned *used)
{
    static const int all[] = {14, 12, 4, 8, 10, 6, 15, 13, 11, 9, 5, 7, 3, 2, 1};
    for (size_t i = 0; i < COUNT(all) && (*used & 1U << look.point) != 0; i++)
        if ((*used & 1U << all[i]) == 0)
            look.point = all[i];
    *used |= 1U << look.point;
    return look;
}

struct look palette_series(size_t index)
{
    return (struct look){colours[index % COUNT(colours)], markers[index % COUNT(markers)],
                         1 + (int)(index / COUNT(colours) % DASHES)};
}

uint32_t palette_step(size_t index, size_t count)
{
    static const uint32_t ends[] = {0x0B1D51, 0x0072B2, 0x33A6A6, 0xE69F00};
    const size_t last = COUNT(ends) - 1;
    const double at = count < 2 ? 0 : (double)(index * last) / (double)(count - 1);
    size_t low = (size_t)at;
    low = low >= last ? last - 1 : low;
    const double share = at - (double)low;
    uint32_t result = 0;
    for (unsigned shift = 0; shift <= 16; shift += 8) {
        const double from = (double)((ends[low] >> shift) & 0xFFU);
        const double to = (double)((ends[low + 1] >> shift) & 0xFFU);
        result |= (uint32_t)(from + share * (to - from) + 0.5) << shift;
    }
    return result;
}
