/* The tire's inner loop without anything else: ns for a mass and step of each code that this
 * processor has, on one thread. The least of ROUNDS rounds; none is interrupted by others then.
 *
 * hardstone-tire-bench [MASSES...] */
#include "base/posix_source.h"

#include "base/clock.h"
#include "family/simulate/tire.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 40, LINE = 64, STEP_NS = 1000000 };

#define ROUND_NS INT64_C(5000000) /* at some 10 ns a mass and step */

struct tires {
    struct tire tire;
    struct tire_state states[2];
};

static double round_ns(struct tires *tires, enum tire_code code)
{
    int64_t masses = tires->tire.masses, steps = ROUND_NS / 10 / masses / 2 * 2 + 2;
    int64_t begin_ns = clock_monotonic_ns();
    for (int64_t i = 0; i < steps; i++)
        tire_advance(&tires->tire, &tires->states[i % 2], &tires->states[(i + 1) % 2], 0, masses,
                     code);
    return (double)(clock_monotonic_ns() - begin_ns) / (double)(steps * masses);
}

static double least_ns(struct tires *tires, enum tire_code code)
{
    double least = 1e9;
    tire_start(&tires->tire, &tires->states[0]);
    for (int i = 0; i < ROUNDS; i++) {
        double ns = round_ns(tires, code);
        least = ns < least ? ns : least;
    }
    return least;
}

static int measure(int64_t masses)
{
    struct tires tires;
    size_t bytes = tire_state_bytes(masses);
    char *memory = calloc(1, 2 * bytes + LINE);
    if (!memory)
        return 5;
    tire_init(&tires.tire, masses, STEP_NS, 0);
    for (size_t i = 0; i < 2; i++)
        tire_state_place(&tires.states[i], memory + LINE - (uintptr_t)memory % LINE + i * bytes,
                         masses);
    printf("%8lld masses:", (long long)masses);
    for (enum tire_code code = TIRE_PLAIN; code <= tire_best_code(); code++)
        printf("  %s %.2f ns", tire_code_name(code), least_ns(&tires, code));
    printf("  a mass and step\n");
    free(memory);
    return 0;
}

int main(int argc, char *argv[])
{
    static char *usual[] = {"400", "5904", "57000", "1000000"};
    char **words = argc > 1 ? argv + 1 : usual;
    int count = argc > 1 ? argc - 1 : (int)(sizeof usual / sizeof usual[0]);
    for (int i = 0; i < count; i++) {
        int64_t masses = strtoll(words[i], NULL, 10);
        if (masses < TIRE_LEAST || masses > 10000000 || masses % 4 != 0)
            return 2;
        int code = measure(masses);
        if (code != 0)
            return code;
    }
    return 0;
}
