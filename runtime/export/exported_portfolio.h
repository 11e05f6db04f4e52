/* exported_portfolio.h -- part of exported C: what no template changes in a portfolio's functions.
 *
 * The text stands in a file that has defined
 *   NAME(f)                        the name of a public function, such as sgemm_open
 *   portfolio_state, problem       the structs of its header
 *   configs, nodes, groups, first  the variants of the portfolio's configurations and a tree over
 *                                  groups of them (chooser.h); `first` says where those of each
 *                                  configuration begin, those of the template's default last
 *   fits, read_fields, is_valid    the template's expressions over a problem
 *   place_workspaces, images, kernels
 * and with BY_MODELS, models, measured_sizes, differ and work_of (chooser_model.h). */
#ifndef EXPORTED_PORTFOLIO_H
#define EXPORTED_PORTFOLIO_H

/* ---- choosing ------------------------------------------------------------------------------- */

static int first_that_fits(const portfolio_state *k, const problem *p, int from, int to) {
  for (int i = from; i < to; i++) {
    if (fits(k, p, &configs[i])) {
      return i;
    }
  }
  return -1;
}

#ifdef BY_MODELS
static double seconds(const portfolio_state *k, const problem *p, const int64_t *values,
                      int variant, int base, const float *distances) {
  const chooser_work w = work_of(k, p, &configs[variant]);
  return chooser_cautious_seconds(&measured_sizes.fields, &models[base], values, &w,
                                  differ[variant], distances);
}

/* Of all variants: where the variant that a configuration takes for a problem is not here, another
 * configuration may have a faster one. -1: none fits. */
static int fastest(const portfolio_state *k, const problem *p, const int64_t *values) {
  float distances[CHOOSER_SIZES];
  double least = INFINITY;
  int best = -1;
  chooser_size_distances(&measured_sizes, values, distances);
  for (int base = 0; base < N_BASES; base++) {
    for (int i = first[base]; i < first[base + 1]; i++) {
      const double sec =
          fits(k, p, &configs[i]) ? seconds(k, p, values, i, base, distances) : INFINITY;
      if (sec < least) {
        least = sec;
        best = i;
      }
    }
  }
  return best;
}
#endif

static int choose(const portfolio_state *k, const problem *p) {
  int64_t values[N_FIELDS];
  int found = -1;
  read_fields(p, values);
#ifdef BY_MODELS
  found = fastest(k, p, values);
#endif
  const chooser_node *leaf = chooser_leaf(nodes, values);
  for (size_t i = 0; i < leaf->n_order && found < 0; i++) {
    found = first_that_fits(k, p, groups[leaf->order[i]], groups[leaf->order[i] + 1]);
  }
  return found < 0 ? first_that_fits(k, p, REST, N_CONFIGS) : found;
}

#ifdef __cplusplus
#define THREAD_LOCAL thread_local
#else
#define THREAD_LOCAL _Thread_local
#endif

/* A choice takes microseconds, and a program launches the same few problems many times: each thread
 * remembers what it chose, by the problem and the device's limits. */
enum { REMEMBERED = 64, N_LIMITS = offsetof(portfolio_state, modules) / sizeof(int64_t) };

struct remembered {
  int64_t fields[N_FIELDS], limits[N_LIMITS];
  int chosen; /* 0: none yet, else 1 more */
};

int NAME(choose)(const portfolio_state *k, const problem *p) {
  static THREAD_LOCAL struct remembered list[REMEMBERED];
  int64_t fields[N_FIELDS];
  uint64_t hash = 0;
  if (!is_valid(p)) {
    return -1;
  }
  memcpy(fields, p, sizeof fields);
  for (size_t i = 0; i < N_FIELDS; i++) {
    hash = (hash + (uint64_t)fields[i]) * UINT64_C(0x9e3779b97f4a7c15);
  }
  struct remembered *at = &list[hash >> 58];
  if (!at->chosen || memcmp(at->fields, fields, sizeof fields) != 0 ||
      memcmp(at->limits, k, sizeof at->limits) != 0) {
    at->chosen = choose(k, p) + 1;
    memcpy(at->fields, fields, sizeof fields);
    memcpy(at->limits, k, sizeof at->limits);
  }
  return at->chosen - 1;
}

