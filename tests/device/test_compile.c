/* test_compile.c -- CUDA text to images; needs NVRTC and no GPU. Without NVRTC only the parser of
 * logs is tested, and the other tests are skipped. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "compile.h"
#include "compile_include.h"
#include "compile_log.h"
#include "compiler_option.h"
#include "gen.h"
#include "device_link.h"

typedef struct bed { /* what every test lies on */
  rt_compiler *c;
  rt_image image;
  arena a;
  err e;
} bed;

static int set_up(void **state) {
  bed *b = calloc(1, sizeof *b);
  *state = b;
  rt_image_init(&b->image);
  if (rt_compiler_open(&b->c, &b->e)) {
    printf("no compiler: %s\n", b->e.message);
  }
  err_clear(&b->e);
  return 0;
}

static int tear_down(void **state) {
  bed *b = *state;
  rt_compiler_close(b->c);
  rt_image_clear(&b->image);
  arena_clear(&b->a);
  free(b);
  return 0;
}

#define BED_TEST(name) TEST_ON(name, bed, b, state_of, set_up, tear_down)

static int compile(bed *b, const char *text, const char *arch) {
  rt_source s = {.text = text, .arch = arch};
  if (!b->c) {
    skip_because("no NVRTC");
  }
  err_clear(&b->e);
  return rt_compile(b->c, &s, &b->a, &b->image, &b->e);
}

static const char two_kernels[] =
    "__device__ __noinline__ float slow(const float *x) { float v[50]; for (int i = 0; i < 50; "
    "i++)\n"
    "  v[i] = x[i] * x[i + 1]; return v[(int)x[0]]; }\n"
    "extern \"C\" __global__ void first(float *y) { __shared__ float s[100];\n"
    "  s[threadIdx.x] = y[threadIdx.x]; __syncthreads(); y[threadIdx.x] = s[threadIdx.x ^ 1]; }\n"
    "extern \"C\" __global__ void second(float *y) { y[0] = slow(y); }\n";

static const rt_kernel_info *kernel(const rt_image *image, const char *name) {
  for (size_t i = 0; i < image->n_kernels; i++) {
    if (!strcmp(image->kernels[i].name, name)) {
      return &image->kernels[i];
    }
  }
  fail_msg("no kernel %s", name);
  return NULL;
}

BED_TEST(test_cubin) {
  assert_int_equal(compile(b, two_kernels, "sm_90"), 0);
  assert_true(b->image.cubin.n > 1000);
  assert_memory_equal(b->image.cubin.p, "\177ELF", 4);
  assert_non_null(strstr(str_text(&b->image.ptx), ".target sm_90"));
  assert_int_equal(strlen(b->image.ptx.p), b->image.ptx.n);
  assert_int_equal(b->image.n_kernels, 2);
  assert_int_equal(kernel(&b->image, "first")->smem_static, 400);
  assert_int_equal(kernel(&b->image, "first")->stack, 0);
  assert_in_range(kernel(&b->image, "first")->regs, 1, 255);
  assert_int_equal(kernel(&b->image, "second")->smem_static, 0);
  assert_true(b->image.sec > 0);
}

BED_TEST(test_ptx_only) {
  assert_int_equal(compile(b, two_kernels, "compute_90"), 0);
  assert_int_equal(b->image.cubin.n, 0);
  assert_int_equal(b->image.n_kernels, 0);
  assert_non_null(strstr(str_text(&b->image.ptx), ".entry second"));
}

/* An image can be compiled into again; the same source gives the same bytes. */
BED_TEST(test_same_bytes) {
  auto_str first = {0};
  assert_int_equal(compile(b, two_kernels, "sm_90"), 0);
  str_add_n(&first, b->image.cubin.p, b->image.cubin.n);
  assert_int_equal(compile(b, two_kernels, "sm_90"), 0);
  assert_int_equal(first.n, b->image.cubin.n);
  assert_memory_equal(first.p, b->image.cubin.p, first.n);
}

BED_TEST(test_options_of_the_text) {
  static const char text[] =
      "extern \"C\" __global__ void k(float *y) { y[threadIdx.x] = sinf(y[threadIdx.x]) * X; }\n";
  char with[300], key[HASH_TEXT];
  snprintf(with, sizeof with,
           "// compiler options: --use_fast_math -DX=2 --maxrregcount=40 --std=c++20 "
           "--ptxas-options=-O1 --ptxas-options=-dlcm=cg\n%s",
           text);
  assert_ok(compile(b, with, "sm_90"), &b->e);
  assert_non_null(strstr(str_text(&b->image.ptx), "sin.approx"));
  strcpy(key, b->image.key);
  snprintf(with, sizeof with, "// compiler options: -DX=2\n%s", text);
  assert_int_equal(compile(b, with, "compute_90"), 0);
  assert_null(strstr(str_text(&b->image.ptx), "sin.approx"));
  assert_string_not_equal(key, b->image.key);
  snprintf(with, sizeof with, "// compiler options: -DX=2 --pre-include=/etc/passwd\n%s", text);
  assert_fails(compile(b, with, "compute_90"), &b->e, ERR_USAGE, "'--pre-include=/etc/passwd' is");
}

