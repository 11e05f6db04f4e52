/* test_family_mistakes.c -- the check finds a mistake in each family: one line of the template is
 * changed, and its default must come out wrong.
 *   build/tests/test_family_mistakes [--device NAME] */
#define _GNU_SOURCE
#include <unistd.h>

#include "family_fixture.h"

/* The order in which files are searched: FAMILY.lua or FAMILY.cu, then FAMILY_*.cu, FAMILY_*.cuh,
 * other .cuh, other files. */
static int rank_of(const char *file, const char *family) {
  const size_t n = strlen(family);
  const char *after = file + n, *dot = strrchr(file, '.');
  const bool own = !strncmp(file, family, n);
  const bool header = !strcmp(dot, ".cuh");
  if (own && after == dot) {
    return 5;
  }
  return own && *after == '_' ? 4 - header : 1 + header;
}

static const char *file_with(const char *family, const char *text) {
  const char *found = NULL;
  int best = 0;
  for (const gen_file *f = gen_builtin; f->name; f++) {
    const int rank = strstr(f->text, text) ? rank_of(f->name, family) : 0;
    found = rank > best ? f->name : found;
    best = rank > best ? rank : best;
  }
  return found;
}

/* Copies the family to a folder of its own, with one piece of text replaced. */
static void write_broken(bed *b, const char *folder, const char *family, const char *from,
                         const char *to) {
  const char *broken = file_with(family, from);
  assert_non_null(broken);
  for (const gen_file *f = gen_builtin; f->name; f++) {
    const char *at = strstr(f->text, from);
    char *path = arena_format(&b->a, "%s/%s", folder, f->name);
    char *text = arena_text(&b->a, f->text);
    if (!strcmp(f->name, broken)) {
      text = arena_format(&b->a, "%.*s%s%s", (int)(at - f->text), f->text, to, at + strlen(from));
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
  }
}

static void remove_broken(bed *b, const char *folder) {
  for (const gen_file *f = gen_builtin; f->name; f++) {
    assert_int_equal(unlink(arena_format(&b->a, "%s/%s", folder, f->name)), 0);
  }
  assert_int_equal(rmdir(folder), 0);
}

static int check_broken(bed *b, const char *family, const char *problem, const char *from,
                        const char *to, const char *config) {
  char folder[] = "/tmp/templates-XXXXXX";
  assert_non_null(mkdtemp(folder));
  write_broken(b, folder, family, from, to);
  const char *folders[] = {folder};
  gen_options o = {.folders = folders, .n_folders = 1};
  bed_kernel s = bed_problem_open(b, &o, family, problem);
  rt_harness *bench = family_bench(b, &s);
  gen_config c;
  gen_config_default(s.t, &c);
  c = config ? bed_config(b, &s, config) : c;
  int rc = family_check(b, &s, bench, &c, 0);
  rt_harness_free(bench);
  bed_kernel_close(&s);
  remove_broken(b, folder);
  return rc;
}

/* Positions of more than 30 bits take other code; sorting so many keys would take too long here. */
BED_TEST(radix_sort_has_wide_positions) {
  assert_ok(check_broken(b, "radix_sort", "n=3001 value_bytes=4",
                         "sel(n < 2^30 and ALG ~= 'any_bits', 0, 1)", "1", NULL),
            &b->e);
}

/* A line of a template, its replacement, and where the check of a configuration finds the
 * mistake. */
static const struct {
  const char *family, *problem, *right, *wrong, *place;
  const char *config; /* NULL: the default */
} mistakes[] = {
    /* the tolerance is smaller than any one product or element */
    {"sgemm", "m=20 n=20 k=50", "B += zero;", "B += zero, k -= k > 0;", "C["},
    {"reduce", "n=1000", "if (i + c * BLOCK < vectors)", "if (i + c * BLOCK + 1 < vectors)", "y["},
    {"scan", "n=3000", "combine(warp > 0 ? before", "combine(warp > 1 ? before", "y["},
    {"segmented_reduce", "n=1000 segments=30",
     "i * VEC < s.end; i +=", "i * VEC + 1 < s.end; i +=", "y["},
    {"segmented_scan", "n=1000 segments=30", "sum = combine(sum, (wide)total)", "sum = (wide)total",
     "y["},
    {"histogram", "n=1000", "if (Counters::counts(bin)) counters.add", "if (bin > 0) counters.add",
     "y["},
    {"argmax", "n=5000 dtype=i32 keys=20", "x.at < y.at :", "x.at > y.at :", "y["},
    {"merge", "m=1000 value=4 keys=9", "b_first + source - a_count]",
     "b_first + (source - a_count) / 2]", "cv["},
    {"merge_sort", "n=9000", "t.start + i * run + from.of[i],",
     "t.start + i * run + from.of[i] / 2 * 2,", "y["},
    {"merge_sort", "n=1500", "to[i] = key_of(one)", "to[i] = key_of(all[i / 2])", "y[",
     "ALG=sample_passes,NETWORK=batcher,WARP_MERGE=shuffle,SORT_BLOCK=64,SORT_ITEMS=4,SPLITTERS=32,"
     "OVERSAMPLE=8,FILL=3,BLOCK=64,ITEMS=4"},
    {"merge_sort", "n=1000", "max(at, partner) < n", "at < n", "y[",
     "ALG=bitonic,SORT_BLOCK=64,SORT_ITEMS=16"},
    {"transpose", "rows=40 cols=33", "* cols + column));", "* cols + column / 2 * 2));", "y["},
    {"radix_sort", "n=1000", "(1u << max(bits, 0)) - 1", "(1u << max(bits - 1, 0)) - 1",
     "keys_out["},
    /* equal keys change places */
    {"radix_sort", "n=1000 value_bytes=4 words=64", "each(i, r);",
     "each(i, same == 0xffffffff ? ((r - 1) ^ 1) + 1 : r);", "values_out["},
    {"segmented_sort", "n=900 segments=40", "lanes <= LANES", "lanes < LANES", "keys_out["},
    {"segmented_sort", "n=9000 segments=2", "t.tile > 0 ? look_back(own + bin, t.tile, epoch) :",
     "t.tile > 1 ? look_back(own + bin, t.tile, epoch) :", "keys_out["},
    {"copy", "n=1001 size=1", "if (i < w.count)", "if (i + 1 < w.count)", "y["},
    /* tests place x and y where ALIGN=y has bytes to shift */
    {"copy", "n=1001 size=1 align=1", "shift % 4 * 8", "0", "y[",
     "BLOCK=64,BLOCKS=1,WIDTH=16,COARSE=1,ALIGN=y,ORDER=interleaved,LOAD=plain,STORE=plain"},
    {"stencil", "nx=20 order=2 border=periodic", "neighbour(0, d, 0), sum",
     "neighbour(0, d, d / 2), sum", "v["},
    {"gemm_batched", "m=6 batch=9", "for (int p = 0; p < depth", "for (int p = KV; p < depth",
     "C["},
    {"gemm", "m=20 n=20 k=50", "p + y < k ? widen(A", "p + y + 1 < k ? widen(A", "C["},
    {"gemm", "m=20 n=20 k=5", "beta == 0 || excludes", "excludes", "C["},
    {"gemm_batched", "m=6 batch=9", "beta == 0 ? vector<V>() : *at", "*at", "C["},
    {"gemv", "m=40 n=50", "alpha == 0 ? 0 : depth,", "alpha == 0 ? 0 : depth - 1,", "y["},
    {"gemv", "m=40 n=50", "{(wide)alpha, (wide)beta,", "{(wide)alpha, (wide)beta + 1,", "y["},
    {"dot", "n=1000 unit=0", "WHOLE || i < vectors", "WHOLE || i + 1 < vectors", "result["},
    {"vector_add", "n=30 rows=5 ld=33", "row < rows; row +=", "row + 1 < rows; row +=", "c["},
    {"bezier", "curves=300", "threadIdx.x - odd; i < points", "threadIdx.x - odd; i + 1 < points",
     "out["},
    {"bezier", "curves=300", "if (lane >= d) sum += left;", "if (lane > d) sum += left;",
     "valid elements, the reference"},
    {"quadtree", "n=900 min_points=8", "(way + q + 1) << shift", "(way + 2 * q + 1) << shift",
     "the check 'points are in their boxes' finds"},
    {"quadtree", "n=900 min_points=8", "node.count > min_points && level < max_depth;",
     "node.count > min_points + 1 && level < max_depth;",
     "the check 'counts of children add up' finds"},
    {"quadtree", "n=900 min_points=8", "unsigned)from : point_from",
     "unsigned)(from | 1) : point_from", "the check 'each point once' finds"},
    {"ripple", "dim=20", "128.0f)), 255,", "128.0f)), 254,", "400 elements"},
    {"ripple", "dim=20", "TURN), -phase)", "TURN), phase)", "elements are wrong"},
    {"box_blur", "width=70 height=9 border=mirror", "period - at", "period - at - 1", "dst["},
    {"coulomb", "nx=20 ny=9 n=50", "fmaf(dv, dv, fmaf(du, du, soft2))",
     "fmaf(dv, du, fmaf(du, du, soft2))", "energy["},
    {"coulomb", "nx=20 ny=9 n=50 reach=6", "fmaf(cutoff, cutoff", "fmaf(cutoff, 1.1f * cutoff",
     "energy["},
    {"conv1d", "nx=200", "at : at - rx", "at : at - rx + 1", "y["},
    {"conv2d", "nx=20 ny=9 border=mirror", "row + j - skip_y", "row + j - skip_x + 1", "y["},
    {"conv3d", "nx=12 ny=7 nz=5", "plane + k - skip_z", "plane + k - skip_z + 1", "y["},
    {"rgb_to_grey", "width=70 height=9", "widen(colour<1>", "widen(colour<2>", "dst["},
    {"julia", "width=20 iterations=40", "STEPS - 1; s++", "STEPS - 2; s++", "elements are wrong"},
    {"julia", "width=20 iterations=40", "point p = {};\n  p.x = __fmul_rn((float)(column",
     "point p = {};\n  p.x = __fmul_rn((float)(1 + column", "elements are wrong"},
    {"julia", "width=60 iterations=40 accuracy=fma", "fmaf(2.0f, __fmul_rn(",
     "fmaf(1.999f, __fmul_rn(", "elements are wrong"},
    {"fhd", "m=20 nx=9", "fmaf(p.z, z, p.phase)", "fmaf(p.z, y, p.phase)", "re["},
    {"mri_q", "m=20 nx=9", "u, -4.93479552f)", "u, -4.93f)", "re["},
    {"cmp_mu", "m=20", "-iphi[c].e[e] * rd", "iphi[c].e[e] * rd", "imu["},
    {"bfs", "matrix=grid2d side=5", "s.depth = k + 1", "s.depth = k", "level["},
    {"bfs", "matrix=grid2d side=5 parents=yes", "s.parent[u] = v;", "s.parent[u] = u;",
     "the check 'tree' finds"},
    {"spmv", "rows=40 nnz=300", "j >= begin && j < end ? x", "j > begin && j < end ? x", "y["},
    {"spmv", "rows=40 nnz=300 format=coo", "row_of[middle] < row", "row_of[middle] <= row", "y["},
    {"spmv", "rows=40 nnz=300", "if (beta != 0) v +=", "v +=", "y["},
    /* with beta 0 C must not be read: it may hold anything */
    {"sgemm", "m=20 n=20 k=5", "|| beta == 0 || first", "|| first", "C["},
};

BED_TEST(mistakes_are_found) {
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    assert_fails(check_broken(b, mistakes[i].family, mistakes[i].problem, mistakes[i].right,
                              mistakes[i].wrong, mistakes[i].config),
                 &b->e, ERR_WRONG, mistakes[i].place);
  }
}

/* NaNs and infinities of x reach only rows that have entries in their columns: padding is not multiplied. */
BED_TEST(padding_is_not_multiplied) {
  static const char *const configs[] = {"ALG=ell", "ALG=dia", "ALG=sell", "ALG=bsr,SIDE=3",
                                        "ALG=csr_vector,VEC=4"};
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    const int rc = check_broken(b, "spmv", "matrix=stencil5 side=9",
                                "count = \"cols\", fill = { \"uniform\", -1, 1 } }",
                                "count = \"cols\", fill = { \"lua\", function(i) return i == 0 and "
                                "0 / 0 or i == 40 and 1 / 0 or i % 7 end } }",
                                configs[i]);
    assert_ok(rc, &b->e);
  }
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
