/* The work of RSP-P-FIX. The number of operations fixes the amount of work; results are used, so
 * that no compiler removes the operations. */
#ifndef HS_WORK_FIXED_WORK_H
#define HS_WORK_FIXED_WORK_H

#include <stdint.h>

/* ---- Whetstone ----
 *
 * Whetstone, a synthetic benchmark: modules of statements in the proportions counted in scientific
 * programs (Curnow and Wichmann, "A synthetic benchmark", The Computer Journal 19, 1976), with the
 * loop counts of its distributed versions. Modules 1, 5 and 10 have weight zero there and are left
 * out. Double precision; written anew.
 *
 * A turn is 100,000 "Whetstone instructions": 10 turns a second are 1 MWIPS. */

/* Indices count from 0; in the original from 1. */
struct whetstone {
    double t, t1, t2; /* in memory, as in the original, so that a division stays a division */
    double e1[4];
    int j, k, l;
    /* results of the modules in the last turn */
    double array[4];      /* 2: array elements */
    double parameter[4];  /* 3: an array as parameter */
    int jump;             /* 4: conditional jumps */
    double integers[2];   /* 6: integer arithmetic */
    double x, y;          /* 7: trigonometric functions */
    double z;             /* 8: procedure calls */
    double references[3]; /* 9: array references */
    double standard;      /* 11: standard functions */
};

/* One turn through all modules: always the same work, with the same results. */
void whetstone_turn(struct whetstone *w);

/* The procedures of modules 3, 8 and 9; in a file of their own, so that they are not inlined. */
void whetstone_pa(const struct whetstone *w, double e[4]);
void whetstone_p3(const struct whetstone *w, double x, double y, double *z);
void whetstone_p0(struct whetstone *w);

/* ---- the work ---- */

enum { WORK_ADD, WORK_COPY, WORK_WHETSTONE, WORK_KINDS };
enum { WORK_COPY_BYTES = 16384 };

extern const char *const work_names[WORK_KINDS + 1];

struct work_space {
    volatile uint64_t sink;
    struct whetstone whetstone;
    unsigned char from[WORK_COPY_BYTES], to[WORK_COPY_BYTES];
};

/* Does `count` operations of `kind`: additions (WORK_ADD), copies of WORK_COPY_BYTES (WORK_COPY) or
 * turns of Whetstone (WORK_WHETSTONE). */
void work_do(struct work_space *space, int kind, uint64_t count);

#endif
