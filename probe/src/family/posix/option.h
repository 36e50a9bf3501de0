/* The options of POSIX, each with the three means by which it is looked at: what the header says,
 * what sysconf or pathconf says, and what a real call does. */
#ifndef HS_FAMILY_POSIX_OPTION_H
#define HS_FAMILY_POSIX_OPTION_H

#include "base/posix_source.h"

#include "family/posix/answer.h"
#include "work/scratch.h"

#include <stdbool.h>
#include <stdint.h>

/* What calls may use. */
struct call_tools {
    const char *name; /* of a queue, a semaphore or shared memory; removed if the probe is killed */
    const struct scratch *scratch; /* a folder of its own, made already; or empty texts */
    int64_t wait_ns;               /* how long a call waits for what has to come */
};

typedef struct answer (*posix_call)(const struct call_tools *tools);

struct posix_option {
    const char *part; /* of the standard */
    const char *key;
    const char *header; /* the macro as the preprocessor left it: its value, or its own name */
    int name;           /* of sysconf, or of pathconf; NO_NAME */
    bool is_path;
    posix_call call;
};

/* All options in the order of the parts; the last has no key. */
extern const struct posix_option posix_options[];

/* Whether the call changes its whole process: it is untried where it cannot have one of its own. */
bool posix_call_needs_process(posix_call call);

enum { OPTION_MOST = 80 };
int option_count(void);

/* Place of the option in the table; -1: there is none. */
int option_place(const char *key);

/* ---- what the system says of it ---- */

enum { SAYING_BYTES = 24 };

/* What was said: a number; or none: not defined (headers), -1 (sysconf); or unknown: sysconf has no
 * such name, or gave an error. */
enum saying_kind { SAYING_NUMBER, SAYING_NONE, SAYING_UNKNOWN };

struct saying {
    enum saying_kind kind;
    long number;
};

struct saying option_header(const struct posix_option *option);
struct saying option_sysconf(const struct posix_option *option, const char *folder);

/* A number, "none" or "unknown". Returns `text`. */
const char *saying_text(struct saying saying, char text[SAYING_BYTES]);

/* Whether headers or sysconf promise the option. 0 in a header promises nothing: it is decided at
 * run time. Of pathconf 0 is a value like others. */
bool option_is_claimed(const struct posix_option *option, struct saying header,
                       struct saying sysconf);

#endif
