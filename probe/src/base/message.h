/* Messages to people: one line each on standard error. */
#ifndef HS_BASE_MESSAGE_H
#define HS_BASE_MESSAGE_H

enum { MESSAGE_BYTES = 2560 }; /* of a line, which is cut there */

/* Writes "hardstone-probe: ", the text, and a line end. Characters that a terminal would act upon
 * (base/utf8.h) become '?'. */
void message_write(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
