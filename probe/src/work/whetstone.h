/* Whetstone, a synthetic benchmark: modules of statements in the proportions that were
 * counted in scientific programs (Curnow and Wichmann, "A synthetic benchmark", The Computer
 * Journal 19, 1976), with the numbers of turns that its distributed versions use. Modules 1,
 * 5 and 10 have weight zero there and are left out. Double precision; written anew.
 *
 * A turn is 100,000 of its "Whetstone instructions": 10 turns a second are 1 MWIPS. */
#ifndef HS_WHETSTONE_H
#define HS_WHETSTONE_H

/* Arrays and integers as their indices count from 0; the original counts from 1. */
struct whetstone {
    double t, t1, t2; /* in memory, as in the original: a division stays a division */
    double e1[4];
    int j, k, l;
    /* what the modules came to in the last turn */
    double array[4];      /* 2: array elements */
    double parameter[4];  /* 3: an array as parameter */
    int jump;             /* 4: conditional jumps */
    double integers[2];   /* 6: integer arithmetic */
    double x, y;          /* 7: trigonometric functions */
    double z;             /* 8: procedure calls */
    double references[3]; /* 9: array references */
    double standard;      /* 11: standard functions */
};

/* One turn through all modules. Always the same work and the same results. */
void whetstone_turn(struct whetstone *w);

/* The procedures that modules 3, 8 and 9 call; in a file of their own, so that a call stays
 * a call. */
void whetstone_pa(const struct whetstone *w, double e[4]);
void whetstone_p3(const struct whetstone *w, double x, double y, double *z);
void whetstone_p0(struct whetstone *w);

#endif