double NAME(expected_loss)(const portfolio_state *k, const problem *p) {
  const int i = NAME(choose)(k, p);
  int64_t values[N_FIELDS];
  read_fields(p, values);
  return i < 0 || i >= first[N_BASES] ? -1 : chooser_leaf(nodes, values)->expected;
}

size_t NAME(workspace_nbytes)(const portfolio_state *k, const problem *p) {
  uint64_t at[N_WORKSPACES + 1];
  const int i = NAME(choose)(k, p);
  if (i < 0) {
    return 0;
  }
  place_workspaces(k, p, &configs[i], at);
  return (size_t)at[N_WORKSPACES];
}

/* ---- opening -------------------------------------------------------------------------------- */

static CUresult read_limits(portfolio_state *k, CUdevice device) {
  const struct {
    CUdevice_attribute attribute;
    int64_t *limit;
  } list[] = {{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &k->dev_sms},
              {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &k->dev_threads_block},
              {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &k->dev_threads_sm},
              {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &k->dev_blocks_sm},
              {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &k->dev_regs_block},
              {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &k->dev_regs_sm},
              {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &k->dev_smem_block},
              {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &k->dev_smem_sm},
              {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &k->dev_smem_reserved},
              {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &k->dev_l2},
              {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &k->dev_warp}};
  int value = 0;
  size_t memory = 0;
  CUresult rc = compute_capability(device, &value);
  k->dev_cc = value;
  for (size_t i = 0; i < sizeof list / sizeof *list && rc == CUDA_SUCCESS; i++) {
    rc = cuDeviceGetAttribute(&value, list[i].attribute, device);
    *list[i].limit = value;
  }
  if (rc == CUDA_SUCCESS) {
    rc = cuDeviceTotalMem(&memory, device);
  }
  k->dev_memory = (int64_t)memory;
  k->dev_links = 1;
  return rc;
}

/* A kernel may take all the shared memory there is, whatever a problem asks for. A module has only
 * the kernels that its configuration launches. */
static CUresult find_kernels(portfolio_state *k, int source) {
  for (int i = 0; i < N_KERNELS; i++) {
    CUfunction *f = &k->functions[source][i];
    int fixed = 0;
    CUresult rc = cuModuleGetFunction(f, k->modules[source], kernels[i]);
    if (rc == CUDA_ERROR_NOT_FOUND) {
      *f = NULL;
      continue;
    }
    if (rc == CUDA_SUCCESS) {
      rc = cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, *f);
    }
    if (rc == CUDA_SUCCESS) {
      rc = cuFuncSetAttribute(*f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              (int)k->dev_smem_block - fixed);
    }
    if (rc != CUDA_SUCCESS) {
      return rc;
    }
  }
  return CUDA_SUCCESS;
}

CUresult NAME(open)(portfolio_state *k, CUdevice device) {
  memset(k, 0, sizeof *k);
  CUresult rc = read_limits(k, device);
  for (int i = 0; i < N_SOURCES && rc == CUDA_SUCCESS; i++) {
    const struct image *image = find_image(images[i], N_ARCHS, (int)k->dev_cc);
    rc = image ? cuModuleLoadData(&k->modules[i], image->bytes) : CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (rc == CUDA_SUCCESS) {
      rc = find_kernels(k, i);
      k->overlaps = image->cc >= 90; /* older code does not wait for the kernel ahead */
    }
  }
  if (rc != CUDA_SUCCESS) {
    NAME(close)(k);
  }
  return rc;
}

void NAME(close)(portfolio_state *k) {
  for (int i = 0; i < N_SOURCES; i++) {
    if (k->modules[i]) {
      cuModuleUnload(k->modules[i]);
      k->modules[i] = NULL;
    }
  }
}

#endif
