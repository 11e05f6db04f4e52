#include "run.h"

void rt_numbers(const rt_info *info, gen_number out[RT_NUMBERS]) {
  const gen_number numbers[RT_NUMBERS] = {
      {"dev_cc", info->cc},
      {"dev_sms", info->sms},
      {"dev_warp", info->warp},
      {"dev_threads_block", info->threads_block},
      {"dev_threads_sm", info->threads_sm},
      {"dev_blocks_sm", info->blocks_sm},
      {"dev_regs_block", info->regs_block},
      {"dev_regs_sm", info->regs_sm},
      {"dev_smem_block", info->smem_block},
      {"dev_smem_sm", info->smem_sm},
      {"dev_smem_reserved", info->smem_reserved},
      {"dev_l2", info->l2_nbytes},
      {"dev_memory", info->memory_nbytes},
      {"dev_links", info->links},
  };
  for (size_t i = 0; i < RT_NUMBERS; i++) {
    out[i] = numbers[i];
  }
}

int rt_instance_new(gen_template *t, const gen_problem *p, const rt_info *info, gen_instance **out,
                    err *e) {
  gen_number limits[RT_NUMBERS];
  rt_numbers(info, limits);
  return gen_instance_new(t, p, limits, RT_NUMBERS, out, e);
}
