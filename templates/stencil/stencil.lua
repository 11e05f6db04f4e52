-- stencil: steps of a stencil over a field of two or three dimensions: each point becomes the weighted sum of its
-- neighbours, of those along the axes (star) or of all (box), c0 for itself and c1 to c4 by their distance.
--
-- ALG basic reads every neighbour from global memory. tile3d goes through a tile in shared memory. march, march_mixed
-- and march_register go through the planes one after the other and keep all, some or one of those around in
-- shared memory. temporal, tma and persistent do so, too, in vectors and with copies ahead, and compute TSTEPS steps
-- at a time; temporal copies by cp.async, tma by tensor maps, and persistent has a barrier of the grid in place of
-- further launches.
--
-- What a step reads past the field once: order planes on either side of a part, which neighbouring parts read at
-- about the same time with MARCH=meet; 2 * order of TILE_ROWS rows; and a sector of 32 bytes on either side of
-- 32 * VEC columns. All of it usually comes from the second-level cache, whose bandwidth is then the bound: large
-- tiles, and copies that begin where sectors do.

local NBYTES = "sel(dtype == 'f64', 8, sel(dtype == 'bf16', 2, 4))"
local POINTS = "nx * ny * nz"
local COEFFICIENTS = { "c0", "c1", "c2", "c3", "c4" }
-- neighbours at a distance of d, and of all
local function count_at(d)
  return ("sel(shape == 'star', 2 * dims, (2 * %d + 1) ^ dims - (2 * %d - 1) ^ dims)"):format(d, d)
end
local SWEEPS = "(ALG == 'temporal' or ALG == 'tma' or ALG == 'persistent')"
local NEIGHBOURS = "sel(shape == 'star', 2 * dims * order + 1, (2 * order + 1) ^ dims)"