/* Textures compile although --minimal leaves out their declarations at first. */
BED_TEST(test_textures) {
  assert_int_equal(compile(b,
                           "extern \"C\" __global__ void t(cudaTextureObject_t x, float *y) {\n"
                           "  y[threadIdx.x] = tex1Dfetch<float>(x, threadIdx.x); }\n",
                           "compute_90"),
                   0);
  assert_non_null(strstr(str_text(&b->image.ptx), "tex.1d"));
}

BED_TEST(test_spills) {
  assert_int_equal(
      compile(
          b,
          "extern \"C\" __global__ void __launch_bounds__(1024, 2) b(float *y) { float v[64];\n"
          "for (int i = 0; i < 64; i++) v[i] = y[i * 1024 + threadIdx.x];\n"
          "__syncthreads();\n"
          "for (int i = 0; i < 64; i++) y[i * 1024 + threadIdx.x] = v[i] * v[(i * 7) & 63]; }\n",
          "sm_90"),
      0);
  assert_true(kernel(&b->image, "b")->spill_stores > 0);
  assert_true(kernel(&b->image, "b")->spill_loads > 0);
  assert_true(kernel(&b->image, "b")->stack > 0);
  assert_int_equal(kernel(&b->image, "b")->regs, 32);
}

BED_TEST(test_error_place) {
  assert_int_equal(
      compile(b,
              "#line 40 \"templates/saxpy/saxpy.lua\"\n"
              "extern \"C\" __global__ void b(float *y) {\n  int unused;\n  y[0] = zzz;\n}",
              "sm_90"),
      ERR_COMPILE);
  assert_string_equal(b->e.place, "templates/saxpy/saxpy.lua:42");
  assert_string_equal(b->e.message, "identifier \"zzz\" is undefined");
  assert_non_null(strstr(str_text(&b->image.log), "never referenced"));
}

BED_TEST(test_ptxas_error) {
  assert_int_equal(compile(b,
                           "extern \"C\" __global__ void b(float *y) { __shared__ float s[20000];\n"
                           "s[threadIdx.x] = y[0]; __syncthreads(); y[1] = s[threadIdx.x ^ 1]; }",
                           "sm_90"),
                   ERR_COMPILE);
  assert_non_null(strstr(b->e.message, "too much shared data"));
  assert_int_equal(strlen(b->image.log.p), b->image.log.n);
}

BED_TEST(test_bad_arch) {
  static const char *const bad[] = {"sm_43",   "sm_", "compute_9000", "ninety", "sm_90x",
                                    "sm_90ab", ""};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(compile(b, two_kernels, bad[i]), ERR_USAGE);
    assert_non_null(strstr(b->e.message, " 90 "));
  }
  assert_int_equal(compile(b, two_kernels, "sm_90a"), 0);
}

static void key_of(bed *b, const char *text, size_t body, const char *arch, int lineinfo,
                   char key[HASH_TEXT]) {
  rt_image_key(b->c, &(rt_source){text, body, arch, lineinfo}, key);
}

static const char launches[] = "// compiler options: -rdc=true\n"
                               "extern \"C\" __global__ void child(float *y) { *y = 1; }\n"
                               "extern \"C\" __global__ void parent(float *y) {\n"
                               "  child<<<1, 1, 0, cudaStreamFireAndForget>>>(y); }\n";

/* The type in an ELF file's header: 1 is relocatable, 2 can be loaded. */
static int elf_type(const str *image) {
  assert_true(image->n > 64 && !memcmp(image->p, "\177ELF", 4));
  return (unsigned char)image->p[16];
}

/* Kernels that launch kernels are linked with the device runtime; their PTX is left as it is. */
BED_TEST(test_relocatable) {
  if (b->c && !rt_link_is_here()) {
    skip_because("no nvJitLink");
  }
  assert_int_equal(compile(b, launches, "sm_90"), 0);
  assert_int_equal(elf_type(&b->image.cubin), 2);
  assert_true(b->image.n_kernels == 2);
  assert_int_equal(compile(b, launches, "compute_90"), 0);
  assert_non_null(strstr(str_text(&b->image.ptx), ".extern .func"));
}

