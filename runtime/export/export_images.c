/* export_images.c -- images as tables in a C source; exported_images.h chooses among them. A choice
 * in C needs no tool of the toolkit, and the file can be read. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "export_parts.h"

/* Words of eight bytes: a compiler reads them several times faster than single ones. */
static void add_bytes(const export_image *image, size_t number, str *out) {
  const unsigned char *p = image->bytes;
  const size_t n = image->nbytes / 8 + 1; /* and at least one zero, which ends a PTX text */
  str_addf(out, "static const unsigned long long image_%zu[%zu] = {", number, n);
  for (size_t i = 0; i < n; i++) {
    unsigned long long word = 0;
    for (size_t k = 0; k < 8 && 8 * i + k < image->nbytes; k++) {
      word |= (unsigned long long)p[8 * i + k] << 8 * k;
    }
    str_addf(out, "%s0x%llx,", i % 8 ? "" : "\n  ", word);
  }
  str_add(out, "};\n");
}

static bool is_ptx(const export_image *image) {
  return strchr(image->arch, '_') && !strncmp(image->arch, "compute", 7);
}

static int version_of(const export_image *image) {
  const char *digits = strchr(image->arch, '_');
  return digits ? atoi(digits + 1) : 0;
}

/* The last version that it runs on. */
static int last_of(const export_image *image) {
  const int cc = version_of(image), major = cc / 10 * 10 + 9;
  const char letter = *image->arch ? image->arch[strlen(image->arch) - 1] : 0;
  return letter == 'a' ? cc : letter == 'f' || !is_ptx(image) ? major : INT_MAX;
}

void export_images(const export_image *images, size_t n_sources, size_t n_archs, str *out) {
  str_add(out, "/* little-endian, as every host of a GPU is */\n");
  for (size_t i = 0; i < n_sources * n_archs; i++) {
    add_bytes(&images[i], i, out);
  }
  str_addf(out, "\nstatic const struct image images[%zu][%zu] = {\n", n_sources, n_archs);
  for (size_t i = 0; i < n_sources; i++) {
    str_add(out, "  {");
    for (size_t k = 0; k < n_archs; k++) {
      const export_image *image = &images[i * n_archs + k];
      str_addf(out, "%s{image_%zu, %d, %d, %d}", k ? ", " : "", i * n_archs + k, version_of(image),
               last_of(image), is_ptx(image));
    }
    str_add(out, "},\n");
  }
  str_add(out, "};\n\n");
}

/* Lines that include files of ours go, since these files stand here themselves. */
void export_text(const gen_file *files, const char *name, str *out) {
  const gen_file *f = files;
  while (strcmp(f->name, name) != 0) {
    f++;
  }
  for (const char *line = f->text, *end; *line; line = end) {
    end = strchr(line, '\n') + 1;
    if (strncmp(line, "#include \"", 10) != 0) {
      str_add_n(out, line, (size_t)(end - line));
    }
  }
  str_add(out, "\n");
}

int export_embed(const gen_template *t, const export_info *x, const export_image *images, size_t n,
                 const char *header, str *out, err *e) {
  const char *name;
  char upper[EXPORT_NAME];
  TRY(export_name(t, x, &name, upper, e));
  str_addf(out, "/* %s -- %s\n", name, t->brief ? t->brief : t->name);
  export_provenance(out, x, " *   ");
  str_addf(out, " *   %s\n *   %s\n */\n#include \"%s\"\n\n", x->problem, x->config, header);
  export_text(export_texts, "exported_images.h", out);
  export_images(images, 1, n, out);
  str_addf(
      out,
      "CUresult %s_load_module(CUdevice device, CUmodule *module) {\n"
      "  int cc;\n"
      "  CUresult rc = compute_capability(device, &cc);\n"
      "  if (rc != CUDA_SUCCESS) {\n    return rc;\n  }\n"
      "  const struct image *image = find_image(images[0], sizeof images[0] / sizeof **images, cc);\n"
      "  return image ? cuModuleLoadData(module, image->bytes) : CUDA_ERROR_NO_BINARY_FOR_GPU;\n"
      "}\n",
      name);
  return out->failed ? err_nomem(e) : 0;
}
