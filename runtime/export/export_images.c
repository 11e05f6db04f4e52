/* export_images.c -- images inside a C source, and the choice of the one that a device runs.
 *
 * Machine code runs on devices of its own major version from its minor version on; PTX on any from
 * its version on, compiled by the driver when it is loaded (CUDA Programming Guide, "Binary and PTX
 * compatibility"). Code for an architecture with a letter, sm_90a, runs on that version alone, that
 * of a family, sm_100f, on its major version. A choice in C needs no tool of the toolkit, and the
 * file can be read. */
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
  str_addf(out,
           "\nstatic const struct image {\n  const void *bytes;\n  int cc, last, ptx;\n} "
           "images[%zu][%zu] = {\n",
           n_sources, n_archs);
  for (size_t i = 0; i < n_sources; i++) {
    str_add(out, "  {");
    for (size_t k = 0; k < n_archs; k++) {
      const export_image *image = &images[i * n_archs + k];
      str_addf(out, "%s{image_%zu, %d, %d, %d}", k ? ", " : "", i * n_archs + k, version_of(image),
               last_of(image), is_ptx(image));
    }
    str_add(out, "},\n");
  }
  str_addf(
      out,
      "};\n\n"
      "/* Machine code that runs on this version; else PTX; the newest. */\n"
      "static const struct image *find_image(int source, int cc) {\n"
      "  const struct image *best = NULL;\n"
      "  int i;\n"
      "  for (i = 0; i < %zu; i++) {\n"
      "    const struct image *x = &images[source][i];\n"
      "    const int runs = x->cc <= cc && cc <= x->last;\n"
      "    if (runs && (!best || x->ptx < best->ptx || (x->ptx == best->ptx && x->cc > best->cc))) "
      "{\n"
      "      best = x;\n"
      "    }\n"
      "  }\n"
      "  return best;\n"
      "}\n\n",
      n_archs);
}

void export_compute_capability(str *out) {
  str_add(out,
          "static CUresult compute_capability(CUdevice device, int *cc) {\n"
          "  int major = 0, minor = 0;\n"
          "  CUresult rc = cuDeviceGetAttribute(&major, "
          "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);\n"
          "  if (rc == CUDA_SUCCESS) {\n"
          "    rc = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, "
          "device);\n"
          "  }\n"
          "  *cc = 10 * major + minor;\n"
          "  return rc;\n"
          "}\n\n");
}

int export_embed(const gen_template *t, const export_info *x, const export_image *images, size_t n,
                 const char *header, str *out, err *e) {
  const char *name;
  char upper[EXPORT_NAME];
  TRY(export_name(t, x, &name, upper, e));
  str_addf(out, "/* %s -- %s\n", name, t->brief ? t->brief : t->name);
  export_provenance(out, x, " *   ");
  str_addf(out, " *   %s\n *   %s\n */\n#include \"%s\"\n\n", x->problem, x->config, header);
  export_images(images, 1, n, out);
  export_compute_capability(out);
  str_addf(
      out,
      "CUresult %s_load_module(CUdevice device, CUmodule *module) {\n"
      "  int cc;\n"
      "  CUresult rc = compute_capability(device, &cc);\n"
      "  if (rc != CUDA_SUCCESS) {\n    return rc;\n  }\n"
      "  const struct image *image = find_image(0, cc);\n"
      "  return image ? cuModuleLoadData(module, image->bytes) : CUDA_ERROR_NO_BINARY_FOR_GPU;\n"
      "}\n",
      name);
  return out->failed ? err_set(e, ERR_NOMEM, "out of host memory") : 0;
}
