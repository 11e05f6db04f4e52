-- histogram: how many of n samples fall into each of a number of bins of equal width.
--
-- Counters are in global memory, shared by all blocks (ALG global) or in several copies that a
-- second step adds up (global_private), or in shared memory (shared), where every block has COPIES
-- of them, so that threads which meet the same bin hinder each other less. Bins that do not fit
-- into a block's shared memory are shared out among PARTS groups of blocks, each of which reads all
-- samples, or among the blocks of a cluster (cluster), which count in each other's, or counted in
-- halves of words. Threads may add equal samples up before they count them
-- (AGGREGATE): a thread those that follow each other, or a warp those that it holds at a time.
--
-- Bins and range are constants in the text: finding a bin is a shift, multiplications, or nothing.
-- A copy in shared memory has one counter more, for samples beyond the bins: bytes come in faster than
-- a branch around each would let them be counted.

local STEP = "(BLOCK * COARSE)" -- vectors that a block takes at a time
local BLOCKS_MOST = "max(1, min(BLOCKS * dev_sms, ceildiv(n, VEC * " .. STEP .. ")))"
local CLUSTERS = "max(1, " .. BLOCKS_MOST .. " // PARTS)"
local GRID = "sel(ALG == 'cluster', PARTS * " .. CLUSTERS .. ", " .. BLOCKS_MOST .. ")"
local PARTIAL = "(ALG == 'global_private' or FINISH ~= 'atomic')" -- copies that are added up
local COPIED = "sel(ALG == 'global_private', min(COPIES, " .. BLOCKS_MOST .. "), "
  .. "sel(ALG == 'cluster', " .. CLUSTERS .. ", " .. BLOCKS_MOST .. "))"
local NBYTES = "sel(dtype == 'u8', 1, sel(dtype == 'u16', 2, 4))"
local MOST = "sel(dtype == 'u8', 255, sel(dtype == 'u16', 65535, 2^31 - 1))"

