-- mri_q: the matrix Q of the reconstruction of magnetic resonance images: for each voxel, the sum over all samples of
-- k-space of |Phi[m]|^2 e^(2 pi i k[m] x[n]).
--
-- The kernels are those of fhd (shared/mri_*.cuh), with real factors in place of Mu. A trajectory needs Q once, on a
-- grid of twice as many voxels each way.

local N = "nx * ny * nz"
local RUNS = "ceildiv(nx, VOXELS) * ny * nz" -- of VOXELS voxels along x

local POINTS = "sel(places == 'points', " .. N .. ", 0)"

-- The phantom's samples for an image of as many voxels.
local function kspace(part)
  local function side(along)
    return "max(1, sel(places == 'grid', " .. along .. ", max(1, nx)^(1 / 3)))"
  end
  return { "kspace", "radial", parts = part, size = { side("nx"), side("ny"), side("nz") } }
end

local PREPARE = { kernel = "prepare", when = "PACK and m > 0", grid = "ceildiv(m, 256)", block = 256,
  args = { "m", "kx", "ky", "kz", "r", "i", "r", "i", "packed" } }
local FINISH = { kernel = "finish", when = "SPLIT == 'two_launch' and ROWS > 1 and ANY",
  grid = "ceildiv(COUNT, 256)", block = 256, args = { { "i64", "COUNT" }, { "i32", "ROWS" }, "partial", "re", "im" } }

-- Copies a chunk of a plane of samples to constant memory, from what `prepare` wrote or from an argument.
local function constants(to, plane, from)
  local chunk = { constant = to, nbytes = "4 * min(CHUNK, m - CHUNK * chunk)" }
  local at = "4 * CHUNK * chunk"
  local packed, given = {}, {}
  for name, value in pairs(chunk) do packed[name], given[name] = value, value end
  local soa = "SAMPLES == 'constant' and LAYOUT == 'soa' and m > 0"
  packed.from, packed.from_at, packed.when = "packed", at .. " + 4 * m * " .. plane, soa .. " and PACK"
  given.from, given.from_at, given.when = from, at, soa .. " and not PACK"
  return packed, given
end
local XP, XG = constants("constant_x", 0, "kx")
local YP, YG = constants("constant_y", 1, "ky")
local ZP, ZG = constants("constant_z", 2, "kz")

-- Where atomics add.
local function zero(when)
  return { memset = "re", value = 0, nbytes = "4 * COUNT", when = when },
    { memset = "im", value = 0, nbytes = "4 * COUNT", when = when }
end
local ZERO_RE, ZERO_IM = zero("ANY and SPLIT == 'atomic' and ROWS > 1")
local CLEAR_RE, CLEAR_IM = zero("ANY")

-- Of the grid: each has a part of the samples.
local ROWS = { "ROWS",
  "sel(SPLIT == 'none', 1, max(1, min(BLOCKS * dev_sms // max(1, COLUMNS), ceildiv(m, 32 * PARTS), 65535)))" }

