#include "emu_report.h"

#include "numbers.h"

static void add_number(str *s, const char *before, double v, const char *after) {
  str_add(s, before);
  format_count(s, v);
  str_add(s, after);
}

static void add_pipes(str *s, const rt_emu_stats *x) {
  str_add(s, "  by unit        ");
  for (int i = 0; i < EMU_PIPES_N; i++) {
    if (x->pipes[i] > 0) {
      str_addf(s, " %s %.1f %%", rt_emu_pipe_name(i), 100 * x->pipes[i] / x->warp_instructions);
    }
  }
  str_add(s, "\n");
}

static double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

void emu_report_text(str *s, const char *kernel, const rt_emu_stats *x) {
  str time = {0};
  format_sec(&time, x->sec);
  str_addf(s, "%s: modelled %s, bound by %s\n", kernel, str_text(&time), x->bound);
  str_clear(&time);
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
  str_addf(s, " (%.2f a request; more than needed are bank conflicts)\n",
           share(x->shared_wavefronts, x->shared_requests));
  add_number(s, "  atomics         ", x->atomics, "; barriers ");
  add_number(s, "", x->barriers, "\n");
}

void emu_report_json(str *s, const char *kernel, const rt_emu_stats *x) {
  str_add(s, "{\"kernel\":");
  str_add_json(s, kernel);
  str_addf(s, ",\"modelled_seconds\":%.9g,\"bound\":\"%s\",\"blocks\":%llu,\"blocks_run\":%llu",
           x->sec, x->bound, (unsigned long long)x->blocks, (unsigned long long)x->blocks_run);
  str_addf(s, ",\"blocks_sm\":%d,\"waves\":%.4g,\"registers\":%d", x->blocks_sm, x->waves, x->regs);
  str_addf(s, ",\"thread_instructions\":%.0f,\"warp_instructions\":%.0f,\"units\":{",
           x->thread_instructions, x->warp_instructions);
  for (int i = 0; i < EMU_PIPES_N; i++) {
    str_addf(s, "%s\"%s\":%.0f", i ? "," : "", rt_emu_pipe_name(i), x->pipes[i]);
  }
  str_addf(s, "},\"global_requests\":%.0f,\"load_sectors\":%.0f,\"store_sectors\":%.0f",
           x->global_requests, x->load_sectors, x->store_sectors);
  str_addf(
      s,
      ",\"shared_requests\":%.0f,\"shared_wavefronts\":%.0f,\"atomics\":%.0f,\"barriers\":%.0f}\n",
      x->shared_requests, x->shared_wavefronts, x->atomics, x->barriers);
}
