/* Messages to people: one line each on standard error. */
#ifndef HS_BASE_MESSAGE_H
#define HS_BASE_MESSAGE_H

enum { MESSAGE_BYTES = 2560 }; /* of a line, which is cut there */

/* Writes "hardstone-probe: ", the text, and a line end. What a terminal would act upon instead of
 * showing it (base/utf8.h) is replaced by '?'. */
void message_write(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
