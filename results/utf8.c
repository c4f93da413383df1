#include "results/utf8.h"

#include <stdlib.h>
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

bool utf8_add_json(cJSON *object, const char *key, const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    char *clean = malloc(strlen(text) * strlen(replacement) + 1);
    char *end = clean;
    if (clean == NULL)
        return false;
    while (*text != '\0') {
        const size_t length = utf8_sequence(text);
        end = mempcpy(end, length == 0 ? replacement : text,
                      length == 0 ? strlen(replacement) : length);
        text += length == 0 ? 1 : length;
    }
    *end = '\0';
    const bool added = cJSON_AddStringToObject(object, key, clean) != NULL;
    free(clean);
    return added;
}