local function join(...)
  local all = {}
  for _, list in ipairs { ... } do
    for _, one in ipairs(list) do all[#all + 1] = one end
  end
  return all
end

-- The stages of a form that makes `per` steps a launch, and after these the rest one by one. The last launch writes
-- v, and the others change between it and `other`.
local function launches(grid, block, smem, first, per, operand)
  local function launch(from, to)
    return { kernel = "stencil", grid = grid, block = block, smem = smem,
      args = join({ "nx", "ny", "nz" }, first, COEFFICIENTS, { operand and operand(from) or from, to }) }
  end
  local function once(from, to)
    return { kernel = "stencil_once", block = { 32, 8 },
      grid = { "ceildiv(nx, 32)", "min(65535, ceildiv(ny, 8))", "min(65535, nz)" },
      args = join({ "nx", "ny", "nz" }, COEFFICIENTS, { from, to }) }
  end
  local function rounds(text, stage, times, when)
    return { loop = { times = times, swap = { { "v", "other" } }, graph = "LOOP == 'graph'" }, when = when,
      stages = { stage } }
  end
  local whole = ("(steps // %s)"):format(per)
  local rest = ("(steps %% %s)"):format(per)
  local total = ("(%s + %s)"):format(whole, rest)
  local stages = { { copy = "v", from = "u", nbytes = POINTS .. " * (" .. NBYTES .. ")", when = "steps == 0" } }
  for _, way in ipairs { { 1, "v", "other" }, { 0, "other", "v" } } do
    local parity, to, back = way[1], way[2], way[3]
    local when = ("steps > 0 and %s %% 2 == %d"):format(total, parity)
    local one = launch("u", to)
    one.when, one.early = when, "EARLY"
    stages[#stages + 1] = one
    stages[#stages + 1] = rounds("whole", launch(to, back), whole .. " - 1", when .. " and " .. whole .. " > 1")
  end
  if per ~= "1" then
    for _, way in ipairs { { 0, "v", "other" }, { 1, "other", "v" } } do
      stages[#stages + 1] = rounds("rest", once(way[2], way[3]), rest,
        ("steps > 0 and %s > 0 and %s %% 2 == %d"):format(rest, rest, way[1]))
    end
  end
  return stages
end

local function text_form(source, out_x, out_y, z, more)
  local form = { source = source,
    stages = launches({ ("ceildiv(nx, %s)"):format(out_x), ("min(65535, ceildiv(%s))"):format(out_y),
      ("min(65535, ceildiv(%s))"):format(z) }, { "TILE_X", "TILE_Y", "TILE_Z" }, nil, more.args or {}, "1"),
  }
  form.require = more.require
  form.derive = more.derive
  form.space = more.space
  form.default = more.default
  return form
end

local OUT_Z = "sel(dims == 3, TILE_Z - 2 * order, TILE_Z)"
local BASIC = text_form("stencil_basic.cu", "TILE_X", "ny, TILE_Y", "nz, TILE_Z", {})
local TILE3D = text_form("stencil_tile3d.cu", "max(1, TILE_X - 2 * order)", "ny, max(1, TILE_Y - 2 * order)",
  "nz, max(1, " .. OUT_Z .. ")", { require = {
    { "a tile of TILE_X x TILE_Y x TILE_Z has no points inside of its halo",
      "TILE_X > 2 * order and TILE_Y > 2 * order and (dims == 2 or TILE_Z > 2 * order)" },
  } })
local function march(planes, more)
  more.args = { { "i32", "Z_DEPTH" } }
  more.derive = { { "SHARED_PLANES", planes } }
  more.require = join(more.require or {}, {
    { "a tile of TILE_X x TILE_Y has no points inside of its halo", "TILE_X > 2 * order and TILE_Y > 2 * order" },
    { "TILE_Z is 1 where blocks march", "TILE_Z == 1" },
    { "the planes exceed 48 KB of shared memory", "TILE_X * TILE_Y * SHARED_PLANES * max(4, NBYTES) <= 49152" },
  })
  return text_form("stencil_march.cu", "max(1, TILE_X - 2 * order)", "ny, max(1, TILE_Y - 2 * order)",
    "nz, max(1, Z_DEPTH)", more)
end
local THREE = { "march and march_mixed need planes with neighbours in others", "dims == 3" }
local MARCH = march("2 * order + 1", { require = { THREE } })
-- a box reads all of its planes, which then are in shared memory
local REGISTER = march("sel(dims == 3 and shape == 'box', 2 * order + 1, 1)", {})
local MIXED = march("PLANES", {
  space = { { "PLANES", { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, "planes in shared memory" } },
  default = { PLANES = 2 },
  require = {
    THREE,
    { "a point has 2 * order + 1 planes around", "PLANES <= 2 * order + 1" },
    { "a box needs all its planes in shared memory", "shape == 'star' or PLANES == 2 * order + 1" },
  },
})

-- What temporal, persistent and tma share: extents of a part, and of shared memory (stencil_sweep.cuh). `halo`,
-- `loaded`: what the columns on either side are multiples of, those that are computed, but not stored, and those that
-- only the first level reads; `barriers`: bytes of the barriers that copies tell.
local function sweep_derive(halo, loaded, barriers)
  return {
    { "HALO_X", "roundup((TSTEPS - 1) * order, " .. halo .. ")" },
    { "LOADED_X", "roundup(order, " .. loaded .. ")" },
    { "OUT_COLUMNS", "32 * VEC - 2 * HALO_X" },
    { "TILE_ROWS", "sel(dims == 3, WARPS * ITEMS, 1)" },
    { "OUT_ROWS", "sel(dims == 3, TILE_ROWS - 2 * (TSTEPS - 1) * order, 1)" },
    { "COPIED_ROWS", "sel(dims == 3, TILE_ROWS + 2 * order, CHUNK)" },
    { "SLOT_NBYTES", "roundup((32 * VEC + 2 * LOADED_X) * COPIED_ROWS * NBYTES, 128)" },
    { "EXCHANGE_NBYTES", "sel(dims == 3, 2 * (TSTEPS - 1) * WARPS * min(ITEMS, 2 * order) * 32 * VEC * max(4, NBYTES), 0)" },
    { "GROUP_NBYTES", "(PREFETCH + 1) * SLOT_NBYTES + EXCHANGE_NBYTES + " .. barriers },
    { "SMEM", "GROUP_NBYTES * sel(dims == 3, 1, WARPS)" },
    { "LENGTH", "sel(dims == 3, nz, ny)" },
    -- groups across the field, and those that the device holds at a time
    { "ACROSS", "ceildiv(nx, max(1, OUT_COLUMNS)) * sel(dims == 3, ceildiv(ny, max(1, OUT_ROWS)), nz)" },
    { "HELD", "dev_sms * RESIDENT * sel(dims == 3, 1, WARPS)" },
    { "DEPTH", "sel(Z_DEPTH > 0, Z_DEPTH, max(min(LENGTH, 2 * order * TSTEPS), "
      .. "ceildiv(LENGTH, max(1, WAVES * HELD // max(1, ACROSS)))))" },
    { "PARTS", "ACROSS * ceildiv(LENGTH, max(1, DEPTH))" },
    -- a thread's registers at least
    { "REGS", "20 + ITEMS * VEC * max(4, NBYTES) // 4 * ((2 * order + 1) * TSTEPS)" },
  }
end
local SWEEP_REQUIRE = {
  { "VEC does not divide nx and the alignment", "VEC <= min(align, pow2div(nx, 8))" },
  { "VEC elements exceed 32 bytes", "VEC * NBYTES <= 32" },
  { "VEC elements have less than 4 bytes", "VEC * NBYTES >= 4" },
  { "TSTEPS exceeds steps", "TSTEPS <= max(1, steps)" },
  { "in 2-D a thread has a row", "dims == 3 or ITEMS == 1" },
  { "the halo of TSTEPS steps leaves no points to store",
    "OUT_COLUMNS >= max(VEC, 8 * VEC) and OUT_ROWS >= min(TILE_ROWS, 4)" },
  { "the planes exceed the shared memory of a block", "SMEM <= dev_smem_block" },
  { "RESIDENT blocks exceed the shared memory of a multiprocessor",
    "RESIDENT * (SMEM + dev_smem_reserved) <= dev_smem_sm" },
  { "RESIDENT blocks exceed the threads of a multiprocessor", "32 * WARPS * RESIDENT <= dev_threads_sm" },
  { "BLOCK exceeds the device's threads per block", "32 * WARPS <= dev_threads_block" },
  { "RESIDENT blocks exceed the registers", "REGS <= 255 and REGS * 32 * WARPS * RESIDENT <= dev_regs_sm" },
  { "a plane has more than 2^31 points", "dims == 2 or nx * ny < 2^31" },
  -- of every DEPTH: PARTS itself would join nearly all parameters in one condition, seconds to count the space with
  { "there are more parts than a grid may have", "ACROSS * LENGTH < 2^31" },
}
local COPY_REQUIRE = {
  { "cp.async of 16 bytes needs rows that are aligned to 16 bytes", "COPY == 'vec' or WHOLE_ROWS" },
}
local SWEEP_ARGS = { { "i32", "DEPTH" }, { "u32", "PARTS" } }
local ASYNC = sweep_derive("sel(COPY == 'vec', VEC, max(VEC, 16 // NBYTES))",
  "sel(COPY == 'vec', VEC, max(VEC, 32 // NBYTES))", "0")
local TEMPORAL = {
  derive = ASYNC, require = join(SWEEP_REQUIRE, COPY_REQUIRE), source = "stencil_temporal.cu",
  stages = launches("sel(dims == 3, PARTS, ceildiv(PARTS, WARPS))", "32 * WARPS", "SMEM", SWEEP_ARGS, "TSTEPS"),
}
local TMA = {
  derive = sweep_derive("max(VEC, 16 // NBYTES)", "max(VEC, 16 // NBYTES)", "roundup(8 * (PREFETCH + 1), 128)"),
  require = join(SWEEP_REQUIRE, {
    { "tensor maps need compute capability 9.0", "dev_cc >= 90" },
    { "tensor maps need rows that are aligned to 16 bytes", "WHOLE_ROWS" },
    { "tensor maps have no periodic borders", "border ~= 'periodic'" },
    { "a box has at most 256 columns and rows",
      "32 * VEC + 2 * LOADED_X <= 256 and COPIED_ROWS <= 256" },
    { "CHUNK is of rows in 2-D", "dims == 2 or CHUNK == 1" },
  }),
  source = "stencil_tma.cu",
  stages = launches("sel(dims == 3, PARTS, ceildiv(PARTS, WARPS))", "32 * WARPS", "SMEM", SWEEP_ARGS, "TSTEPS",
    function(field)
      return { tensor = field, dims = { "nx", "ny", "nz" }, strides = { "nx", "nx * ny" },
        box = { "32 * VEC + 2 * LOADED_X", "COPIED_ROWS", 1 } }
    end),
}
local PERSISTENT = {
  derive = ASYNC,
  require = join(SWEEP_REQUIRE, COPY_REQUIRE, {
    { "ALG=persistent needs steps, and TSTEPS that divides them", "steps > 0 and steps % TSTEPS == 0" },
  }),
  source = "stencil_persistent.cu",
  stages = { { kernel = "stencil", cooperative = true, smem = "SMEM", block = "32 * WARPS",
    grid = "min(sel(dims == 3, PARTS, ceildiv(PARTS, WARPS)), dev_sms * RESIDENT)",
    args = join({ "nx", "ny", "nz" }, SWEEP_ARGS, { { "i32", "steps // TSTEPS" } }, COEFFICIENTS,
      { "u", "other", "v", "arrived" }) } },
}

-- For sizes without a tuned result: vectors of 16 bytes where rows allow, as many copies ahead as keep the memory
-- busy, and several steps at a time where they are asked for. The first that is valid counts.
local SUGGESTED = {
  { when = POINTS .. " <= 2^19 and steps <= 1 and dims == 2 and order <= 2", ALG = "march_register", TILE_X = 32,
    TILE_Y = 16, Z_DEPTH = 4 },
  { when = POINTS .. " <= 2^19 and steps <= 1 and dims == 2 and shape == 'star'", ALG = "basic", TILE_X = 32, TILE_Y = 4 },
  { when = POINTS .. " <= 2^19 and steps <= 1 and dims == 2", ALG = "march_register", TILE_X = 32, TILE_Y = 16,
    Z_DEPTH = 4 },
  { when = POINTS .. " <= 2^19 and steps <= 1", ALG = "basic", TILE_X = 64, TILE_Y = 4 },
}
local function suggest(when, config)
  for _, vec in ipairs { 4, 2, 1 } do
    local one = { when = ("(%s) and VEC_MOST >= %d"):format(when, vec), VEC = vec, Z_DEPTH = 0, WAVES = 4 }
    for name, value in pairs(config) do one[name] = value end
    SUGGESTED[#SUGGESTED + 1] = one
  end
end
-- Found on an H200.
local function found(when, config)
  config.when = when
  SUGGESTED[#SUGGESTED + 1] = config
end
local DEEP, WIDE = "dims == 3 and shape == 'star' and NBYTES == 4", "dims == 2 and NBYTES == 4"
found(POINTS .. " <= 2^21 and dims == 2 and order == 1 and steps % 5 == 0", { ALG = "persistent", TSTEPS = 5, VEC = 4,
  PREFETCH = 3, RESIDENT = 4, Z_DEPTH = 0, WAVES = 4, WARPS = 4 })
found(POINTS .. " <= 2^22 and dims == 3 and order == 1 and steps > 1", { ALG = "persistent", TSTEPS = 1, VEC = 2, ITEMS = 3,
  PREFETCH = 3, RESIDENT = 4, Z_DEPTH = 0, WARPS = 4, STORE = "streaming" })
found(DEEP .. " and order == 1 and steps > 1 and (steps % 4 == 0 or steps >= 24 and steps % 3 > 0)", { ALG = "temporal",
  TSTEPS = 4, VEC = 4, ITEMS = 4, WARPS = 8, PREFETCH = 2, RESIDENT = 1, Z_DEPTH = 128 })
found(DEEP .. " and order == 1 and steps > 1 and steps % 3 == 0", { ALG = "temporal", TSTEPS = 3, VEC = 4, ITEMS = 2,
  WARPS = 16, PREFETCH = 2, RESIDENT = 1, Z_DEPTH = 64 })
found(DEEP .. " and order == 1 and steps > 1", { ALG = "temporal", TSTEPS = 2, VEC = 4, ITEMS = 2, WARPS = 16, PREFETCH = 2,
  RESIDENT = 1, Z_DEPTH = 64 })
local HUGE = POINTS .. " >= 2^25"
found(DEEP .. " and order == 1 and " .. HUGE, { ALG = "temporal", VEC = 4, ITEMS = 1, WARPS = 8,
  PREFETCH = 6, RESIDENT = 1, Z_DEPTH = 8, COPY = "ca16" })
found(DEEP .. " and order == 1", { ALG = "temporal", VEC = 2, ITEMS = 2, WARPS = 8, PREFETCH = 4, RESIDENT = 4, Z_DEPTH = 16 })
found(DEEP .. " and order == 2 and " .. HUGE, { ALG = "temporal", VEC = 4, ITEMS = 2, WARPS = 8, PREFETCH = 6, RESIDENT = 1,
  Z_DEPTH = 16, COPY = "ca16" })
found(DEEP .. " and order == 3 and " .. HUGE, { ALG = "temporal", VEC = 4, ITEMS = 4, WARPS = 8, PREFETCH = 2, RESIDENT = 1,
  Z_DEPTH = 0, WAVES = 2, COPY = "ca16" })
found(DEEP .. " and order == 2", { ALG = "temporal", VEC = 2, ITEMS = 2, WARPS = 8, PREFETCH = 4, RESIDENT = 2, Z_DEPTH = 0,
  WAVES = 16, STORE = "streaming" })
found(DEEP .. " and order == 3", { ALG = "temporal", VEC = 4, ITEMS = 2, WARPS = 4, PREFETCH = 3, RESIDENT = 2, Z_DEPTH = 0,
  WAVES = 8, COPY = "cg16" })
found(DEEP .. " and order == 4", { ALG = "temporal", VEC = 4, ITEMS = 4, WARPS = 4, PREFETCH = 2, RESIDENT = 2, Z_DEPTH = 0,
  WAVES = 1, COPY = "ca16" })
found(DEEP .. " and order == 4", { ALG = "temporal", VEC = 4, ITEMS = 2, WARPS = 8, PREFETCH = 3, RESIDENT = 1, Z_DEPTH = 0,
  WAVES = 4 })
found("dims == 3 and shape == 'box' and order == 1 and NBYTES == 4 and steps == 1", { ALG = "temporal", VEC = 2, ITEMS = 8,
  WARPS = 8, PREFETCH = 4, RESIDENT = 1, Z_DEPTH = 0, WAVES = 2 })
found("dims == 3 and order == 1 and NBYTES == 8 and steps == 1", { ALG = "temporal", VEC = 1, ITEMS = 4, WARPS = 2,
  PREFETCH = 6, RESIDENT = 8, Z_DEPTH = 16, STORE = "streaming" })
found(WIDE .. " and order <= 2 and steps == 1 and " .. HUGE, { ALG = "temporal", VEC = 4, WARPS = 8, PREFETCH = 6,
  RESIDENT = 3, Z_DEPTH = 8, COPY = "ca16" })
found(WIDE .. " and order <= 2 and steps == 1", { ALG = "temporal", VEC = 2, WARPS = 8, PREFETCH = 3, RESIDENT = 4,
  Z_DEPTH = 16, STORE = "streaming" })
found(WIDE .. " and steps == 1", { ALG = "temporal", VEC = 2, WARPS = 4, PREFETCH = 4, RESIDENT = 6, Z_DEPTH = 0, WAVES = 8,
  STORE = "streaming" })
local function tall(order, tsteps, resident, config)
  config.ALG, config.TSTEPS, config.WARPS, config.RESIDENT = "temporal", tsteps, 4, resident
  suggest(("dims == 2 and order == %d and steps >= %d"):format(order, tsteps), config)
end
local function deep(order, tsteps, warps, items, resident, prefetch)
  suggest(("dims == 3 and order == %d and steps >= %d"):format(order, tsteps), { ALG = "temporal", TSTEPS = tsteps,
    WARPS = warps, ITEMS = items, RESIDENT = resident, PREFETCH = prefetch })
end
for order, tsteps in ipairs { 5, 4, 2, 2 } do
  tall(order, tsteps, 4, { PREFETCH = 4 })
  tall(order, 1, order <= 2 and 8 or 6, { PREFETCH = 6, STORE = "streaming" })
end
deep(1, 2, 16, 4, 1, 2)
deep(1, 1, 8, 2, 4, 3)
found("dims == 3 and shape == 'box' and order >= 2 and VEC_MOST >= 4", { ALG = "temporal", VEC = 4,
  ITEMS = 2, WARPS = 8, PREFETCH = 3, RESIDENT = 1, Z_DEPTH = 0, WAVES = 4 })
deep(2, 1, 8, 2, 3, 3)
deep(3, 1, 8, 2, 2, 3)
deep(4, 1, 8, 2, 2, 3)
found("order == 1", { ALG = "march_register", TILE_X = 16, TILE_Y = 16, Z_DEPTH = 32 })
found("true", { ALG = "march_register", TILE_X = 32, TILE_Y = 32, Z_DEPTH = 32 })
found("true", { ALG = "basic", TILE_X = 64, TILE_Y = 4 })

-- The reference's stages: fields change places, and the last magnitudes are in their own.
local function reference_stages()
  local grid = { "ceildiv(nx, 32)", "min(65535, ceildiv(ny, 8))", "min(65535, nz)" }
  local stages = {}
  for _, way in ipairs { { 0, "magnitude", "before" }, { 1, "before", "magnitude" } } do
    local when = (POINTS .. " > 0 and steps %% 2 == %d"):format(way[1])
    local from, to = way[2], way[3]
    stages[#stages + 1] = { kernel = "widen", grid = grid, block = { 32, 8 }, when = when,
      args = { "nx", "ny", "nz", "u", "one", from } }
    stages[#stages + 1] = { loop = { times = "steps", swap = { { "one", "two" }, { from, to } } },
      when = when .. " and steps > 0", stages = {
        { kernel = "step", grid = grid, block = { 32, 8 },
          args = join({ "nx", "ny", "nz" }, COEFFICIENTS, { "one", from, "two", to }) } } }
    stages[#stages + 1] = { kernel = "narrow", grid = grid, block = { 32, 8 }, when = when,
      args = { "nx", "ny", "nz", way[1] == 0 and "one" or "two", "v" } }
  end
  return stages
end

local args = {
  { "nx", "i32", value = "nx" }, { "ny", "i32", value = "ny" }, { "nz", "i32", value = "nz" },
}
for d = 0, 4 do
  args[#args + 1] = { "c" .. d, "f64", brief = d == 0 and "of the point itself" or "of neighbours at a distance of " .. d,
    sample = d == 0 and 0.375 or ("sel(order >= %d, 0.625 / (order * (%s)), 0)"):format(d, count_at(d)) }
end
args[#args + 1] = { "u", "dtype", "in", count = POINTS, fill = { "uniform", -1, 1 } }
args[#args + 1] = { "v", "dtype", "out", count = POINTS, brief = "not u itself" }

return {
  name = "stencil", version = 1, brief = "steps of a stencil in two or three dimensions",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 8",

  problem = {
    { "shape", { "star", "box" }, default = "star", brief = "neighbours along the axes, or all" },
    { "order", { 1, 2, 3, 4 }, default = 1, brief = "distance of the farthest neighbours" },
    { "dims", { 3, 2 }, default = 3, brief = "dimensions of the stencil; with 2, nz images" },
    { "dtype", { "f32", "f64", "bf16" }, default = "f32", brief = "type of the points; bf16 computes in f32" },
    { "nx", 0, 2^31 - 1, default = 256, brief = "points of a row" },
    { "ny", 0, 2^31 - 1, default = "nx", brief = "rows" },
    { "nz", 0, 2^31 - 1, default = "sel(dims == 3, nx, 1)", brief = "planes" },
    { "steps", 0, 1000000, default = 1, brief = "steps" },
    { "border", { "keep", "zero", "periodic" }, default = "keep",
      brief = "beyond: nothing, outer layers keep their values; zeros; the other side" },
    { "align", { 8, 4, 2, 1 }, default = "sel(dtype == 'bf16', 8, 4)", brief = "elements that u and v are aligned to" },
  },

  args = args,

  call = { "shape", "order", "dims", "dtype", "nx", "ny", "nz", "steps", "border", "c0", "c1", "c2", "c3", "c4",
    "u", "v",
    align = ("min(pow2div(u // (%s), 8), pow2div(v // (%s), 8), sel(dtype == 'bf16', 8, 4))"):format(NBYTES, NBYTES) },

  space = {
    { "ALG", { "basic", "tile3d", "march", "march_register", "march_mixed", "temporal", "tma", "persistent" },
      "where neighbours come from: memory, tiles, planes around a marching block; TSTEPS steps at a time" },
    { "TILE_X", { 4, 6, 8, 10, 16, 32, 64, 128, 256, 512 }, "threads of a block in x",
      when = "not " .. SWEEPS },
    { "TILE_Y", { 1, 2, 4, 6, 8, 10, 16, 32, 64 }, "threads of a block in y",
      when = "not " .. SWEEPS },
    { "TILE_Z", { 1, 2, 4, 6, 8, 10 }, "threads of a block in z", when = "ALG == 'basic' or ALG == 'tile3d'" },
    { "TSTEPS", { 1, 2, 3, 4, 5, 6, 8, 10, 12, 16 }, "steps while the field is read and written once",
      when = SWEEPS },
    { "VEC", { 1, 2, 4, 8 }, "points of a row per thread", when = SWEEPS },
    { "ITEMS", { 1, 2, 3, 4, 8 }, "rows per thread in 3-D", when = SWEEPS },
    { "WARPS", { 1, 2, 4, 8, 12, 16, 32 }, "warps per block", when = SWEEPS },
    { "PREFETCH", { 1, 2, 3, 4, 6, 8 }, "planes, or rows in 2-D, that are copied ahead",
      when = SWEEPS },
    { "RESIDENT", { 1, 2, 3, 4, 6, 8, 12, 16 }, "blocks per multiprocessor that registers are limited for",
      when = SWEEPS },
    { "Z_DEPTH", { 0, 4, 8, 16, 32, 64, 128, 256, 512 }, "planes, or rows in 2-D, that a block goes through; 0: see WAVES",
      when = "ALG ~= 'basic' and ALG ~= 'tile3d'" },
    { "WAVES", { 1, 2, 4, 8, 16 }, "with Z_DEPTH=0, blocks are at most as many as fit the device so often",
      when = SWEEPS .. " and Z_DEPTH == 0" },
    { "COPY", { "vec", "cg16", "ca16" }, "cp.async of VEC elements, of 16 bytes past the first-level cache, or through it",
      when = "ALG == 'temporal' or ALG == 'persistent'" },
    { "CHUNK", { 1, 2, 4, 8 }, "rows in 2-D that a tensor map brings at a time", when = "ALG == 'tma'" },
    { "MARCH", { "up", "meet" }, "neighbouring parts go up, or towards each other", when = SWEEPS },
    { "STORE", { "plain", "streaming" }, "cache operator of stores", when = SWEEPS },
    { "EDGE_CODE", { "one", "columns" }, "columns: parts of which only columns are at the border have code of their own",
      when = SWEEPS .. " and dims == 3 and TSTEPS > 1" },
    { "LOOP", { "host", "graph" }, "what repeats launches", when = "ALG ~= 'persistent'" },
  },

  derive = {
    { "NBYTES", NBYTES }, { "VEC_MOST", "min(align, pow2div(nx, 8), 16 // NBYTES)" }, { "ORDER", "order" }, { "DIMS", "dims" },
    { "WHOLE_ROWS", "NBYTES * min(align, pow2div(nx, 16)) >= 16" },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "TILE_X * TILE_Y * TILE_Z exceeds the device's threads per block", "TILE_X * TILE_Y * TILE_Z <= dev_threads_block" },
    { "a tile of images is a plane", "dims == 3 or TILE_Z == 1" },
    { "blocks of less than 32 threads", "TILE_X * TILE_Y * TILE_Z >= 32" },
    { "Z_DEPTH is 0 for temporal, tma and persistent only",
      "Z_DEPTH > 0 or ALG == 'basic' or ALG == 'tile3d' or " .. SWEEPS },
    { "LOOP=graph needs more than a step", "LOOP == 'host' or steps > 1" },
  },

  default = { ALG = "basic", TILE_X = 32, TILE_Y = 8, TILE_Z = 1, TSTEPS = 1, VEC = 1, ITEMS = 1, WARPS = 4,
    PREFETCH = 2, RESIDENT = 1, Z_DEPTH = 16, WAVES = 1, COPY = "vec", CHUNK = 1, MARCH = "up", STORE = "plain", EDGE_CODE = "one",
    LOOP = "host" },

  textbook = { ALG = "march_register", TILE_X = 32, TILE_Y = 32, Z_DEPTH = 32 },
  untuned = SUGGESTED,

  algorithms = { basic = BASIC, tile3d = TILE3D, march = MARCH, march_register = REGISTER, march_mixed = MIXED,
    temporal = TEMPORAL, tma = TMA, persistent = PERSISTENT },

  workspace = {
    { "other", "dtype", "sel(steps > 1, " .. POINTS .. ", 0)" },
    { "arrived", "u64", "sel(ALG == 'persistent', 1, 0)" },
  },

  -- A thread a point, in double; and the same of magnitudes.
  reference = {
    workspace = { { "one", "f64", POINTS }, { "two", "f64", "sel(steps > 0, " .. POINTS .. ", 0)" },
      { "magnitude", "f32", POINTS }, { "before", "f32", "sel(steps > 0, " .. POINTS .. ", 0)" } },
    stages = reference_stages(),
    source = [[
#include "elements.cuh"
using stored = element<DTYPE>::stored;

struct value {
  double sum, all;  // all: of magnitudes
};
struct place {
  long long nx, ny, nz, x, y, z;
  __device__ long long at() const { return (z * ny + y) * nx + x; }
  __device__ bool exists() const { return x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz; }
};

// Calls f(place) for each point of the field.
template <typename F>
__device__ void each_point(int nx, int ny, int nz, F f) {
  place p = {nx, ny, nz, blockIdx.x * 32ll + threadIdx.x};
  if (p.x >= nx) return;
  for (p.z = blockIdx.z; p.z < nz; p.z += gridDim.z) {
    for (p.y = blockIdx.y * 8 + threadIdx.y; p.y < ny; p.y += gridDim.y * 8) f(p);
  }
}

extern "C" __global__ void widen(int nx, int ny, int nz, const stored *in, double *out, float *all) {
  each_point(nx, ny, nz, [&](place p) {
    out[p.at()] = element<DTYPE>::widen(in[p.at()]);
    all[p.at()] = fabs(out[p.at()]);
  });
}
extern "C" __global__ void narrow(int nx, int ny, int nz, const double *in, stored *out) {
  each_point(nx, ny, nz, [&](place p) { out[p.at()] = element<DTYPE>::narrow(in[p.at()]); });
}

__device__ bool outer(long long i, long long n) { return i < ORDER || i >= n - ORDER; }

__device__ value load(const double *in, const float *all, place p) {
  if (BORDER == BORDER_periodic) {
    p.x = (p.x % p.nx + p.nx) % p.nx, p.y = (p.y % p.ny + p.ny) % p.ny, p.z = (p.z % p.nz + p.nz) % p.nz;
  }
  if (!p.exists()) return {0, 0};
  return {in[p.at()], all[p.at()]};
}

extern "C" __global__ void step(int nx, int ny, int nz, double c0, double c1, double c2, double c3, double c4,
                                const double *in, const float *all, double *out, float *all_out) {
  const double c[5] = {c0, c1, c2, c3, c4};
  each_point(nx, ny, nz, [&](place p) {
    value s = {0, 0};
    if (BORDER == BORDER_keep && (outer(p.x, nx) || outer(p.y, ny) || (DIMS == 3 && outer(p.z, nz)))) {
      s = load(in, all, p);
    } else {
      for (int dz = DIMS == 3 ? -ORDER : 0; dz <= (DIMS == 3 ? ORDER : 0); dz++) {
        for (int dy = -ORDER; dy <= ORDER; dy++) {
          if (SHAPE == SHAPE_star && dz != 0 && dy != 0) continue;
          const int wide = SHAPE == SHAPE_box || (dz == 0 && dy == 0) ? ORDER : 0;
          for (int dx = -wide; dx <= wide; dx++) {
            const int far = max(max(abs(dx), abs(dy)), abs(dz));
            const value v = load(in, all, {p.nx, p.ny, p.nz, p.x + dx, p.y + dy, p.z + dz});
            s.sum += c[far] * v.sum;
            s.all += fabs(c[far]) * v.all;
          }
        }
      }
    }
    out[p.at()] = s.sum;
    all_out[p.at()] = s.all;
  });
}
]],
  },

  -- A step rounds each weight, product and sum, and its result: so often the sum of magnitudes, which takes the steps,
  -- too, bounds the error; and the reference rounds once.
  tolerance = { bound = "magnitude", factor = "(steps * (" .. NEIGHBOURS .. " + 2) + 1) * "
    .. "sel(dtype == 'f64', 2^-53, 2^-24) + sel(dtype == 'bf16', (steps + 1) * 2^-8, 0)" },

  flops = "steps * " .. POINTS .. " * (2 * (" .. NEIGHBOURS .. ") - 1)",
  bytes = "2 * max(1, steps) * " .. POINTS .. " * (" .. NBYTES .. ")",

  sizes = {
    emu = { "nx=36 ny=21 nz=13", "nx=37 ny=19 dims=2 steps=5 border=zero", "nx=24 ny=18 nz=11 steps=3 order=2 border=periodic",
      "nx=20 ny=12 nz=9 shape=box dtype=f64", "nx=24 ny=13 nz=6 dtype=bf16 steps=2" },
    test = { "nx=1 ny=1 nz=1", "nx=0 ny=3 nz=3", "nx=129 ny=67 nz=41", "nx=128 ny=96 nz=50 order=2 steps=7",
      "nx=500 ny=37 nz=33 order=3 border=zero steps=4", "nx=256 ny=64 nz=40 order=4 border=periodic dtype=f64 steps=5",
      "nx=1000 ny=777 dims=2 steps=20", "nx=1024 ny=512 dims=2 steps=20 order=2 shape=box border=periodic",
      "nx=100 ny=60 nz=41 shape=box steps=3", "nx=4 ny=4 nz=4 order=4 border=periodic steps=3",
      "nx=5 ny=7 nz=3 order=4 border=zero steps=2", "nx=264 ny=50 nz=40 dtype=bf16 steps=4" },
    bench = { "nx=512", "nx=512 order=4", "nx=512 steps=100", "nx=16384 dims=2", "nx=16384 dims=2 steps=100" },
  },
}
