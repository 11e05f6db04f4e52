-- cmp_mu: Mu = conj(Phi) D for each sample of k-space, the loop that fission takes out of F^H D (fhd).
--
-- Four numbers are read and two written, and 6 operations done: memory bounds it. The textbook's kernel, one thread a
-- sample, is VEC=1 and COARSE=1.

-- For sizes without a tuned result: words of 16 bytes; where most blocks are on the device at once an early start, with
-- fetches ahead.
local SUGGESTED = {}
for _, vec in ipairs { 4, 2, 1 } do
  for _, start in ipairs { "early", "after" } do
    local function suggest(condition, ahead, config)
      config.when, config.VEC, config.START = "align == " .. vec .. " and " .. condition, vec, start
      config.AHEAD = start == "early" and ahead or 0
      SUGGESTED[#SUGGESTED + 1] = config
    end
    suggest("m <= 2^18", 1, { BLOCK = 128 })
    suggest("m <= 2^22", 1, { BLOCK = 256, STORE = "second" })
    suggest("m > 2^22", 0, { BLOCK = 256, STORE = "streaming" })
  end
end

return {
  name = "cmp_mu",
  version = 1,
  brief = "Mu = conj(Phi) D for samples of k-space",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 17",

  problem = {
    { "m", 0, 2^36, default = 2^20, brief = "samples" },
    { "align", { 4, 2, 1 }, default = 4, brief = "elements that all arrays are aligned to" },
  },

  args = {
    { "m", "i64", value = "m" },
    { "rphi", "f32", "in", count = "m", fill = { "uniform", -1, 1 }, shift = "sel(align < 4, align, 0) * 4" },
    { "iphi", "f32", "in", count = "m", fill = { "uniform", -1, 1 } },
    { "rd", "f32", "in", count = "m", fill = { "uniform", -1, 1 } },
    { "id", "f32", "in", count = "m", fill = { "uniform", -1, 1 } },
    { "rmu", "f32", "out", count = "m" },
    { "imu", "f32", "out", count = "m" },
  },

  call = { "m", "rphi", "iphi", "rd", "id", "rmu", "imu",
    align = "min(pow2div(rphi // 4, 4), pow2div(iphi // 4, 4), pow2div(rd // 4, 4), pow2div(id // 4, 4), "
      .. "pow2div(rmu // 4, 4), pow2div(imu // 4, 4))" },

  space = {
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads per block" },
    { "VEC", { 1, 2, 4 }, "floats per load and store" },
    { "COARSE", { 1, 2, 4 }, "coarsening factor: vectors of each array per thread" },
    { "LOAD", { "plain", "constant", "streaming" }, "cache operator of loads" },
    { "STORE", { "plain", "second", "streaming" }, "cache operator of stores" },
    { "START", { "early", "after" }, "blocks start while the kernel before still ends, or after it" },
    { "AHEAD", { 0, 1 }, "1: operands are fetched to the second-level cache before the kernel before has ended",
      when = "START == 'early'" },
  },

  derive = {
    { "TILE", "BLOCK * VEC * COARSE" }, -- samples of a block
    { "EARLY", "START == 'early' and dev_cc >= 90" }, -- pdl.cuh
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "arrays are not aligned to VEC floats", "VEC <= align" },
    { "START=early needs compute capability 9.0", "START == 'after' or dev_cc >= 90" },
    { "a grid has fewer than 2^31 blocks", "m < 2^31 * TILE" },
  },

  default = { BLOCK = 256, VEC = 1, COARSE = 1, LOAD = "plain", STORE = "plain", START = "after", AHEAD = 0 },
  base = { { VEC = 4, START = "early" }, { VEC = 2, START = "early" } },
  textbook = { BLOCK = 1024 },
  untuned = SUGGESTED,

  stages = {
    { kernel = "cmp_mu", when = "m > 0", grid = "ceildiv(m, TILE)", block = "BLOCK", early = "EARLY",
      args = { "m", "rphi", "iphi", "rd", "id", "rmu", "imu" } },
  },

  source = "cmp_mu.cu",

  reference = {
    stages = {
      { kernel = "reference", grid = "ceildiv(m, 256)", block = 256,
        args = { "m", "rphi", "iphi", "rd", "id", "rmu", "imu" } },
    },
    source = [[
extern "C" __global__ void reference(long long m, const float *rphi, const float *iphi, const float *rd,
                                     const float *id, float *rmu, float *imu) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= m) return;
  rmu[i] = (float)((double)rphi[i] * rd[i] + (double)iphi[i] * id[i]);
  imu[i] = (float)((double)rphi[i] * id[i] - (double)iphi[i] * rd[i]);
}
]],
  },

  cases = { {} },

  -- A product of at most 1 rounds by 2^-25, the sum of at most 2 by 2^-24, and the reference's by as much.
  tolerance = { abs = 2^-22, rel = 0 },

  flops = "6 * m",
  bytes = "24 * m",

  sizes = {
    emu = { "m=1003", "m=70 align=1" },
    test = { "m=0", "m=1", "m=5", "m=1000003 align=1", "m=2^20" },
    bench = { "m=2^14", "m=2^20", "m=2^26" },
  },
}
