/* Limits of a degree, and of a whole load. */
#ifndef HS_LOAD_LIMITS_H
#define HS_LOAD_LIMITS_H

#define LOAD_LEAST_BUSY_NS INT64_C(100000)
#define LOAD_LEAST_PERIOD_NS INT64_C(1000000)
#define LOAD_MOST_PERIOD_NS INT64_C(10000000000)

enum { LOAD_MOST_PER_S = 100000, LOAD_MOST_PROCESSES = 5000, LOAD_MOST_PROCESSES_IN_ALL = 12000 };

/* Jobs that one process of a load keeps running. Few, because starting and reaping them takes as
 * much CPU time as one of the jobs gets. */
enum { LOAD_JOBS_EACH = 2 };

/* Processes of a group, besides the one that starts them; the number of groups. */
enum { LOAD_GROUP_MEMBERS = 40, LOAD_MOST_GROUPS = 250 };

#endif