-- For problems that nobody tuned, with vectors of `vec` samples. One copy of the counters will do,
-- however few bins are used: on an H200 2^28 equal samples took as long as uniform ones. But samples of
-- one or two bytes come in faster than lanes that meet in a bank are served. Beyond what a few groups of
-- blocks hold bins are counted in the second-level cache.
local function suggest(list, vec)
  local function add(condition, config)
    config.when = "min(align, 16 // NBYTES) == " .. vec .. " and " .. condition
    config.ALG, config.VEC = config.ALG or "shared", vec
    config.COARSE = config.COARSE or math.min(4, 64 // vec)
    list[#list + 1] = config
  end
  add("n < 2^22 and bins <= 8192", { BLOCK = 256, BLOCKS = 4, COARSE = 1 })
  if vec >= 8 then
    add("bins <= 256 and NBYTES < 4", { BLOCK = 256, BLOCKS = 6, COPIES = 32 })
    add("bins <= 2048 and NBYTES < 4", { BLOCK = 512, BLOCKS = 3, COPIES = 8 })
  end
  add("bins <= 12288", { BLOCK = 512, BLOCKS = 4 })
  add("bins <= 25600", { BLOCK = 1024, BLOCKS = 2 })
  add("bins <= 56000", { BLOCK = 1024, BLOCKS = 1 })
  for _, parts in ipairs { 2, 3, 4, 6 } do
    add("n >= 2^22 and bins <= " .. 27000 * parts, { BLOCK = 768, BLOCKS = 2, PARTS = parts })
  end
  add("n >= 2^22 and bins <= 100000", { BLOCK = 1024, BLOCKS = 1, PARTS = 2 })
  add("true", { ALG = "global", BLOCK = 512, BLOCKS = 4 })
end

local SUGGESTED = {}
for _, vec in ipairs { 16, 8, 4, 2, 1 } do
  suggest(SUGGESTED, vec)
end

return {
  name = "histogram",
  version = 1,
  brief = "counts of samples in bins of equal width",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 9; "
    .. "Podlozhnyuk, Histogram calculation in CUDA",

  problem = {
    { "n", 0, 2^32 - 1, default = 2^24, brief = "samples" },
    { "bins", 1, 2^24, default = 256, brief = "bins" },
    { "dtype", { "i32", "u8", "u16", "f32" }, default = "i32", brief = "type of the samples" },
    { "lower", -2^31, 2^31 - 1, default = 0, brief = "where the first bin begins" },
    { "span", 1, 2^32, default = "bins",
      brief = "width of all bins together; samples beyond them do not count" },
    -- Says how samples are distributed, which decides what is fast. What it is tuned for is what
    -- tests and timing use; any samples are counted right.
    { "used", 1, 2^25, default = "bins", brief = "bins over which the samples are spread evenly" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "samples that x is aligned to" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n",
      fill = { "uniform", "min(" .. MOST .. ", sel(dtype == 'u8' or dtype == 'u16', "
        .. "max(0, lower), lower))",
        "min(" .. MOST .. ", max(sel(dtype == 'u8' or dtype == 'u16', max(0, lower), lower), "
          .. "lower + ceildiv(span * used, bins) - sel(dtype == 'f32', 0, 1)))" } },
    { "y", "u32", "out", count = "bins" },
  },

  call = { "dtype", "bins", "lower", "span", "n", "x", "y",
    align = "pow2div(x // (" .. NBYTES .. "), 16)" },

  space = {
    { "ALG", { "global", "global_private", "shared", "cluster" },
      "where the counters are: cluster, shared out among its blocks' shared memory" },
    { "BLOCK", { 64, 128, 256, 384, 512, 768, 1024 }, "threads per block" },
    { "BLOCKS", { 1, 2, 3, 4, 6, 8, 16, 32 }, "blocks per multiprocessor at most" },
    { "VEC", { 1, 2, 4, 8, 16 }, "samples per load" },
    { "COARSE", { 1, 2, 4, 8, 16 }, "coarsening factor: loads under way per thread" },
    { "PARTITION", { "interleaved", "contiguous" }, "which samples a thread takes" },
    { "AGGREGATE", { "none", "run", "match" },
      "samples that are counted together: equal ones in a row of a thread, or across a warp" },
    { "COPIES", { 1, 2, 4, 8, 16, 32, 64 },
      "copies of the counters: of a block, or in global memory" },
    { "SPREAD", { "lanes", "warps" }, "which threads of a block share a copy" },
    { "COUNTER", { 32, 16 }, "bits of a counter in shared memory" },
    { "PARTS", { 1, 2, 3, 4, 6, 8, 16 }, "groups of blocks, or a cluster's blocks, that share the bins" },
    { "FINISH", { "atomic", "last_block", "two_launch" }, "across blocks" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "BINS", "bins" },
    { "SHARE", "ceildiv(bins, PARTS)" }, -- bins of a block
    { "WORDS", "ceildiv(sel(ALG == 'shared', SHARE + 1, SHARE), 32 // COUNTER)" }, -- of one copy
    { "SMEM", "sel(ALG == 'shared' or ALG == 'cluster', 4 * COPIES * WORDS, 0)" },
    -- Steps until a counter of 16 bits may be full; 16 samples may come on top at the end.
    { "FULL", "sel(COUNTER == 16, (65535 - 16) // (BLOCK * COARSE * VEC), 0)" },
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "more threads than a multiprocessor has", "BLOCK * BLOCKS <= dev_threads_sm or BLOCKS == 1" },
    { "vectors wider than the alignment", "VEC <= align" },
    { "vectors of more than 16 bytes", "VEC * NBYTES <= 16" },
    { "loads under way exceed the registers", "COARSE * VEC * NBYTES <= 128" },
    { "that many samples at once are a long text", "COARSE * VEC <= 64" },
    { "one vector a thread has no order", "COARSE > 1 or PARTITION == 'interleaved'" },
    { "one sample a thread has no runs", "AGGREGATE ~= 'run' or COARSE * VEC > 1" },
    { "counters that all blocks share have no copies", "ALG ~= 'global' or COPIES == 1" },
    { "copies in global memory are at least two", "ALG ~= 'global_private' or COPIES >= 2" },
    { "more copies than lanes", "ALG ~= 'shared' or COPIES <= 32" },
    { "one copy is for all threads; copies of warps are in shared memory",
      "SPREAD == 'lanes' or ALG == 'shared' and COPIES > 1 and COPIES <= BLOCK // 32" },
    { "short counters are for shared memory", "COUNTER == 32 or ALG == 'shared'" },
    { "short counters overflow within a step", "COUNTER == 32 or FULL >= 1" },
    { "short counters, though long ones have room",
      "COUNTER == 32 or bins >= 1024" },
    { "bins are shared out only to fit into shared memory",
      "PARTS == 1 or ALG == 'shared' or ALG == 'cluster'" },
    { "clusters of several blocks are of compute capability 9.0",
      "ALG ~= 'cluster' or dev_cc >= 90 and PARTS > 1" },
    { "few bins need no cluster", "ALG ~= 'cluster' or bins >= 2048" },
    { "a cluster's counters have no copies", "ALG ~= 'cluster' or COPIES == 1" },
    { "the last block would have to know all of a cluster's bins",
      "ALG ~= 'cluster' or FINISH ~= 'last_block'" },
    { "bins are shared out, though they fit",
      "PARTS == 1 or ALG == 'cluster' or 4 * ceildiv(bins, PARTS - 1) > dev_smem_block // 2" },
    { "more shared memory than a block may have", "SMEM + 4096 + 1024 <= dev_smem_block" },
    { "that many blocks exceed a multiprocessor's shared memory",
      "BLOCKS == 1 or BLOCKS * (SMEM + 4096 + dev_smem_reserved) <= dev_smem_sm" },
    { "atomics on the counters themselves leave nothing to finish",
      "ALG ~= 'global' or FINISH == 'atomic'" },
    { "copies in global memory are added up by whoever finishes",
      "ALG ~= 'global_private' or FINISH ~= 'atomic'" },
    { "too many copies of so many bins",
      "not " .. PARTIAL .. " or " .. COPIED .. " * bins <= 2^26" },
    { "too much for the last block", "FINISH ~= 'last_block' or " .. COPIED .. " * SHARE <= 2^18" },
  },

  default = { ALG = "global", BLOCK = 256, BLOCKS = 4, VEC = 1, COARSE = 1,
    PARTITION = "interleaved", AGGREGATE = "none", COPIES = 1, SPREAD = "lanes", COUNTER = 32,
    PARTS = 1, FINISH = "atomic" },
  untuned = SUGGESTED,

  workspace = {
    { "partial", "u32", "sel(" .. PARTIAL .. ", " .. COPIED .. " * bins, 0)" },
    { "arrived", "u32", "sel(FINISH == 'last_block', PARTS, 0)" },
  },

  stages = {
    { memset = "y", value = 0, nbytes = "4 * bins", when = "FINISH == 'atomic'" },
    { memset = "partial", value = 0, when = "ALG == 'global_private'" },
    { kernel = "histogram", grid = { GRID, "sel(ALG == 'cluster', 1, PARTS)" }, block = "BLOCK", smem = "SMEM",
      args = { "n", "x", "y", { "i32", COPIED }, "partial", "arrived" } },
    { kernel = "histogram_finish", when = "FINISH == 'two_launch'", grid = "ceildiv(bins, 32)",
      block = 1024, args = { { "i32", COPIED }, "partial", "y" } },
  },

  source = [[
@ local types = { u8 = "unsigned char", u16 = "unsigned short", i32 = "int", f32 = "float" }
@ local cluster = ALG == "cluster"
@ local shared = ALG == "shared" or cluster
@ local plain = ALG ~= "global_private" and FINISH == "atomic"
@ local beyond = ALG == "shared" and "BINS" or "-1" -- the bin of a sample that has none
@ local least = dtype == "i32" and -2^31 or 0
@include "last_block.cuh"
@include "words.cuh"
@ if cluster then
@include "cluster.cuh"
@ end

using sample = @{types[dtype]};

struct alignas(VEC * sizeof(sample)) vector {
  sample e[VEC];
};

// ---- from a sample to its bin ------------------------------------------------------------------

__device__ __forceinline__ int bin_of(sample v) {
@ if dtype == "f32" then
  constexpr float LOWER = @{lower}, SCALE = (float)BINS / (float)@{span}ll;
  const float d = __fsub_rn(v, LOWER);
  if (!(d >= 0 && d < (float)@{span}ll)) return @{beyond};
  const float at = __fmul_rn(d, SCALE);
@   if bins < 2^22 then
  // at 2^23 floats are a whole apart: an addition, where a conversion is an instruction of few a clock
  return min(__float_as_int(__fadd_rz(at, 8388608.0f)) - 0x4b000000, BINS - 1);
@   else
  return min((int)at, BINS - 1);
@   end
@ else
@   if ALG ~= "shared" then
  const unsigned d = (unsigned)v - (unsigned)(@{lower}ll);
  if (v < (@{lower}ll) || d >= @{span}ull) return -1;
@   elseif span < 2^32 then
  unsigned d = min((unsigned)v - (unsigned)(@{lower}ll), @{span}u);
@     if lower + span > 2^32 + least then -- a sample before the first bin may be as far off as one in a bin
  if (v < (@{lower}ll)) d = @{span}u;
@     end
@   else
  const unsigned d = (unsigned)v - (unsigned)(@{lower}ll);
  if (v < (@{lower}ll)) return BINS;
@   end
@   if span % bins == 0 then
  return d / @{span // bins}u;
@   elseif bins < span then
@     -- 2^64 * bins / span, rounded up: too much by less than 2^-32 / span for every d
@     local scale, rest = 0, bins
@     for _ = 1, 64 do
@       scale, rest = scale * 2, rest * 2
@       if rest >= span then scale, rest = scale + 1, rest - span end
@     end
@     if rest > 0 then scale = scale + 1 end
  const unsigned long long low = (unsigned long long)d * @{scale & 0xffffffff}u >> 32;
  return (int)((unsigned long long)d * @{scale >> 32}u + low >> 32);
@   else
  return (int)((unsigned long long)d * BINS / @{span}u);
@   end
@ end
}

// ---- counting ----------------------------------------------------------------------------------

@ if shared then
extern __shared__ unsigned counters[];

// Where this thread's copy begins. The compiler does not see through it: it would make more
// instructions of a sum whose bits it knows.
__device__ __forceinline__ int first_place() {
  int at = 4 * (SPREAD == SPREAD_lanes ? threadIdx.x % COPIES : threadIdx.x / 32 % COPIES * WORDS);
  asm("" : "+r"(at));
  return at;
}

// This thread's counter of a bin.
__device__ __forceinline__ unsigned *place(int bin, int first) {
  const int word = COUNTER == 16 ? bin / 2 : bin;
  return (unsigned *)((char *)counters + (word * (SPREAD == SPREAD_lanes ? 4 * COPIES : 4) + first));
}
@ end

struct counting {
  static constexpr int NONE = ALG == ALG_shared ? SHARE : -1;  // of this block's bins

  unsigned *global;  // counters in global memory
@ if ALG == "shared" then
  int first = first_place();
@ end
@ if AGGREGATE == "run" then
  int last = NONE;  // the bin of the run, how many it has so far
  unsigned length = 0;
@ end

  __device__ void add(int bin, unsigned by) const {
@ if cluster then
    add_in_block(counters + bin / PARTS, bin % PARTS, by);
@ elseif shared then
    atomicAdd(place(bin, first), COUNTER == 16 ? by << bin % 2 * 16 : by);
@ else
    atomicAdd(global + bin, by);
@ end
  }

  __device__ static bool counts(int bin) { return ALG == ALG_shared || bin >= 0; }

  // By all threads of a warp together.
  __device__ void count(int bin) {
@ if PARTS > 1 and not cluster then
    bin = min((unsigned)bin - blockIdx.y * SHARE, NONE);
@ end
@ if AGGREGATE == "none" then
    if (counts(bin)) add(bin, 1);
@ elseif AGGREGATE == "match" then
    const unsigned same = __match_any_sync(0xffffffff, bin);
    if (counts(bin) && __ffs(same) - 1 == threadIdx.x % 32) add(bin, __popc(same));
@ else
    if (bin != last) {
      end_run();
      last = bin;
    }
    length++;
@ end
  }

  __device__ void end_run() {
@ if AGGREGATE == "run" then
    if (counts(last)) add(last, length);
    last = NONE;
    length = 0;
@ end
  }
};

@ if shared then
__device__ __forceinline__ void clear() {
  for (int i = threadIdx.x; i < COPIES * WORDS; i += BLOCK) counters[i] = 0;
@   if cluster then
  cluster_barrier();  // the other blocks' are cleared too
@   else
  __syncthreads();
@   end
}

// What the copies have of a bin.
__device__ __forceinline__ unsigned sum_of(int bin) {
  const int word = COUNTER == 16 ? bin / 2 : bin;
  unsigned sum = 0;
#pragma unroll 4
  for (int c = 0; c < COPIES; c++) {
    // begins with another copy in every thread: other banks
    const int copy = (c + threadIdx.x) % COPIES;
    const unsigned v =
        counters[SPREAD == SPREAD_lanes ? word * COPIES + copy : copy * WORDS + word];
    sum += COUNTER == 16 ? v >> bin % 2 * 16 & 0xffff : v;
  }
  return sum;
}

// From shared to global memory; once more when counters were full.
__device__ __forceinline__ void commit(unsigned *y, unsigned *partial, bool again) {
@   if cluster then
  const int first = blockIdx.x % PARTS, copy = blockIdx.x / PARTS;
  constexpr int APART = PARTS;  // its neighbours in a block
  cluster_barrier();
@   else
  const int first = blockIdx.y * SHARE, copy = blockIdx.x;
  constexpr int APART = 1;
  __syncthreads();
@   end
  for (int i = threadIdx.x; i < SHARE && first + i * APART < BINS; i += BLOCK) {
    const unsigned sum = sum_of(i);
    const int bin = first + i * APART;
@   if FINISH == "atomic" then
    if (sum > 0) atomicAdd(y + bin, sum);
@   else
    unsigned *to = partial + (long long)copy * BINS + bin;
    *to = sum + (again ? load_second(to) : 0);
@   end
  }
}

@ end
@ if not plain then
// Copies of 32 bins from `first` on, added up by the whole block: a lane for each bin.
template <int THREADS>
__device__ __forceinline__ void sum_copies(int copies, const unsigned *partial, unsigned *y,
                                           int first, int end) {
  constexpr int WARPS = THREADS / 32;
  __shared__ unsigned sums[WARPS][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, bin = first + lane;
  unsigned sum = 0;
  for (int c = warp; c < copies && bin < end; c += WARPS) {
    sum += load_second(partial + (long long)c * BINS + bin);
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp == 0 && bin < end) {
#pragma unroll
    for (int w = 1; w < WARPS; w++) sum += sums[w][lane];
    y[bin] = sum;
  }
}

@ end
// ---- the samples -------------------------------------------------------------------------------

@ local clusters = cluster and " __cluster_dims__(PARTS, 1, 1)" or ""
extern "C" __global__ void@{clusters} __launch_bounds__(BLOCK)
histogram(long long n, const sample *__restrict__ x, unsigned *y, int copies, unsigned *partial,
          unsigned *arrived) {
  const vector *from = reinterpret_cast<const vector *>(x);
  const long long vectors = n / VEC;
@ if ALG == "global_private" then
  counting c = {partial + (long long)(blockIdx.x % copies) * BINS};
@ else
  counting c = {y};
@ end
@ if shared then
  clear();
@ end
@ if COUNTER == 16 then
  int steps = 0;
  bool again = false;
@ end
  for (long long step = (long long)blockIdx.x * (BLOCK * COARSE); step < vectors;
       step += (long long)gridDim.x * (BLOCK * COARSE)) {
@ if COUNTER == 16 then
    if (steps++ == FULL) {
      c.end_run();
      commit(y, partial, again);
      __syncthreads();
      clear();
      again = true;
      steps = 1;
    }
@ end
    vector v[COARSE];
    bool some[COARSE];
#pragma unroll
    for (int k = 0; k < COARSE; k++) {
      const long long i = step + (PARTITION == PARTITION_interleaved ? k * BLOCK + threadIdx.x
                                                                      : threadIdx.x * COARSE + k);
      some[k] = i < vectors;
      if (some[k]) v[k] = load_plain(from + i);
    }
#pragma unroll
    for (int k = 0; k < COARSE; k++) {
@ if AGGREGATE == "match" then
#pragma unroll
      for (int e = 0; e < VEC; e++) c.count(some[k] ? bin_of(v[k].e[e]) : @{beyond});
@ else
      if (!some[k]) continue;
#pragma unroll
      for (int e = 0; e < VEC; e++) c.count(bin_of(v[k].e[e]));
@ end
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < 32) {  // what is no whole vector
    const long long rest = vectors * VEC + threadIdx.x;
    c.count(rest < n ? bin_of(x[rest]) : @{beyond});
  }
  c.end_run();
@ if shared then
  commit(y, partial, @{COUNTER == 16 and "again" or "false"});
@ end
@ if FINISH == "last_block" then
  if (is_last_block(arrived + blockIdx.y, gridDim.x)) {
    const int begin = blockIdx.y * SHARE, end = min(begin + SHARE, BINS);
    for (int first = begin; first < end; first += 32) {
      sum_copies<BLOCK>(copies, partial, y, first, end);
      __syncthreads();
    }
  }
@ end
}
@ if FINISH == "two_launch" then

extern "C" __global__ void __launch_bounds__(1024)
histogram_finish(int copies, const unsigned *partial, unsigned *y) {
  sum_copies<1024>(copies, partial, y, blockIdx.x * 32, BINS);
}
@ end
]],

  -- A thread takes 64 samples in a row, and adds up at once those that follow each other in a bin: if
  -- all were in one, atomics would take longer than everything else. Bins of floats are found with the
  -- same two roundings, of integers by a division of whole numbers.
  reference = {
    stages = {
      { memset = "y", value = 0, nbytes = "4 * bins" },
      { kernel = "reference", grid = "max(1, ceildiv(n, 64 * 256))", block = 256,
        args = { "n", "x", "y" } },
    },
    source = [[
@ local types = { u8 = "unsigned char", u16 = "unsigned short", i32 = "int", f32 = "float" }
__device__ long long bin_of(@{types[dtype]} v) {
@ if dtype == "f32" then
  const float d = __fsub_rn(v, (float)@{lower}ll);
  if (!(d >= 0 && d < (float)@{span}ll)) return -1;
  const int bin = (int)__fmul_rn(d, (float)@{bins} / (float)@{span}ll);
  return bin < @{bins} ? bin : @{bins} - 1;
@ else
  const long long d = v - (@{lower}ll);
  return d >= 0 && d < @{span}ll ? d * @{bins} / @{span}ll : -1;
@ end
}

extern "C" __global__ void reference(long long n, const @{types[dtype]} *x, unsigned *y) {
  const long long first = ((long long)blockIdx.x * 256 + threadIdx.x) * 64;
  long long bin = -1;
  unsigned length = 0;
  for (long long i = first; i <= n && i <= first + 64; i++) {
    const long long next = i < n && i < first + 64 ? bin_of(x[i]) : -1;
    if (next != bin && bin >= 0) atomicAdd(y + bin, length);
    length = next == bin ? length + 1 : 1;
    bin = next;
  }
}
]],
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  -- Counts are exact.
  tolerance = { abs = 0, rel = 0 },

  flops = "n",
  bytes = "n * (" .. NBYTES .. ") + 4 * bins",

  sizes = {
    emu = { "n=3000 bins=32", "n=0", "n=1 bins=2", "n=20001 bins=256 dtype=u8 align=1",
      "n=5003 bins=2048", "n=5000 bins=100 lower=-50 span=1000 used=130", "n=7001 bins=7 used=1",
      "n=3001 bins=100 dtype=f32 span=64 used=110", "n=9001 bins=300 dtype=u16 lower=10 span=777",
      "n=4001 bins=70000" },
    test = { "n=0 bins=1", "n=1", "n=31 bins=2 dtype=f32", "n=65537 bins=100 lower=-7 span=991",
      "n=1000003 bins=256 dtype=u8 align=1", "n=1000000 bins=4096 used=3", "n=2^22 bins=100000",
      "n=2^20 bins=65536 dtype=u16", "n=3000001 bins=2048 dtype=f32 span=2^20",
      "n=2^24 bins=32 used=1", "n=2^22 bins=2^21" },
    bench = { "n=2^28 bins=32", "n=2^28 bins=128", "n=2^28 bins=256", "n=2^28 bins=256 dtype=u8",
      "n=2^28 bins=2048", "n=2^28 bins=4096", "n=2^28 bins=32768", "n=2^28 bins=2^21",
      "n=2^28 bins=256 used=2", "n=2^28 bins=2048 dtype=f32 span=2^28", "n=2^20 bins=256",
      "n=2^16 bins=256" },
  },
}
