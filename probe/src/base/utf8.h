/* Untrusted text: an argument, a damaged file, the name of a folder. */
#ifndef HS_BASE_UTF8_H
#define HS_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at `text`, which is not at its end; 0 if it is not valid UTF-8. */
size_t utf8_length(const char *text);

/* Whether a terminal only shows this character, of `length` bytes as above: false for invalid
 * bytes, for control characters (C0, DEL, C1), and for what is invisible, ends a line, or changes
 * the direction of the text. */
bool utf8_is_shown(const char *text, size_t length);

/* Replaces in place each invalid byte, and each character that is not shown, by '?'. */
void utf8_make_printable(char *text);

#endif
