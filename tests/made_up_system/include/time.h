/* The clocks, sleeps and timers of Kestrel. */
#ifndef KESTREL_TIME_H
#define KESTREL_TIME_H
#define clock_gettime kes_clock_gettime
#define clock_getres kes_clock_getres
#define clock_nanosleep kes_clock_nanosleep
#define nanosleep kes_nanosleep
#define timer_create kes_timer_create
#include_next <time.h>
#endif
