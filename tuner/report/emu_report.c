#include "emu_report.h"

#include "json_writer.h"
#include "print.h"

static void add_number(str *s, const char *before, double v, const char *after) {
  str_add(s, before);
  format_count(s, v);
  str_add(s, after);
}

static void add_pipes(str *s, const rt_emu_stats *x) {
  double all = 0;
  for (int i = 0; i < EMU_PIPES_N; i++) {
    all += x->pipes[i];
  }
  str_add(s, "  by unit        ");
  for (int i = 0; i < EMU_PIPES_N; i++) {
    if (x->pipes[i] > 0) {
      str_addf(s, " %s %.1f %%", rt_emu_pipe_name(i), 100 * x->pipes[i] / all);
    }
  }
  str_add(s, "\n");
}

static double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

void emu_report_text(str *s, const char *kernel, const rt_emu_stats *x) {
  auto_str time = {0};
  format_sec(&time, x->sec);
  str_addf(s, "%s: modelled %s, bound by %s\n", kernel, str_text(&time), x->bound);
  add_number(s, "  blocks          ", (double)x->blocks, "");
  str_addf(s, ", %llu of them run; %d a multiprocessor, %.2f waves, %d registers a thread\n",
           (unsigned long long)x->blocks_run, x->blocks_sm, x->waves, x->regs);
  add_number(s, "  instructions    ", x->thread_instructions, " of threads, ");
  add_number(s, "", x->warp_instructions, " of warps");
  str_addf(s, " (%.1f lanes active)\n", share(x->thread_instructions, x->warp_instructions));
  add_pipes(s, x);
  add_number(s, "  global memory   ", x->global_requests, " requests, ");
  add_number(s, "", x->load_sectors, " sectors loaded, ");
  add_number(s, "", x->store_sectors, " stored");
  str_addf(s, " (%.1f a request)\n", share(x->load_sectors + x->store_sectors, x->global_requests));
  add_number(s, "  shared memory   ", x->shared_requests, " requests, ");
  add_number(s, "", x->shared_wavefronts, " wavefronts");
  str_addf(s, " (%.2f a request; above the minimum: bank conflicts)\n",
           share(x->shared_wavefronts, x->shared_requests));
  if (x->constant_requests > 0) {
    add_number(s, "  constant memory ", x->constant_requests, " requests, ");
    add_number(s, "", x->constant_replays, " replays (addresses beyond the first of a warp)\n");
  }
  if (x->texture_requests > 0) {
    add_number(s, "  textures        ", x->texture_requests, " requests, ");
    add_number(s, "", x->texels, " texels of them and of surfaces\n");
  }
  add_number(s, "  atomics         ", x->atomics, "; barriers ");
  add_number(s, "", x->barriers, "\n");
}

void emu_report_json(str *s, const char *kernel, const rt_emu_stats *x) {
  jw_event(s, "kernel");
  jw_text(s, "kernel", kernel);
  jw_seconds(s, true, x->sec);
  jw_text(s, "bound", x->bound);
  jw_integer(s, "blocks", (int64_t)x->blocks);
  jw_integer(s, "blocks_run", (int64_t)x->blocks_run);
  jw_integer(s, "blocks_sm", x->blocks_sm);
  jw_real(s, "waves", 4, x->waves);
  jw_integer(s, "registers", x->regs);
  jw_fixed(s, "thread_instructions", 0, x->thread_instructions);
  jw_fixed(s, "warp_instructions", 0, x->warp_instructions);
  jw_open(s, "units");
  for (int i = 0; i < EMU_PIPES_N; i++) {
    jw_fixed(s, rt_emu_pipe_name(i), 0, x->pipes[i]);
  }
  jw_close(s);
  jw_fixed(s, "global_requests", 0, x->global_requests);
  jw_fixed(s, "load_sectors", 0, x->load_sectors);
  jw_fixed(s, "store_sectors", 0, x->store_sectors);
  jw_fixed(s, "shared_requests", 0, x->shared_requests);
  jw_fixed(s, "shared_wavefronts", 0, x->shared_wavefronts);
  jw_fixed(s, "constant_requests", 0, x->constant_requests);
  jw_fixed(s, "constant_replays", 0, x->constant_replays);
  jw_fixed(s, "texture_requests", 0, x->texture_requests);
  jw_fixed(s, "texels", 0, x->texels);
  jw_fixed(s, "atomics", 0, x->atomics);
  jw_fixed(s, "barriers", 0, x->barriers);
  jw_end_line(s);
}
