#include "base/posix_source.h"

#include "family/interrupt/added.h"

/* Heapsort: qsort may allocate. */
static void sift(int64_t *values, int root, int count)
{
    for (int child = 2 * root + 1; child < count; root = child, child = 2 * root + 1) {
        if (child + 1 < count && values[child + 1] > values[child])
            child++;
        if (values[root] >= values[child])
            return;
        int64_t held = values[root];
        values[root] = values[child];
        values[child] = held;
    }
}

static void sort(int64_t *values, int count)
{
    for (int root = count / 2 - 1; root >= 0; root--)
        sift(values, root, count);
    for (int last = count - 1; last > 0; last--) {
        int64_t largest = values[0];
        values[0] = values[last];
        values[last] = largest;
        sift(values, 0, last);
    }
}

int64_t added_median(int64_t *values, int count)
{
    sort(values, count);
    int64_t upper = values[count / 2];
    if (count % 2 != 0)
        return upper;
    int64_t lower = values[count / 2 - 1];
    return lower + (upper - lower) / 2;
}

int64_t added_value(int64_t latency_ns, int64_t median_ns, uint64_t *below_count)
{
    if (latency_ns >= median_ns)
        return latency_ns - median_ns;
    (*below_count)++;
    return 0;
}

void added_effect_take(struct added_effect *effect, int64_t with_ns, int64_t without_ns, int count)
{
    int64_t difference_ns = with_ns - without_ns;
    if (effect->value_count == 0 || difference_ns < effect->least_ns)
        effect->least_ns = difference_ns;
    if (effect->value_count == 0 || difference_ns > effect->most_ns)
        effect->most_ns = difference_ns;
    effect->sum += difference_ns * count;
    effect->value_count += count;
}

int64_t added_effect_ns(const struct added_effect *effect)
{
    return effect->value_count > 0 ? effect->sum / effect->value_count : 0;
}
