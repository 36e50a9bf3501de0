/* Time that is shared by virtual_time.c and virtual_timers.c. */
#ifndef HS_TESTS_VIRTUAL_TIME_H
#define HS_TESTS_VIRTUAL_TIME_H

#include <stdint.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

/* CLOCK_MONOTONIC, and its advance by `ns`. */
int64_t virtual_now_ns(void);
void virtual_pass(int64_t ns);

/* Advances to the expiry of what was asked for `due_ns`, and its lateness; no time passes if it was
 * before. */
void virtual_expire(int64_t due_ns);

/* When what is asked for `due_ns` expires: at the next tick. */
int64_t virtual_expiry_ns(int64_t due_ns);

/* Time that a call takes before it has an effect. */
void virtual_call(void);

/* The number in the environment variable `name`, or `otherwise`. */
int64_t virtual_number(const char *name, int64_t otherwise);

struct timespec virtual_timespec(int64_t ns);
int64_t virtual_ns(const struct timespec *time);

#endif