local SCATTER = {
  derive = { { "ROWS", "1" } },
  require = {
    { "ALG=scatter has one sample a thread, and atomics", "VOXELS == 1 and PARTS == 1 and UNROLL == 1 and PRIVATE == 1 "
      .. "and SAMPLES == 'global' and SPLIT == 'none' and reproducible == 'any'" },
    { "ALG=scatter has one voxel at a time", "TRIG ~= 'mixed' and TRIG ~= 'rotate'" },
  },
  source = "mri_scatter.cuh",
  stages = {
    PREPARE, CLEAR_RE, CLEAR_IM,
    { kernel = "scatter", when = "ANY and m > 0", grid = "ceildiv(m, BLOCK)", block = "BLOCK",
      args = { "m", "kx", "ky", "kz", "r", "i", "r", "i", "packed", "nx", "ny", "nz", "x", "y", "z", "x0", "y0", "z0",
        "dx", "dy", "dz", "re", "im" } },
  },
}
local GATHER = {
  derive = { { "COLUMNS", "sel(TRIG == 'rotate', ceildiv(" .. RUNS .. ", GROUP), ceildiv(COUNT, GROUP * VOXELS))" },
    ROWS },
  require = {
    { "TRIG=rotate needs places=grid and VOXELS >= 4", "TRIG ~= 'rotate' or places == 'grid' and VOXELS >= 4" },
    { "TRIG=rotate needs accuracy=fast for more than 16 voxels",
      "TRIG ~= 'rotate' or VOXELS <= 16 or accuracy == 'fast'" },
    { "more than 16 voxels need TRIG=rotate", "VOXELS <= 16 or TRIG == 'rotate'" },
    { "UNROLL * VOXELS exceeds 32, or 8 with TRIG=software", "UNROLL * VOXELS <= sel(TRIG == 'software', 8, 32)" },
    { "PRIVATE=0 has one voxel a thread, as printed", "PRIVATE == 1 or VOXELS == 1 and PARTS == 1 and SPLIT == 'none' "
      .. "and SAMPLES == 'global'" },
    { "SAMPLES=constant has launches of a chunk each: SPLIT=none", "SAMPLES ~= 'constant' or SPLIT == 'none'" },
    { "SAMPLES=constant needs warps that read the same sample", "SAMPLES ~= 'constant' or BLOCK // PARTS >= 32" },
    { "CHUNK exceeds constant memory", "SAMPLES ~= 'constant' or CHUNK * sel(LAYOUT == 'aos', 16, 12) <= 65536" },
    { "CHUNK exceeds shared memory", "SAMPLES ~= 'shared' or CHUNK * 20 + sel(PARTS > 1, 16384, 0) <= 49152" },
    { "16384 chunks at most", "CHUNKS <= 16384" },
    { "SAMPLES=shared computes factors once a block: FISSION=1", "SAMPLES ~= 'shared' or FISSION == 1" },
  },
  source = "mri_gather.cuh",
  stages = {
    PREPARE, ZERO_RE, ZERO_IM,
    { loop = { times = "CHUNKS", index = "chunk" }, when = "ANY", stages = {
      XP, XG, YP, YG, ZP, ZG,
      { constant = "constant_records", from = "packed", when = "SAMPLES == 'constant' and LAYOUT == 'aos' and m > 0",
        from_at = "RECORD * CHUNK * chunk", nbytes = "RECORD * min(CHUNK, m - CHUNK * chunk)" },
      { kernel = "gather", grid = { "COLUMNS", "ROWS" }, block = "BLOCK",
        args = { { "i32", "sel(SAMPLES == 'constant', CHUNK * chunk, 0)" },
          { "i32", "sel(SAMPLES == 'constant', min(CHUNK, m - CHUNK * chunk), m)" },
          { "i32", "sel(ADDS, 1, min(1, chunk))" }, "m", "kx", "ky", "kz", "r", "i", "r", "i", "packed",
          "nx", "ny", "nz", "x", "y", "z", "x0", "y0", "z0", "dx", "dy", "dz", "re", "im", "partial" } },
    } },
    FINISH,
  },
}
local FACTORS = {
  space = { { "LINES", { 1, 2, 4, 8 }, "runs of VOXELS voxels a thread" } },
  default = { LINES = 1 },
  derive = { { "COLUMNS", "ceildiv(" .. RUNS .. ", GROUP * LINES)" }, ROWS },
  require = {
    { "ALG=factors needs places=grid and VOXELS >= 4", "places == 'grid' and VOXELS >= 4" },
    { "LINES * VOXELS exceeds 64", "LINES * VOXELS <= 64" },
    { "ALG=factors has TRIG=polynomial or hardware", "TRIG == 'polynomial' or TRIG == 'hardware'" },
    { "ALG=factors has SAMPLES=shared, LAYOUT=aos and FISSION=1", "SAMPLES == 'shared' "
      .. "and LAYOUT == 'aos' and FISSION == 1 and PRIVATE == 1" },
    { "UNROLL * LINES exceeds 8", "UNROLL * LINES <= 8" },
    { "CHUNK exceeds shared memory", "CHUNK * (20 + 4 * VOXELS) + sel(PARTS > 1, 16384, 0) <= 49152" },
  },
  source = "mri_factors.cuh",
  stages = {
    ZERO_RE, ZERO_IM,
    { kernel = "factors", when = "ANY", grid = { "COLUMNS", "ROWS" }, block = "BLOCK",
      args = { "m", { "i32", "sel(ADDS, 1, 0)" }, "kx", "ky", "kz", "r", "i", "r", "i", "nx", "ny", "nz",
        "x0", "y0", "z0", "dx", "dy", "dz", "re", "im", "partial" } },
    FINISH,
  },
}

