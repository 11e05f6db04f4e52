-- conv1d: y = the convolution of a line with a filter of 2 rx + 1 taps, without turning the filter:
-- y[i] = sum of f[j] * x[i + j - rx].
--
-- ALG is the ladder of the cited book, ch. 7, as in conv2d. With register, threads have several neighbouring results,
-- and load the elements under the filter once for all of them, in vectors; with tile_register they do so from a tile in
-- shared memory, where vectors of threads that lie OUT_X elements apart take no longer than neighbouring ones.
--
-- The text depends on the radius, but for ALG=basic, on the border and the types, not on nx.

local NBYTES = "sel(dtype == 'f64', 8, sel(dtype == 'f32', 4, 2))"
local MX = "sel(border == 'valid', max(0, nx - 2 * rx), nx)"

-- Launches over `grid`, one of which applies: the taps come by the address of the caller's or, of those in the host's
-- memory, of a copy, or by value; constant ones are copied before.
local function launches(grid, smem, first, constant)
  local function launch(early, when, taps)
    local args = {}
    for _, a in ipairs(first) do args[#args + 1] = a end
    args[#args + 1], args[#args + 2] = taps, "y"
    return { kernel = "conv1d", grid = grid, block = "BLOCK", smem = smem, early = early, when = "MX > 0 and " .. when,
      args = args }
  end
  local list = {
    { copy = "kept", from = "f", nbytes = "TAPS * TAP_NBYTES", when = "COPIED" },
    launch("EARLY and FILTER ~= 'constant'", "taps == 'device'", "f"),
    launch(nil, "taps == 'host' and FILTER ~= 'parameter'", "kept"),
  }
  if constant then
    table.insert(list, 1,
      { constant = "constant_taps", from = "f", nbytes = "TAPS * TAP_NBYTES", when = "FILTER == 'constant'" })
    list[#list + 1] = launch("EARLY", "FILTER == 'parameter'", { parameter = "f", count = "TAPS" })
  end
  return list
end
local function stages(across, smem)
  return launches("ceildiv(MX, " .. across .. ")", smem, { "nx", { "i32", "MX" }, "x" }, true)
end

local ONE_EACH = { "a thread has one result: OUT_X is 1", "OUT_X == 1" }

local BASIC = {
  require = { ONE_EACH, { "ALG=basic reads the filter from global memory", "FILTER == 'global'" } },
  source = "conv1d_basic.cu",
  stages = launches("ceildiv(MX, BLOCK)", nil, { "nx", "rx", { "i32", "MX" }, "x" }),
}
local CONSTANT = {
  require = { ONE_EACH, { "ALG=constant reads the filter from constant memory", "FILTER == 'constant' or FILTER == 'parameter'" } },
  source = "conv1d_constant.cu", stages = stages("BLOCK"),
}
local TILE_INPUT = {
  require = { ONE_EACH, { "a block has no results beside its halo", "BLOCK > 2 * rx" } },
  source = "conv1d_tile_input.cu", stages = stages("(BLOCK - 2 * rx)"),
}
local TILE_OUTPUT = {
  derive = { { "SMEM", "(BLOCK * OUT_X + 2 * rx) * WIDE_NBYTES" } },
  require = { { "the tile exceeds the shared memory of a block",
    "SMEM + sel(FILTER == 'shared', TAPS * TAP_NBYTES, 0) <= dev_smem_block - 16" } },
  source = "conv1d_tile_output.cu", stages = stages("(BLOCK * OUT_X)", "SMEM"),
}
local CACHED_HALO = { require = { ONE_EACH }, source = "conv1d_cached_halo.cu", stages = stages("BLOCK") }
local NEIGHBOURS = "(ALG == 'register' or ALG == 'tile_register')" -- a thread's results
local REGISTER = { source = "conv1d_register.cu", stages = stages("(BLOCK * OUT_X)") }
local TILE_REGISTER = {
  derive = { { "SMEM", "(BLOCK * OUT_X + 2 * rx + 16) * WIDE_NBYTES * 9 // 8 + 64" } },
  require = {
    { "the tile exceeds the shared memory of a block",
      "SMEM + sel(FILTER == 'shared', TAPS * TAP_NBYTES, 0) <= dev_smem_block - 16" },
    { "a thread's results begin within 16 bytes", "OUT_X * WIDE_NBYTES % 16 == 0" },
  },
  source = "conv1d_tile_register.cu", stages = stages("(BLOCK * OUT_X)", "SMEM"),
}

-- For sizes without a tuned result: vectors of 16 bytes, and the elements of up to 128 taps in registers.
local SUGGESTED = {}
local function suggest(when, config)
  local host = { when = "taps == 'host' and " .. when, FILTER = "parameter" } -- taps there come by value
  for name, value in pairs(config) do host[name] = host[name] or value end
  SUGGESTED[#SUGGESTED + 1] = host
  config.when = when
  SUGGESTED[#SUGGESTED + 1] = config
end
for _, vec in ipairs { 8, 4, 2, 1 } do
  local aligned = "min(align, 16 // NBYTES) == " .. vec
  local out = math.max(vec, 4)
  for _, chunk in ipairs { { 32, 17, 32 }, { 64, 33, 64 }, { 128, 65, 128 }, { 64, 129, 2^14 } } do
    local long = ("%s and TAPS >= %d and TAPS <= %d and dtype ~= 'f64'"):format(aligned, chunk[2], chunk[3])
    for _, from in ipairs { { 24, "constant" }, { 21, "shared" }, { 21, "constant" } } do
      suggest(long .. " and MX > 2^" .. from[1], { ALG = "tile_register", FILTER = from[2], BLOCK = 128, OUT_X = 16,
        VEC = vec, CHUNK = chunk[1], READ = "nc" })
    end
  end
  suggest(aligned .. " and TAPS <= 32", { ALG = "register", FILTER = "global", BLOCK = 256, OUT_X = out, VEC = vec,
    CHUNK = 32 })
  suggest(aligned .. " and TAPS <= 32", { ALG = "register", FILTER = "global", BLOCK = 256, OUT_X = out, VEC = vec })
  suggest(aligned .. " and TAPS <= 128 and TAPS > 64", { ALG = "register", FILTER = "constant", BLOCK = 128,
    OUT_X = out, VEC = vec, CHUNK = 128 })
  suggest(aligned, { ALG = "register", FILTER = "constant", BLOCK = 128, OUT_X = out, VEC = vec, CHUNK = 64 })
  suggest(aligned, { ALG = "register", FILTER = "constant", BLOCK = 128, OUT_X = out, VEC = vec, CHUNK = 32 })
end

return {
  name = "conv1d",
  version = 1,
  brief = "convolves a line with a filter",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 7",

  problem = {
    { "nx", 0, 2^31 - 2^17, default = 2^24, brief = "elements of x" },
    { "rx", 0, 8191, default = 2, brief = "radius: the filter has 2 rx + 1 taps" },
    { "border", { "zero", "replicate", "mirror", "valid" }, default = "zero",
      like = { replicate = "zero", mirror = "zero", valid = "zero" },
      brief = "what elements beyond x count as; valid: only results that need none" },
    { "dtype", { "f32", "f64", "f16" }, default = "f32", brief = "type of the elements; sums of f16 are f32" },
    { "ftype", { "f32", "f64" }, default = "sel(dtype == 'f64', 'f64', 'f32')", brief = "type of the filter" },
    { "align", { 8, 4, 2, 1 }, default = 8, brief = "elements that x and y are aligned to" },
    { "taps", { "device", "host" }, default = "device", brief = "whose memory f is in" },
  },

  args = {
    { "nx", "i32", value = "nx" },
    { "rx", "i32", value = "rx" },
    { "x", "dtype", "in", count = "nx", fill = { "uniform", -1, 1 } },
    { "f", "ftype", "in", count = "2 * rx + 1", fill = { "uniform", -1, 1 }, host = "taps == 'host'" },
    { "y", "dtype", "out", count = MX, brief = "not x itself" },
  },

  call = { "nx", "rx", "border", "dtype", "x", "f", "y", ftype = "sel(dtype == 'f64', 'f64', 'f32')",
    align = "min(pow2div(x // (" .. NBYTES .. "), 8), pow2div(y // (" .. NBYTES .. "), 8))" },

  space = {
    { "ALG", { "basic", "constant", "tile_input", "tile_output", "cached_halo", "register", "tile_register" },
      "where threads read the line from, and how many results each has" },
    { "FILTER", { "global", "constant", "shared", "parameter" }, "where the taps are read from; parameter: by value" },
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads of a block" },
    { "OUT_X", { 1, 2, 4, 8, 16 }, "results of a thread" },
    { "UNROLL", { 1, 4, 16 }, "unrolled taps", when = "not " .. NEIGHBOURS },
    { "READ", { "plain", "nc" }, "how the line is loaded: .nc takes it for constant" },
    { "VEC", { 1, 2, 4, 8 }, "elements per load and store", when = NEIGHBOURS },
    { "CHUNK", { 16, 32, 64, 128 }, "taps whose elements are in registers at a time", when = NEIGHBOURS },
    { "STORE", { "plain", "streaming" }, "cache operator of stores", when = NEIGHBOURS },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "WIDE_NBYTES", "sel(dtype == 'f64', 8, 4)" }, -- of a number in registers
    { "TAP_NBYTES", "sel(ftype == 'f64', 8, 4)" },
    { "MX", MX }, -- results
    { "RX", "rx" },
    { "TAPS", "2 * rx + 1" },
    { "COPIED", "taps == 'host' and (FILTER == 'global' or FILTER == 'shared')" }, -- taps, to the device
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "BLOCK * OUT_X is at least twice y", "BLOCK * OUT_X // 2 < max(MX, 512)" },
    { "the filter exceeds constant memory of 64 KB", "FILTER ~= 'constant' or TAPS * TAP_NBYTES <= 65536" },
    { "FILTER=parameter needs taps=host", "FILTER ~= 'parameter' or taps == 'host'" },
    { "the filter exceeds the parameters of a kernel", "FILTER ~= 'parameter' or TAPS * TAP_NBYTES <= 32000" },
    { "the filter exceeds 32 KB of shared memory", "FILTER ~= 'shared' or TAPS * TAP_NBYTES <= 32768" },
    { "UNROLL is at least twice the taps", "UNROLL < 2 * TAPS" },
    { "VEC does not divide OUT_X", "OUT_X % VEC == 0" },
    { "VEC elements exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "x and y are not aligned to VEC elements", "VEC <= align" },
    { "CHUNK is at least twice the taps", "CHUNK == 16 or CHUNK // 2 < TAPS" },
    { "CHUNK taps exceed the registers", "(min(CHUNK, TAPS) + 2 * OUT_X) * WIDE_NBYTES <= 700" },
    { "taps in registers: FILTER=global exceeds them", "not " .. NEIGHBOURS .. " or FILTER ~= 'global' or TAPS <= 64" },
  },

  default = { ALG = "basic", FILTER = "global", BLOCK = 128, OUT_X = 1, UNROLL = 1, READ = "plain", VEC = 1,
    CHUNK = 16, STORE = "plain" },
  untuned = SUGGESTED,
  workspace = { { "kept", "ftype", "sel(COPIED, TAPS, 0)" } },

  algorithms = { basic = BASIC, constant = CONSTANT, tile_input = TILE_INPUT, tile_output = TILE_OUTPUT,
    cached_halo = CACHED_HALO,
    register = REGISTER, tile_register = TILE_REGISTER },

  reference = {
    stages = {
      { kernel = "reference", grid = "max(1, min(65536, ceildiv(MX, 256)))", block = 256,
        args = { "nx", "rx", { "i32", "MX" }, "x", "f", "y", "magnitude" } },
    },
    workspace = { { "magnitude", "f64", "MX" } },
    source = "conv1d_reference.cu",
  },

  cases = { {} },

  -- Each of TAPS products and sums rounds by at most half a unit of the sum of magnitudes; an f16
  -- result once more, here and in the reference.
  tolerance = { bound = "magnitude", abs = "sel(dtype == 'f16', 2^-24, 0)",
    factor = "(TAPS + 2) * sel(dtype == 'f64', 2^-52, 2^-24) + sel(dtype == 'f16', 2^-10, 0)" },

  flops = "2 * TAPS * MX",
  bytes = "(nx + MX) * NBYTES",

  sizes = {
    emu = { "nx=2000", "nx=3 rx=5 border=mirror", "nx=1001 rx=20 border=replicate dtype=f16 align=1",
      "nx=700 rx=40 border=valid dtype=f64 taps=host", "nx=0" },
    test = { "nx=1", "nx=4 rx=2 border=valid", "nx=100003 rx=7", "nx=2^20 rx=32 border=mirror taps=host", "nx=50000 rx=8191",
      "nx=65536 rx=3 border=valid dtype=f16", "nx=30001 rx=100 dtype=f64 border=replicate align=1" },
    bench = { "nx=2^28 rx=1", "nx=2^28 rx=8", "nx=2^28 rx=32", "nx=2^20 rx=8" },
  },
}
