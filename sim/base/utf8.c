#include "sim/base/utf8.h"

#include <stdio.h>
#include <string.h>

size_t utf8_sequence(const char *text)
{
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned first = (unsigned char)text[0];
    if (first < 0x80)
        return 1;
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4)
        return 0;
    unsigned long point = first & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        const unsigned next = (unsigned char)text[i];
        if ((next & 0xC0U) != 0x80U)
            return 0;
        point = point << 6 | (next & 0x3FU);
    }
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    return point < least[length] || surrogate || point > 0x10FFFF ? 0 : length;
}

/* Of the character of `length` bytes (utf8_sequence) at `text`. */
static bool is_control(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;
    return length == 1 ? c[0] < ' ' || c[0] == 0x7F : length == 2 && c[0] == 0xC2 && c[1] < 0xA0;
}

bool utf8_is_name(const char *text)
{
    while (*text != '\0') {
        const size_t length = utf8_sequence(text);
        if (length == 0 || is_control(text, length))
            return false;
        text += length;
    }
    return true;
}

/* One byte as an escape; its length. */
static size_t escape_byte(unsigned char byte, char escape[8])
{
    static const char letters[] = "t\tn\nr\r";
    for (size_t i = 0; i + 1 < sizeof letters; i += 2)
        if ((char)byte == letters[i + 1])
            return (size_t)snprintf(escape, 8, "\\%c", letters[i]);
    return (size_t)snprintf(escape, 8, "\\x%02x", byte);
}

/* Puts "…" behind the last whole character that leaves room for it. */
static void end_cut(char *text, size_t used, size_t capacity)
{
    static const char cut[] = "…";
    size_t at = used > capacity - sizeof cut ? capacity - sizeof cut : used;
    for (int i = 0; i < 3 && at > 0 && at < used && ((unsigned char)text[at] & 0xC0) == 0x80; i++)
        at--;
    memcpy(text + at, cut, sizeof cut);
}

void utf8_mark_cut(char *text, size_t capacity, int length)
{
    if (length >= 0 && (size_t)length >= capacity)
        end_cut(text, capacity - 1, capacity);
}

void utf8_escape(const char *from, char *to, size_t capacity)
{
    size_t used = 0;
    while (*from != '\0') {
        char escape[8];
        const size_t length = utf8_sequence(from);
        const bool escaped = length == 0 || is_control(from, length);
        const size_t taken = escaped ? 1 : length;
        const size_t added = escaped ? escape_byte((unsigned char)*from, escape) : length;
        if (used + added >= capacity)
            break;
        memcpy(to + used, escaped ? escape : from, added);
        used += added;
        from += taken;
    }
    to[used] = '\0';
    if (*from != '\0')
        end_cut(to, used, capacity);
}