-- For sizes without a tuned result. Blocks and threads share the samples where voxels are few.
local SUGGESTED = {}
local function suggest(when, config)
  -- atomics where they are valid
  for _, split in ipairs(config.SPLIT and { config.SPLIT } or { "atomic", "two_launch" }) do
    local one = { when = when, SPLIT = split }
    for name, value in pairs(config) do one[name] = value end
    SUGGESTED[#SUGGESTED + 1] = one
  end
end
for _, trig in ipairs { "hardware", "polynomial" } do -- the hardware's where it is valid
  for _, run in ipairs { { 16, 2, "nx > 8" }, { 8, 4, "nx > 4" }, { 4, 8, "nx > 1" } } do
    local function on_grid(size, parts, blocks)
      suggest("places == 'grid' and " .. run[3] .. " and COUNT " .. size, { ALG = "factors", TRIG = trig, VOXELS = run[1],
        LINES = run[2], PARTS = parts, BLOCK = 128, CHUNK = 128, UNROLL = run[2] < 8 and 2 or 1, SPLIT = "two_launch",
        BLOCKS = blocks })
    end
    on_grid("<= 2^12", 32, 4)
    on_grid("<= 2^16", 8, 4)
    on_grid("<= 2^19", 2, 8)
    on_grid("> 2^19", 1, 16)
  end
end
for _, trig in ipairs { "mixed", "polynomial" } do
  -- blocks that are on the device at once, or so many that it hardly matters when the last ones end
  for _, work in ipairs { { " and COUNT * m <= 2^27", 4 }, { "", 32 } } do
    suggest("COUNT <= 8" .. work[1], { TRIG = "hardware", VOXELS = 1, PARTS = 64, BLOCKS = work[2] })
    suggest("COUNT <= 8" .. work[1], { TRIG = "polynomial", VOXELS = 1, PARTS = 64, BLOCKS = work[2] })
    suggest("COUNT <= 64" .. work[1], { TRIG = trig, VOXELS = 4, UNROLL = 2, PARTS = 8, BLOCKS = work[2] })
    suggest("COUNT <= 2048" .. work[1], { TRIG = trig, VOXELS = 4, UNROLL = 2, PARTS = 4, BLOCKS = work[2] })
    suggest("COUNT <= 2^15" .. work[1], { TRIG = trig, VOXELS = 4, UNROLL = 2, PARTS = 2, BLOCKS = work[2] })
  end
  local many = trig == "mixed" and { 8, 2 } or { 4, 1 }
  for _, size in ipairs { { "COUNT <= 2^19", 32 }, { "COUNT > 2^19", 64 } } do
    suggest(size[1], { TRIG = trig, VOXELS = many[1], SHARE = many[2], UNROLL = 2, CHUNK = many[1] == 8 and 512 or 256,
      PARTS = many[2], SPLIT = "two_launch", BLOCKS = size[2] })
  end
end

-- The last step of the text, with the hardware's sines where they are valid.
local function text(trig)
  return { TRIG = trig, SAMPLES = "constant", LAYOUT = "aos", CHUNK = 4096, BLOCK = 512, UNROLL = 4 }
end

return {
  name = "mri_q",
  version = 1,
  brief = "Q of an image's reconstruction from k-space",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 17",

  problem = {
    { "m", 0, 2^31 - 2^14, default = 3072, brief = "samples" },
    { "places", { "points", "grid" }, default = "points",
      brief = "where voxels are: anywhere, as x, y and z say, or on a regular grid, x0 + i dx and so on" },
    { "nx", 0, 2^31 - 64, default = 32768, brief = "voxels along x; there are nx * ny * nz" },
    { "ny", 0, 2^31 - 64, default = "sel(places == 'grid', nx, 1)" },
    { "nz", 0, 2^31 - 64, default = "sel(places == 'grid', nx, 1)" },
    { "accuracy", { "full", "fast" }, default = "full", like = { fast = "full" },
      brief = "of sines beside the rounding of their phase: within 2^-22, or 2^-20 as the hardware's" },
    { "reproducible", { "any", "run" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device" },
  },

  args = {
    { "m", "i32", value = "m" }, { "nx", "i32", value = "nx" }, { "ny", "i32", value = "ny" },
    { "nz", "i32", value = "nz" },
    { "kx", "f32", "in", count = "m", brief = "cycles per unit of x", fill = kspace("x") },
    { "ky", "f32", "in", count = "m", fill = kspace("y") },
    { "kz", "f32", "in", count = "m", fill = kspace("z") },
    { "r", "f32", "in", count = "m", brief = "Phi", fill = { "uniform", -1, 1 } },
    { "i", "f32", "in", count = "m", fill = { "uniform", -1, 1 } },
    { "x", "f32", "in", count = POINTS, optional = "places == 'grid'",
      brief = "NULL with places=grid, as y and z", fill = { "points", "uniform", parts = "x" } },
    { "y", "f32", "in", count = POINTS, optional = "places == 'grid'", fill = { "points", "uniform", parts = "y" } },
    { "z", "f32", "in", count = POINTS, optional = "places == 'grid'", fill = { "points", "uniform", parts = "z" } },
    { "x0", "f32", sample = -0.5, brief = "of places=grid, the first voxel" },
    { "y0", "f32", sample = -0.5 },
    { "z0", "f32", sample = -0.5 },
    { "dx", "f32", sample = "1 / max(1, nx)", brief = "of places=grid, from voxel to voxel" },
    { "dy", "f32", sample = "1 / max(1, ny)" },
    { "dz", "f32", sample = "1 / max(1, nz)" },
    { "re", "f32", "out", count = N, tolerance = { bound = "re_bound", factor = 2^-24 } },
    { "im", "f32", "out", count = N, tolerance = { bound = "im_bound", factor = 2^-24 } },
  },

  call = { "m", "kx", "ky", "kz", "r", "i", "places", "nx", "ny", "nz", "x", "y", "z",
    "x0", "y0", "z0", "dx", "dy", "dz", "accuracy", "re", "im" },

  space = {
    { "ALG", { "scatter", "gather", "factors" },
      "a thread has a sample, or voxels; factors: of runs along x, whose waves differ by factors" },
    { "TRIG", { "software", "polynomial", "hardware", "mixed", "rotate" },
      "sines and cosines: sincosf, polynomials of turns, the hardware's, these for all but SHARE of VOXELS voxels, "
        .. "or from voxel to voxel by rotation" },
    { "REDUCE", { 0, 1 }, "1: whole turns are left out before the hardware's sine", when = "TRIG == 'hardware'" },
    { "SHARE", { 1, 2, 3, 4 }, "voxels of a thread with polynomials", when = "TRIG == 'mixed'" },
    { "FISSION", { 0, 1 }, "1: |Phi|^2 is computed once, before voxels are" },
    { "PRIVATE", { 0, 1 }, "1: registers keep a voxel and its sum" },
    { "SAMPLES", { "global", "readonly", "constant", "shared" },
      "where samples are read: memory, with .nc, constant memory in launches of CHUNK samples, or shared memory" },
    { "LAYOUT", { "soa", "aos" }, "coordinates of samples in arrays of their own, or next to each other" },
    { "CHUNK", { 32, 64, 128, 256, 512, 1024, 2048, 4096, 5461 }, "samples in constant or shared memory",
      when = "SAMPLES == 'constant' or SAMPLES == 'shared'" },
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads of a block" },
    { "UNROLL", { 1, 2, 4, 8, 16 }, "unrolled samples" },
    { "VOXELS", { 1, 2, 4, 8, 16, 32 }, "voxels a thread, or of its runs" },
    { "PARTS", { 1, 2, 4, 8, 16, 32, 64 }, "threads of a block that share a voxel's samples" },
    { "SPLIT", { "none", "two_launch", "atomic" },
      "whether blocks share a voxel's samples, and how their sums meet: a second launch, or atomics" },
    { "BLOCKS", { 1, 2, 4, 8, 16, 32, 64 }, "blocks per multiprocessor that samples are split for",
      when = "SPLIT ~= 'none'" },
  },

  derive = {
    { "COUNT", N },
    { "POLAR", "1 == 0" },
    { "REAL", "1 == 1" },
    { "ADDS", "1 == 0" },
    { "GIVEN_DATA", "1 == 0" },
    { "RADIANS", "TRIG == 'software' or TRIG == 'mixed' or TRIG == 'hardware' and REDUCE == 0 or "
      .. "TRIG == 'rotate' and accuracy == 'fast'" }, -- the unit of phases; turns otherwise
    { "PACK", "SAMPLES ~= 'shared' and FISSION == 1" },
    { "RECORD", "16" }, -- bytes
    { "GROUP", "BLOCK // PARTS" }, -- threads with the same samples
    { "CHUNKS", "sel(SAMPLES == 'constant', max(1, ceildiv(m, CHUNK)), 1)" },
    { "ANY", "COUNT > 0" },
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "PARTS exceeds BLOCK", "PARTS <= BLOCK" },
    { "there are more than 2^36 voxels", "COUNT <= 2^36" },
    { "TRIG=hardware and mixed need accuracy=fast", "TRIG ~= 'hardware' and TRIG ~= 'mixed' or accuracy == 'fast'" },
    { "SHARE is not less than VOXELS", "TRIG ~= 'mixed' or SHARE < VOXELS" },
    { "FISSION=0 reads what is given: LAYOUT=soa",
      "FISSION == 1 or LAYOUT == 'soa'" },
    { "reproducible=run excludes atomics", "SPLIT ~= 'atomic' or reproducible == 'any'" },
    { "a block has twice as many voxels as there are", "VOXELS == 1 or (VOXELS // 2) * GROUP < max(COUNT, 64)",
      advice = true },
    { "CHUNK is at least twice the samples", "CHUNK <= 256 or CHUNK // 2 < m", advice = "search" },
  },

  default = { ALG = "gather", TRIG = "polynomial", REDUCE = 0, SHARE = 1, FISSION = 1, PRIVATE = 1,
    SAMPLES = "shared", LAYOUT = "aos", CHUNK = 256, BLOCK = 128, UNROLL = 4, VOXELS = 1, PARTS = 1, SPLIT = "none",
    BLOCKS = 8 },

  textbook = { text("hardware"), text("software") },
  untuned = SUGGESTED,

  algorithms = { scatter = SCATTER, gather = GATHER, factors = FACTORS },

  workspace = {
    { "packed", "f32", "sel(PACK, 4 * m, 0)" },
    { "partial", "f32", "sel(SPLIT == 'two_launch' and ROWS > 1, 2 * COUNT * ROWS, 0)" },
  },

  reference = {
    workspace = { { "re_bound", "f64", N }, { "im_bound", "f64", N } },
    stages = {
      { kernel = "reference", when = "nx * ny * nz > 0", grid = "ceildiv(nx * ny * nz, 128)", block = 128,
        args = { "m", "kx", "ky", "kz", "r", "i", "nx", "ny", "nz", "x", "y", "z", "x0", "y0", "z0",
          "dx", "dy", "dz", "re", "im", "re_bound", "im_bound" } },
    },
    source = "mri_q_reference.cu",
  },

  cases = { {}, { x0 = 0.25, y0 = -3, dz = 0 } },

  tolerance = { abs = 0, rel = 0 }, -- outputs have their own

  -- a wave takes 3 fused operations, 2 special functions and 2 fused additions; on a grid those suffice
  flops = N .. " * m * sel(places == 'grid', 4, 12)",
  bytes = "16 * m + 8 * " .. N,

  sizes = {
    emu = { "m=70 nx=50", "m=40 places=grid nx=10 ny=3 nz=2 accuracy=fast", "m=33 nx=9 accuracy=fast" },
    test = { "m=0 nx=5", "m=1 nx=1", "m=1000 nx=1 accuracy=fast", "m=3 nx=0", "m=20011 nx=37", "m=3072 nx=32768",
      "m=517 places=grid nx=33 ny=7 nz=5", "m=3072 places=grid nx=32 accuracy=fast",
      "m=1009 places=grid nx=1 ny=1 nz=301", "m=5000 nx=1000 reproducible=run" },
    bench = { "m=3072 nx=2^15", "m=3072 nx=2^18 accuracy=fast", "m=3072 places=grid nx=64",
      "m=100000 places=grid nx=128 accuracy=fast" },
  },
}