BED_TEST(test_no_device_runtime) {
  setenv("AUTOTUNE_CUDADEVRT", "/nonexistent/libcudadevrt.a", 1);
  const bool here = rt_link_is_here();
  const int rc = b->c ? compile(b, launches, "sm_90") : 0;
  unsetenv("AUTOTUNE_CUDADEVRT");
  assert_false(here);
  if (!b->c) {
    skip_because("no NVRTC");
  }
  assert_int_equal(rc, ERR_DEVICE);
  assert_string_equal(b->e.message,
                      "AUTOTUNE_CUDADEVRT is /nonexistent/libcudadevrt.a, which cannot be read");
}

TEST(test_is_relocatable) {
  assert_true(compiler_options_relocatable("// compiler options: -w -rdc=true\n"));
  assert_true(
      compiler_options_relocatable("// compiler options: --relocatable-device-code=true\n"));
  assert_false(compiler_options_relocatable("// compiler options: -rdc=true -rdc=false\n"));
  assert_false(
      compiler_options_relocatable("__global__ void k() {}\n// compiler options: -rdc=true\n"));
}

BED_TEST(test_key) {
  char key[HASH_TEXT], other[HASH_TEXT];
  if (!b->c) {
    skip_because("no NVRTC");
  }
  key_of(b, "// by A\n__device__ int x;", 8, "sm_90", 0, key);
  key_of(b, "// by somebody else\n__device__ int x;", 20, "sm_90", 0, other);
  assert_string_equal(key, other);
  key_of(b, "// by A\n__device__ int y;", 8, "sm_90", 0, other);
  assert_string_not_equal(key, other);
  key_of(b, "// by A\n__device__ int x;", 8, "sm_80", 0, other);
  assert_string_not_equal(key, other);
  key_of(b, "// by A\n__device__ int x;", 8, "sm_90", 1, other);
  assert_string_not_equal(key, other);
  assert_int_equal(compile(b, "__device__ int x;", "sm_90"), 0);
  assert_string_equal(key, b->image.key);
}

BED_TEST(test_lineinfo) {
  rt_source s = {.text =
                     "#line 7 \"mine.lua\"\nextern \"C\" __global__ void b(int *y) { y[0] = 1; }",
                 .arch = "compute_90",
                 .lineinfo = 1};
  if (!b->c) {
    skip_because("no NVRTC");
  }
  assert_int_equal(rt_compile(b->c, &s, &b->a, &b->image, &b->e), 0);
  assert_non_null(strstr(str_text(&b->image.ptx), "mine.lua"));
  assert_non_null(strstr(str_text(&b->image.ptx), ".loc"));
}

BED_TEST(test_headers) {
  assert_int_equal(compile(b, "#include <nosuch.h>\n", "sm_90"), ERR_COMPILE);
  assert_string_equal(b->e.place, "kernel.cu:1");
  if (strstr(b->e.message, "no directories")) {
    skip_because("NVRTC without the toolkit's headers");
  }
  assert_int_equal(
      compile(b,
              "#include <cuda_fp16.h>\n"
              "extern \"C\" __global__ void h(__half *y) { y[0] = __hadd(y[0], y[1]); }",
              "sm_90"),
      0);
}

/* The message names the library of AUTOTUNE_NVRTC, and no other is taken. */
TEST(test_no_library) {
  rt_compiler *c;
  err e = {0};
  setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
  assert_int_equal(rt_compiler_open(&c, &e), ERR_DEVICE);
  assert_null(c);
  assert_non_null(strstr(e.message, "/nowhere/libnvrtc.so"));
  setenv("AUTOTUNE_NVRTC", "libm.so.6", 1);
  err_clear(&e);
  assert_int_equal(rt_compiler_open(&c, &e), ERR_DEVICE);
  assert_non_null(strstr(e.message, "nvrtcVersion"));
  unsetenv("AUTOTUNE_NVRTC");
}

/* A log of ptxas 12, with a function that was not inlined. */
BED_TEST(test_log_kernels) {
  static const char log[] =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'one' for 'sm_86'\n"
      "ptxas info    : Function properties for one\n"
      "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 40 registers, 8192 bytes smem, 380 bytes cmem[0]\n"
      "ptxas info    : Function properties for _Z4slowPKf\n"
      "    200 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'two' for 'sm_86'\n"
      "ptxas info    : Used 255 registers\n"
      "ptxas info    : Compiling entry function 'cut";
  const rt_kernel_info *k;
  size_t n;
  assert_int_equal(log_kernels(log, &b->a, &k, &n, &b->e), 0);
  assert_int_equal(n, 3);
  assert_string_equal(k[0].name, "one");
  assert_int_equal(k[0].regs, 40);
  assert_int_equal(k[0].smem_static, 8192);
  assert_int_equal(k[0].stack, 8);
  assert_int_equal(k[0].spill_stores, 12);
  assert_int_equal(k[0].spill_loads, 16);
  assert_string_equal(k[1].name, "two");
  assert_int_equal(k[1].regs, 255);
  assert_int_equal(k[1].smem_static, 0);
  assert_string_equal(k[2].name, "cut");
  assert_int_equal(log_kernels("", &b->a, &k, &n, &b->e), 0);
  assert_int_equal(n, 0);
}

