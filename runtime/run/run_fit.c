/* run_fit.c -- does a launch fit its kernel and the device? */
#include "loaded.h"

static int check_block(const gen_launch *s, const rt_function_info *f, err *e) {
  uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
  if (threads > (uint64_t)f->threads_max) {
    return err_set(
        e, ERR_LAUNCH,
        "%s needs %llu threads per block; with its %d registers and launch bounds at most %d fit",
        s->kernel, (unsigned long long)threads, f->regs, f->threads_max);
  }
  return 0;
}

static int check_shared(const rt_info *d, const gen_launch *s, const rt_function_info *f, err *e) {
  if (f->smem_static + s->smem > d->smem_block) {
    return err_set(e, ERR_LAUNCH,
                   "%s needs %lld bytes of shared memory per block; the device has %lld", s->kernel,
                   (long long)(f->smem_static + s->smem), (long long)d->smem_block);
  }
  return 0;
}

static int check_grid(const rt_info *d, const gen_launch *s, err *e) {
  for (int i = 0; i < 3; i++) {
    if (s->grid[i] < 1 || s->grid[i] > d->grid_max[i]) {
      return err_set(e, ERR_LAUNCH,
                     "%s needs a grid of %ux%ux%u blocks; the device allows %lldx%lldx%lld",
                     s->kernel, s->grid[0], s->grid[1], s->grid[2], (long long)d->grid_max[0],
                     (long long)d->grid_max[1], (long long)d->grid_max[2]);
    }
  }
  return 0;
}

int loaded_fits_at_once(const rt_loaded *l, const gen_launch *s, rt_function *function,
                        const rt_function_info *f, err *e) {
  const uint64_t n = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
  int blocks = 0;
  if (!s->cooperative) {
    return f->grid_barrier
               ? err_set(e, ERR_LAUNCH,
                         "%s synchronises its grid: its stage needs cooperative = true", s->kernel)
               : 0;
  }
  if (!l->d->ops->launch_cooperative) {
    return err_set(e, ERR_LAUNCH, "this device has no cooperative launches, as %s needs",
                   s->kernel);
  }
  TRY(l->d->ops->occupancy(l->d, function, (int)(s->block[0] * s->block[1] * s->block[2]), s->smem,
                           &blocks, e));
  return n <= (uint64_t)blocks * (uint64_t)l->d->info.sms
             ? 0
             : err_set(e, ERR_LAUNCH,
                       "%s is launched cooperatively with %llu blocks; %d fit on each of %d "
                       "multiprocessors at once",
                       s->kernel, (unsigned long long)n, blocks, l->d->info.sms);
}

int loaded_fits(const rt_loaded *l, const gen_launch *s, const rt_function_info *f, err *e) {
  TRY(check_block(s, f, e));
  TRY(check_shared(&l->d->info, s, f, e));
  return check_grid(&l->d->info, s, e);
}
