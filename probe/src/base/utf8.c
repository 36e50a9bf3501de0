#include "base/posix_source.h"

#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t utf8_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = at[0] < 0x80                    ? 1
                    : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                    : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                    : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if (length == 3 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)))
        return 0;
    if (length == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)))
        return 0;
    return length;
}

static uint32_t code_point(const char *text, size_t length)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & first_bits[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}

bool utf8_is_shown(const char *text, size_t length)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0, 0x1f},        {0x7f, 0x9f},      {0xad, 0xad},     {0x61c, 0x61c},
                  {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
                  {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    if (length == 0)
        return false;
    uint32_t code = code_point(text, length);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return false;
    return true;
}

void utf8_make_printable(char *text)
{
    char *to = text;
    while (*text) {
        size_t length = utf8_length(text);
        if (utf8_is_shown(text, length)) {
            memmove(to, text, length);
            to += length;
        } else {
            *to++ = '?';
        }
        text += length ? length : 1;
    }
    *to = '\0';
}
