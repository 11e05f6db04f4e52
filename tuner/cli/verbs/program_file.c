/* program_file.c -- see program_file.h. */
#define _GNU_SOURCE
#include "program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct image { /* of the file */
  const char *bytes;
  size_t n;
  const Elf64_Ehdr *header;
} image;

static bool inside(const image *f, uint64_t at, uint64_t n) {
  return at <= f->n && n <= f->n - at;
}

/* NULL: there is none of this index, or the file is damaged. */
static const Elf64_Shdr *section(const image *f, size_t i) {
  const uint64_t at = f->header->e_shoff + i * sizeof(Elf64_Shdr);
  const bool ok = i < f->header->e_shnum && f->header->e_shentsize == sizeof(Elf64_Shdr) &&
                  f->header->e_shoff % 8 == 0 && inside(f, at, sizeof(Elf64_Shdr));
  const Elf64_Shdr *s = ok ? (const Elf64_Shdr *)(const void *)(f->bytes + at) : NULL;
  return s && (s->sh_type == SHT_NOBITS || inside(f, s->sh_offset, s->sh_size)) ? s : NULL;
}

/* A text within a section of texts. */
static const char *text_at(const image *f, const Elf64_Shdr *s, uint64_t at) {
  const bool ok =
      s && s->sh_type == SHT_STRTAB && at < s->sh_size && !f->bytes[s->sh_offset + s->sh_size - 1];
  return ok ? f->bytes + s->sh_offset + at : "";
}

static bool has_device_code(const image *f) {
  const Elf64_Shdr *names = section(f, f->header->e_shstrndx), *s;
  for (size_t i = 0; (s = section(f, i)); i++) {
    if (!strcmp(text_at(f, names, s->sh_name), ".nv_fatbin")) {
      return true;
    }
  }
  return false;
}

/* The CUDA runtime among the libraries that it needs; NULL: none. */
static const char *needed_runtime(const image *f) {
  const Elf64_Shdr *s;
  for (size_t i = 0; (s = section(f, i)); i++) {
    const Elf64_Dyn *d = (const Elf64_Dyn *)(const void *)(f->bytes + s->sh_offset);
    const size_t n =
        s->sh_type == SHT_DYNAMIC && s->sh_offset % 8 == 0 ? s->sh_size / sizeof *d : 0;
    for (size_t k = 0; k < n && d[k].d_tag != DT_NULL; k++) {
      const char *name =
          d[k].d_tag == DT_NEEDED ? text_at(f, section(f, s->sh_link), d[k].d_un.d_val) : "";
      if (!strncmp(name, "libcudart.so", 12) || !strncmp(name, "libtuned_emu_cudart", 19)) {
        return name;
      }
    }
  }
  return NULL;
}

static int check(const image *f, const char *path, err *e) {
  const char *runtime = needed_runtime(f);
  if (!runtime) {
    return !has_device_code(f)
               ? 0
               : err_at(e, ERR_USAGE, path,
                        "it links the CUDA runtime statically, which leaves no place for the "
                        "emulated device: link it with nvcc -cudart shared");
  }
  return strncmp(runtime, "libcudart.so.1", 14) || runtime[14] == '2' || runtime[14] == '3'
             ? 0
             : err_at(e, ERR_USAGE, path, "it needs %s: compile it with CUDA 12 or 13", runtime);
}

int program_check(const char *path, err *e) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  image f = {0};
  int rc = 0;
  if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof *f.header) {
    f.n = (size_t)st.st_size;
    void *p = mmap(NULL, f.n, PROT_READ, MAP_PRIVATE, fd, 0);
    f.bytes = p == MAP_FAILED ? NULL : p;
  }
  f.header = (const Elf64_Ehdr *)(const void *)f.bytes;
  if (f.bytes && !memcmp(f.bytes, ELFMAG, SELFMAG) && f.bytes[EI_CLASS] == ELFCLASS64) {
    rc = check(&f, path, e);
  }
  if (f.bytes) {
    munmap((void *)(uintptr_t)f.bytes, f.n);
  }
  if (fd >= 0) {
    close(fd);
  }
  return rc;
}
