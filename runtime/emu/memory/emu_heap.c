/* emu_heap.c -- see emu_heap.h. */
#define _GNU_SOURCE
#include "emu_heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "array.h"

enum { ALIGN = 256, PAGE = 4096, RED_ZONE = 256, FIRST = 4096, LEAST = 64 << 20 };

static void *reserve(uint64_t nbytes) {
  void *p = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static void *host_view(const emu_alloc *a) {
  return (void *)(uintptr_t)(EMU_GLOBAL_BASE + a->offset);
}

static uint64_t round_up(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

static uint64_t pages_nbytes(const emu_alloc *a) {
  return round_up(a->nbytes ? a->nbytes : 1, PAGE);
}

static void unreserve(emu_heap *h) {
  if (h->data) {
    munmap(h->data, h->reserved);
  }
  if (h->state) {
    munmap(h->state, h->reserved);
  }
  if (h->tag) {
    munmap(h->tag, 2 * h->reserved);
  }
  if (h->origin) {
    munmap(h->origin, h->origin_nbytes);
  }
  h->data = h->state = NULL;
  h->origin = NULL;
  h->tag = NULL;
}

static bool reserve_all(emu_heap *h, uint64_t nbytes) {
  h->reserved = nbytes;
  h->data = reserve(nbytes);
  h->state = reserve(nbytes);
  h->tag = reserve(2 * nbytes);
  if (h->data && h->state && h->tag) {
    return true;
  }
  unreserve(h);
  return false;
}

/* The thread sanitizer leaves a program 3 TiB of addresses: enough for 256 devices this way. */
#ifdef __SANITIZE_THREAD__
static const uint64_t RESERVE_MOST = UINT64_C(2) << 30;
#else
static const uint64_t RESERVE_MOST = UINT64_MAX;
#endif

/* If the host refuses the whole range, a smaller device is better than none. */
static bool reserve_most(emu_heap *h, uint64_t whole) {
  const uint64_t least = whole < LEAST ? whole : LEAST;
  for (uint64_t n = 4 * whole; n >= least; n = n / 8192 * 4096) {
    if (n <= RESERVE_MOST && reserve_all(h, n)) {
      return true;
    }
  }
  return false;
}

int emu_heap_open(emu_heap *h, uint64_t bound, err *e) {
  *h = (emu_heap){.bound = bound, .top = FIRST, .tag_base = 1};
  uint64_t whole = (bound + 4096 + FIRST) / 4096 * 4096;
  if (!reserve_most(h, whole)) {
    return err_set(e, ERR_NOMEM,
                   "cannot reserve %.1f GiB of addresses for the emulated device; "
                   "lower its memory bound",
                   (double)(whole < LEAST ? whole : LEAST) / 0x1p30);
  }
  if (pthread_mutex_init(&h->lock, NULL)) {
    unreserve(h);
    return err_nomem(e);
  }
  return 0;
}

void emu_heap_close(emu_heap *h) {
  for (int i = 0; i < h->n; i++) {
    if (h->allocs[i].alive && h->allocs[i].shared) {
      munmap(host_view(&h->allocs[i]), pages_nbytes(&h->allocs[i]));
    }
  }
  unreserve(h);
  free(h->allocs);
  pthread_mutex_destroy(&h->lock);
}

static uint64_t end_of(const emu_alloc *a) {
  return a->offset + round_up(a->nbytes, a->shared ? PAGE : ALIGN) + RED_ZONE;
}

/* index of the first allocation after the offset */
static int behind(const emu_heap *h, uint64_t offset) {
  int low = 0, high = h->n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (h->allocs[middle].offset <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* forget freed allocations, so that their addresses can be reused */
static void forget_dead(emu_heap *h) {
  int kept = 0;
  for (int i = 0; i < h->n; i++) {
    if (h->allocs[i].alive) {
      h->allocs[kept++] = h->allocs[i];
    } else {
      memset(h->state + h->allocs[i].offset, 0, h->allocs[i].nbytes);
    }
  }
  h->n = kept;
}

/* the first sufficiently wide gap between allocations */
static bool find_gap(const emu_heap *h, uint64_t need, uint64_t align, uint64_t *offset) {
  uint64_t at = FIRST;
  for (int i = 0; i < h->n; i++) {
    if (h->allocs[i].offset >= at + need) {
      break;
    }
    at = round_up(end_of(&h->allocs[i]), align);
  }
  *offset = at;
  return at + need <= h->reserved;
}

static int insert(emu_heap *h, const emu_alloc *a, err *e) {
  if (!array_reserve(&h->allocs, h->n + 1, &h->capacity, sizeof *a)) {
    return err_nomem(e);
  }
  int i = behind(h, a->offset);
  memmove(h->allocs + i + 1, h->allocs + i, sizeof *a * (size_t)(h->n - i));
  h->allocs[i] = *a;
  h->n++;
  return 0;
}

static emu_alloc *at(emu_heap *h, uint64_t offset) {
  int i = behind(h, offset);
  return i ? &h->allocs[i - 1] : NULL;
}

static int place(emu_heap *h, emu_alloc *a, err *e) {
  const uint64_t align = a->shared ? PAGE : ALIGN;
  const uint64_t need = round_up(a->nbytes, align) + RED_ZONE;
  a->offset = round_up(h->top, align);
  if (a->offset + need > h->reserved) {
    forget_dead(h);
    if (!find_gap(h, need, align, &a->offset)) {
      return err_set(e, ERR_NOMEM,
                     "the emulated device's addresses are too fragmented for %llu bytes",
                     (unsigned long long)a->nbytes);
    }
  }
  a->alive = true;
  a->serial = ++h->serial;
  TRY(insert(h, a, e));
  h->top = a->offset + need > h->top ? a->offset + need : h->top;
  h->used += a->nbytes;
  memset(h->state + a->offset, BYTE_ALLOCATED | (a->shared ? BYTE_WRITTEN : 0), a->nbytes);
  return 0;
}

static int allocate(emu_heap *h, emu_alloc *a, err *e) {
  pthread_mutex_lock(&h->lock);
  int rc = a->nbytes > h->bound || h->used + a->nbytes > h->bound
               ? err_set(e, ERR_NOMEM,
                         "out of emulated device memory: %llu bytes requested, %llu of %llu free",
                         (unsigned long long)a->nbytes, (unsigned long long)(h->bound - h->used),
                         (unsigned long long)h->bound)
               : place(h, a, e);
  pthread_mutex_unlock(&h->lock);
  return rc;
}

int emu_heap_alloc(emu_heap *h, uint64_t nbytes, const char *name, uint64_t *address, err *e) {
  emu_alloc a = {.nbytes = nbytes, .name = name};
  TRY(allocate(h, &a, e));
  *address = EMU_GLOBAL_BASE + a.offset;
  return 0;
}

/* The same pages twice: in the device's range, and for the host at the device's address. */
static bool map_twice(const emu_heap *h, const emu_alloc *a) {
  const uint64_t nbytes = pages_nbytes(a);
  const int protection = PROT_READ | PROT_WRITE;
  uint8_t *inside = h->data + a->offset;
  const int fd = memfd_create("shared with the emulated device", MFD_CLOEXEC);
  void *view = MAP_FAILED;
  if (fd >= 0 && !ftruncate(fd, (off_t)nbytes)) {
    view = mmap(host_view(a), nbytes, protection, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  }
  bool ok = view == host_view(a) &&
            mmap(inside, nbytes, protection, MAP_SHARED | MAP_FIXED, fd, 0) == inside;
  if (!ok && view != MAP_FAILED) {
    munmap(view, nbytes);
  }
  if (fd >= 0) {
    close(fd);
  }
  return ok;
}

/* The host has no access any more. */
static void unmap_view(const emu_heap *h, const emu_alloc *a) {
  munmap(host_view(a), pages_nbytes(a));
  mmap(h->data + a->offset, pages_nbytes(a), PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

int emu_heap_alloc_shared(emu_heap *h, uint64_t nbytes, uint64_t *address, err *e) {
  emu_alloc a = {.nbytes = nbytes, .shared = true};
  TRY(allocate(h, &a, e));
  *address = EMU_GLOBAL_BASE + a.offset;
  if (map_twice(h, &a)) {
    return 0;
  }
  pthread_mutex_lock(&h->lock);
  at(h, a.offset)->shared = false; /* releasing it unmaps nothing of the host's */
  pthread_mutex_unlock(&h->lock);
  emu_heap_release(h, *address);
  return err_set(e, ERR_DEVICE, "the host cannot map %llu bytes at the device's address 0x%llx",
                 (unsigned long long)nbytes, (unsigned long long)*address);
}

/* give the pages of a range back to the host; they read as zeros afterwards */
static void drop_pages(uint8_t *p, uint64_t nbytes) {
  uintptr_t first = ((uintptr_t)p + 4095) / 4096 * 4096,
            last = ((uintptr_t)p + nbytes) / 4096 * 4096;
  if (last > first) {
    madvise((void *)first, last - first, MADV_DONTNEED);
  }
}

bool emu_heap_release(emu_heap *h, uint64_t address) {
  pthread_mutex_lock(&h->lock);
  emu_alloc *a = at(h, address - EMU_GLOBAL_BASE);
  bool found = a && a->alive && a->offset == address - EMU_GLOBAL_BASE;
  if (found) {
    a->alive = false;
    a->name = NULL; /* it belongs to the module, which may be unloaded */
    h->used -= a->nbytes;
    memset(h->state + a->offset, BYTE_FREED, a->nbytes);
    if (a->shared) {
      unmap_view(h, a);
    } else {
      drop_pages(h->data + a->offset, a->nbytes);
    }
    drop_pages((uint8_t *)(h->tag + a->offset / 2), 2 * a->nbytes);
  }
  pthread_mutex_unlock(&h->lock);
  return found;
}

uint8_t *emu_heap_host(emu_heap *h, uint64_t address, uint64_t n) {
  pthread_mutex_lock(&h->lock);
  emu_alloc *a = at(h, address - EMU_GLOBAL_BASE);
  uint64_t inside = a ? address - EMU_GLOBAL_BASE - a->offset : 0;
  bool ok = a && a->alive && inside <= a->nbytes && n <= a->nbytes - inside;
  pthread_mutex_unlock(&h->lock);
  return ok ? h->data + (address - EMU_GLOBAL_BASE) : NULL;
}

bool emu_heap_at(emu_heap *h, uint64_t address, emu_alloc *out) {
  pthread_mutex_lock(&h->lock);
  emu_alloc *a = at(h, address - EMU_GLOBAL_BASE);
  bool inside = a && address - EMU_GLOBAL_BASE - a->offset < a->nbytes;
  if (inside) {
    *out = *a;
  }
  pthread_mutex_unlock(&h->lock);
  return inside;
}

bool emu_heap_extent(emu_heap *h, uint64_t address, uint64_t *offset, uint64_t *nbytes) {
  emu_alloc a;
  bool inside = emu_heap_at(h, address, &a);
  if (inside) {
    *offset = a.offset;
    *nbytes = a.nbytes;
  }
  return inside;
}

void emu_heap_move_states(uint8_t *to, const uint8_t *from, uint64_t n) {
  const uint8_t constant = n ? *to & BYTE_CONST : 0;
  memmove(to, from, n);
  for (uint64_t i = 0; i < n; i++) {
    to[i] = (uint8_t)((to[i] & ~BYTE_CONST) | constant);
  }
}

void emu_heap_mark_written(emu_heap *h, uint64_t address, uint64_t n) {
  uint8_t *state = h->state + (address - EMU_GLOBAL_BASE);
  if (n) { /* kernels still may not write what is constant */
    memset(state, BYTE_ALLOCATED | BYTE_WRITTEN | (*state & BYTE_CONST), n);
  }
}

void emu_heap_describe(emu_heap *h, uint64_t address, str *out) {
  pthread_mutex_lock(&h->lock);
  uint64_t offset = address - EMU_GLOBAL_BASE;
  emu_alloc *a = offset < h->reserved ? at(h, offset) : NULL;
  if (!a) {
    str_addf(out, "address 0x%llx belongs to no allocation", (unsigned long long)address);
  } else {
    uint64_t inside = offset - a->offset;
    str_addf(out, "address 0x%llx is ", (unsigned long long)address);
    if (inside < a->nbytes) {
      str_addf(out, "byte %llu of", (unsigned long long)inside);
    } else {
      str_addf(out, "%llu bytes past the end of", (unsigned long long)(inside - a->nbytes));
    }
    str_addf(out, " %s%s %s%s%u (%llu bytes)", a->alive ? "" : "the freed ",
             a->name ? "variable" : "allocation", a->name ? a->name : "", a->name ? " " : "#",
             a->serial, (unsigned long long)a->nbytes);
  }
  pthread_mutex_unlock(&h->lock);
}
