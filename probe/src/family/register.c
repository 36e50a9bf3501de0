/* The register: one line per test, in the order of the battery. */
#include "base/posix_source.h"

#include "run/test.h"

#include <stddef.h>
#include <strings.h>

/* clang-format off */
#define TESTS(TEST) \
    TEST(clk_b_res) \
    TEST(clk_p_dur) \
    TEST(clk_p_bin) \
    TEST(tmr_p_jit) \
    TEST(tmr_b_edge) \
    TEST(tmr_p_lat) \
    TEST(thr_b_new) \
    TEST(thr_b_rr) \
    TEST(thr_b_pri) \
    TEST(thr_p_sls) \
    TEST(thr_p_pre) \
    TEST(thr_p_new) \
    TEST(sem_b_lck) \
    TEST(sem_b_rel) \
    TEST(sem_p_new) \
    TEST(sem_p_arn) \
    TEST(sem_p_arc) \
    TEST(sem_p_sig) \
    TEST(sem_p_rtp) \
    TEST(sem_p_shf) \
    TEST(mut_b_arc) \
    TEST(mut_b_inv) \
    TEST(mut_p_arn) \
    TEST(mut_p_arc) \
    TEST(mut_p_inv) \
    TEST(irq_p_lat) \
    TEST(irq_p_dlt) \
    TEST(irq_p_tlt) \
    TEST(irq_p_trk) \
    TEST(irq_s_sus) \
    TEST(rsp_p_fix) \
    TEST(krn_p_pre) \
    TEST(msg_p_lat) \
    TEST(msg_p_thr) \
    TEST(msg_b_pri) \
    TEST(sig_p_lat) \
    TEST(sig_b_que) \
    TEST(prv_b_grp) \
    TEST(pwr_b_sig) \
    TEST(mem_b_lck) \
    TEST(fio_b_asy) \
    TEST(fio_p_syn) \
    TEST(fio_p_pre) \
    TEST(fio_p_str) \
    TEST(fio_p_pri) \
    TEST(pos_b_inv) \
    TEST(sim_s_rt) \
    TEST(sim_p_rf)
/* clang-format on */

#define DECLARE(name) extern const struct test name;
TESTS(DECLARE)

#define ENTRY(name) &(name),
const struct test *const test_register[] = {TESTS(ENTRY) NULL};

const struct test *test_find(const char *id)
{
    for (int i = 0; test_register[i]; i++)
        if (strcasecmp(test_register[i]->id, id) == 0)
            return test_register[i];
    return NULL;
}