/* A text includes headers of the toolkit, and no other file of the machine. */
TEST(test_includes) {
  static const char *const good[] = {
      "#include <cuda_fp16.h>\n# include \"cub/cub.cuh\"\n",
      "#include <cuda/std/array> // of libcu++\n",
      "// what #include reads\nint a = '#'; // 100 %\n",
      "#define TEXT(include) #include\n",
      "#included /etc/passwd\n",
  };
  static const char *const bad[] = {
      "#include \"/etc/passwd\"\n",
      "#include </etc/passwd>\n",
      "int a;\n\t # /* a\n */ include /**/ <../../../etc/passwd>\n",
      "#include \"x/../../etc/passwd\"\n",
      "#include \"..\"",
      "#inc\\\nlude \"/etc/passwd\"\n",
      "#inc?\?/\nlude \"/etc/passwd\"\n",
      "/* a\n */ #include \"/etc/passwd\"\n",
      "%:include \"/etc/passwd\"\n",
      "?\?=include \"/etc/passwd\"\n",
      "#include_next \"/etc/passwd\"\n",
      "#define FILE </etc/passwd>\n#include FILE\n",
      "#include \"Makefile\"\n",
  };
  err e = {0};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_ok(include_check(good[i], &e), &e);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    err_clear(&e);
    assert_fails(include_check(bad[i], &e), &e, ERR_COMPILE, "#include of ");
  }
}

static volatile sig_atomic_t n_signals;

static void count_signal(int number) {
  (void)number;
  n_signals++;
}

/* NVRTC's own handlers end the program by exit. */
BED_TEST(test_signal) {
  auto_str text = {0};
  const struct sigaction counting = {.sa_handler = count_signal};
  struct sigaction before;
  str_add(&text, "extern \"C\" __global__ void one(float *y) { float x = threadIdx.x;\n");
  for (int i = 0; i < 600; i++) {
    str_addf(&text, "if (x > %d) x = x * y[%d] + %d;\n", i, i % 64, i);
  }
  str_add(&text, "*y = x; }\n");
  const rt_source source = {str_text(&text), 0, "compute_90", 1, 0};
  sigaction(SIGTERM, &counting, &before);
  const pid_t child = fork();
  if (!child) {
    usleep(50000);
    _exit(kill(getppid(), SIGTERM));
  }
  assert_ok(rt_compile(b->c, &source, &b->a, &b->image, &b->e), &b->e);
  waitpid(child, NULL, 0);
  sigaction(SIGTERM, &before, NULL);
  assert_int_equal(n_signals, 1);
  assert_true(b->image.ptx.n > 0);
}

TEST(test_log_error) {
  static const struct {
    const char *log, *place, *message;
  } cases[] = {
      {"a.lua(3): warning #1-D: an error: maybe\n  x(1): error: no\nb.lua(5): error #20-D: bad\n",
       "b.lua:5", "bad"},
      {"k.cu(1): catastrophic error: cannot open \"a: b\"\n", "k.cu:1", "cannot open \"a: b\""},
      {"ptxas application ptx input, line 26; error   : Unknown modifier\n", "",
       "ptxas: Unknown modifier (line 26 of the PTX)"},
      {"ptxas error   : too much\n", "", "ptxas: too much"},
      {"nvrtc: error: unrecognized option --foo found\n", "",
       "NVRTC: unrecognized option --foo found"},
      {"odd(name): error: x\n", "", "x"},
      {"", "", "fallback"},
      {"nothing to see", "", "fallback"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    err e = {0};
    assert_int_equal(log_error(cases[i].log, "fallback", &e), ERR_COMPILE);
    assert_string_equal(e.place, cases[i].place);
    assert_string_equal(e.message, cases[i].message);
  }
}

/* Wherever a log is cut off, as by a full disk, nothing is read past its end. */
BED_TEST(test_log_cut) {
  static const char log[] =
      "a.lua(3): error: x\nptxas application ptx input, line 26; error   : y\n"
      "ptxas info    : Compiling entry function 'one' for 'sm_86'\n"
      "ptxas info    : Function properties for one\n"
      "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 40 registers, 8192 bytes smem\nnvrtc: error: z\n";
  for (size_t i = 0; i < sizeof log; i++) {
    const rt_kernel_info *k;
    size_t n;
    char *cut = malloc(i + 1); /* exact, for AddressSanitizer */
    memcpy(cut, log, i);
    cut[i] = 0;
    err_clear(&b->e);
    assert_int_equal(log_kernels(cut, &b->a, &k, &n, &b->e), 0);
    assert_int_equal(log_error(cut, "none", &b->e), ERR_COMPILE);
    free(cut);
  }
}

int main(void) {
  return tests_run();
}
