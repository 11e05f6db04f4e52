-- box_blur: each pixel becomes the mean of the (2 radius + 1)^2 pixels around it.
--
-- Means of bytes are truncated; the result is exact. Beyond the border there is nothing, and a mean is of the pixels
-- that there are (shrink), zeros, the pixels at the border (replicate), or the image mirrored at the middle of these.
--
-- ALG=direct is the textbook's kernel, which reads the whole window of each pixel. ALG=mma adds bytes by tensor
-- cores, a row that enters the windows and one that leaves them at a time, whatever the radius. ALG=sliding does so in
-- registers, for wider windows; ALG=packed, for radii up to 4, has two sums of 16 bits in a register and needs some 6
-- instructions a pixel. ALG=separable adds columns, then rows, also in single precision, ALG=vectors of which is the
-- form for small radii. ALG=shared and ALG=integral are the textbooks' tile and integral image.

local SIZE = "sel(dtype == 'u8', 1, 4)" -- bytes of a pixel
local BITS32 = "(2 * radius + 1) * (2 * radius + 1) * 255 < 2^32"

local WINDOWS = "ALG == 'direct' or ALG == 'shared'"
local STRIPS = "ALG == 'separable' or ALG == 'packed' or ALG == 'vectors' or ALG == 'sliding' or ALG == 'mma'"
-- The integral image: the image with `radius` more on each side, and a row and a column of zeros.
local ACROSS, DOWN = "(width + 2 * radius + 1)", "(height + 2 * radius + 1)"

local function stage(grid, block, smem)
  return { { kernel = "box_blur", grid = grid, block = block, smem = smem, early = "EARLY",
    args = { "width", "height", "radius", "src", "src_pitch", "dst", "dst_pitch" } } }
end

-- For sizes without a tuned result: packed sums where the radius is small; tensor cores, with as many warps as fill the
-- device and strips as long as that leaves; wider windows slide, and those of single precision are separated.
local SUGGESTED = {}
-- Found on an H200.
local function packed(more, most, words, strip, resident)
  SUGGESTED[#SUGGESTED + 1] = { when = ("width * height > %d and radius <= %d"):format(more, most), ALG = "packed",
    BLOCK = 128, WORDS = words, STRIP = strip, STORE = more > 2^21 and "streaming" or "plain", RESIDENT = resident }
end
SUGGESTED[#SUGGESTED + 1] = { when = "width * height <= 2^18 and radius <= 2", ALG = "shared", BLOCK_X = 16, BLOCK_Y = 32 }
packed(2^24, 2, 4, 32, 20)
packed(2^22, 2, 2, 16, 8)
packed(2^22, 2, 1, 16, 16)
SUGGESTED[#SUGGESTED + 1] = { when = "width * height > 2^26 and radius <= 15 and align >= 16", ALG = "mma", WARPS = 1,
  STRIP = 64, ROWS = 4, AHEAD = 8, STORE = "streaming", RESIDENT = 16 }
SUGGESTED[#SUGGESTED + 1] = { when = "width * height > 2^22 and width * height <= 2^24 and radius <= 4 and align >= 16",
  ALG = "mma", WARPS = 1, STRIP = 8, ROWS = 4, AHEAD = 0, STORE = "streaming", RESIDENT = 20 }
packed(0, 4, 1, 8, 16)
SUGGESTED[#SUGGESTED].when = "width * height <= 2^22 and radius <= 4"
-- Strips of the other forms take as long as a strip does, however small the image is.
SUGGESTED[#SUGGESTED + 1] = { when = "width * height * (2 * radius + 1)^2 <= 2^24 and radius <= 15", ALG = "direct", BLOCK_X = 32,
  BLOCK_Y = 4 }
for _, strip in ipairs { { 128, 2^25 }, { 64, 2^23 }, { 32, 2^21 }, { 16, 0 } } do
  SUGGESTED[#SUGGESTED + 1] = { when = "width * height > " .. string.format("%d", strip[2]), ALG = "mma", WARPS = 4,
    STRIP = strip[1], ROWS = 4, AHEAD = 16, STORE = "plain", RESIDENT = 16 }
end
for _, wide in ipairs { { 256, 256 }, { 1000, 512 }, { 2016, 512 } } do
  SUGGESTED[#SUGGESTED + 1] = { when = "radius <= " .. wide[1], ALG = "sliding", BLOCK = wide[2], VEC = 8, STRIP = 64 }
end
for _, strip in ipairs { { 64, 2^22 }, { 16, 0 } } do
  SUGGESTED[#SUGGESTED + 1] = { when = "width * height > " .. string.format("%d", strip[2]), ALG = "vectors", BLOCK = 128,
    STRIP = strip[1], OUT = 8 }
end
for _, out in ipairs { 16, 8, 4, 2, 1 } do
  for _, block in ipairs { 256, 512, 1024 } do
    SUGGESTED[#SUGGESTED + 1] = { when = "4 * radius <= " .. block, ALG = "separable", BLOCK = block, STRIP = 64,
      OUT = out }
  end
end
SUGGESTED[#SUGGESTED + 1] = { when = "dtype == 'u8'", ALG = "integral", BLOCK = 256 }

return {
  name = "box_blur",
  version = 1,
  brief = "each pixel becomes the mean of those around it",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 3",

  problem = {
    { "width", 0, 2^30, default = 3840, brief = "pixels of a row" },
    { "height", 0, 2^30, default = 2160, brief = "rows" },
    { "radius", 0, 2^16, default = 3, brief = "pixels on either side that count" },
    { "border", { "shrink", "replicate", "zero", "mirror" }, default = "shrink",
      like = { replicate = "shrink", zero = "shrink", mirror = "shrink" }, brief = "what is beyond the image" },
    { "dtype", { "u8", "f32" }, default = "u8", brief = "type of a pixel" },
    { "align", { 16, 8, 4, 2, 1 }, default = "pow2div(max(width * " .. SIZE .. ", 1), 16)",
      brief = "bytes that src, dst and the pitches are aligned to" },
  },

  args = {
    { "width", "i32", value = "width" },
    { "height", "i32", value = "height" },
    { "radius", "i32", value = "radius" },
    { "src", "dtype", "in", count = "src_pitch * max(0, height - 1) + width",
      fill = { "image", "noise", width = "width", height = "height", pitch = "src_pitch" } },
    { "src_pitch", "i64", sample = "roundup(width, max(1, align // " .. SIZE .. "))",
      brief = "pixels from a row to the next" },
    { "dst", "dtype", "out", count = "dst_pitch * max(0, height - 1) + width" },
    { "dst_pitch", "i64", sample = "roundup(width, max(1, align // " .. SIZE .. "))" },
  },

  call = { "dtype", "width", "height", "radius", "border", "src", "src_pitch", "dst", "dst_pitch",
    align = "min(min(pow2div(src, 16), pow2div(src_pitch * (" .. SIZE .. "), 16)), "
      .. "min(pow2div(dst, 16), pow2div(dst_pitch * (" .. SIZE .. "), 16)))" },

  call_require = {
    { "src_pitch is less than the pixels of a row", "src_pitch >= width" },
    { "dst_pitch is less than the pixels of a row", "dst_pitch >= width" },
  },

  space = {
    { "ALG", { "direct", "shared", "separable", "vectors", "sliding", "integral", "mma", "packed" },
      "the whole window for each pixel, also from shared memory; sums along columns, then rows, also of "
      .. "vectors; sums of columns that slide; an integral image; sums by tensor cores; two sums in a register" },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block, in a row",
      when = "ALG == 'separable' or ALG == 'vectors' or ALG == 'sliding' or ALG == 'integral' or ALG == 'packed'" },
    { "BLOCK_X", { 8, 16, 32, 64, 128, 256 }, "threads per block along a row", when = WINDOWS },
    { "BLOCK_Y", { 1, 2, 4, 8, 16, 32 }, "threads per block along a column", when = WINDOWS },
    { "STRIP", { 8, 16, 32, 64, 128, 256, 512, 1024 }, "rows of a block", when = STRIPS },
    { "STORE", { "plain", "streaming" }, "cache operator of stores", when = "ALG == 'mma' or ALG == 'packed'" },
    { "RESIDENT", { 8, 12, 16, 20, 24, 32 }, "warps of a multiprocessor that registers are limited for",
      when = "ALG == 'mma' or ALG == 'packed'" },
    { "OUT", { 1, 2, 4, 8, 16 }, "windows per thread and step", when = "ALG == 'separable' or ALG == 'vectors'" },
  },

  derive = {
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "WIDE", "ALG == 'direct' or not (" .. BITS32 .. ")" }, -- sums of 64 bits; direct's text serves every radius
    { "WORD", "align" },
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "BLOCK_X * BLOCK_Y is not between 32 and the device's threads per block",
      "BLOCK_X * BLOCK_Y >= 32 and BLOCK_X * BLOCK_Y <= dev_threads_block" },
    { "STRIP of few rows needs few rows in the image", "not (" .. STRIPS .. ") or STRIP * 512 >= height", advice = true },
    { "STRIP is twice the rows of the image or more", "not (" .. STRIPS .. ") or STRIP == 8 or STRIP < 2 * height",
      advice = "search" },
    { "the strips need more blocks than a grid may have", "not (" .. STRIPS .. ") or ceildiv(height, STRIP) <= 65535" },
  },

  default = { ALG = "direct", BLOCK = 256, BLOCK_X = 16, BLOCK_Y = 16, STRIP = 64, OUT = 1, STORE = "plain", RESIDENT = 8 },
  untuned = SUGGESTED,
  textbook = { BLOCK_X = 16, BLOCK_Y = 16 },

  algorithms = {
    direct = {
      space = {
        { "RADIUS", { "argument", "constant" }, "the radius as an argument of the kernel, or a constant" },
      },
      derive = {
        { "R", "sel(RADIUS == 'constant', radius, -1)" },
      },
      require = {
        { "RADIUS=constant needs radius <= 15", "RADIUS == 'argument' or radius <= 15" },
      },
      default = { RADIUS = "argument" },
      source = "box_blur_direct.cu",
      stages = stage({ "ceildiv(width, BLOCK_X) * min(height, 1)", "min(ceildiv(height, BLOCK_Y), 65535)" },
        { "BLOCK_X", "BLOCK_Y" }),
    },
    shared = {
      derive = { { "SMEM", "(BLOCK_X + 2 * radius) * (BLOCK_Y + 2 * radius) * " .. SIZE } },
      require = {
        { "the tile exceeds the shared memory of a block", "SMEM <= dev_smem_block" },
        { "the tiles need more blocks than a grid may have", "ceildiv(height, BLOCK_Y) <= 65535" },
      },
      source = "box_blur_shared.cu",
      stages = stage({ "ceildiv(width, BLOCK_X) * min(height, 1)", "ceildiv(height, BLOCK_Y)" },
        { "BLOCK_X", "BLOCK_Y" }, "SMEM"),
    },
    vectors = {
      derive = {
        { "R", "radius" },
        { "OUTPUTS", "4 * (BLOCK - 2 * ceildiv(radius, 4))" },
      },
      require = {
        { "ALG=vectors needs dtype=f32", "dtype == 'f32'" },
        { "ALG=vectors needs radius <= 16, so that windows fit the registers", "radius <= 16" },
        { "OUT * (2 * radius + OUT) windows take long to compile", "OUT * (2 * radius + OUT) <= 320" },
        { "the sums exceed the shared memory of a block", "2 * OUT * BLOCK * 16 <= 48 * 1024" },
      },
      source = "box_blur_vectors.cu",
      stages = stage({ "ceildiv(width, OUTPUTS) * min(height, 1)", "ceildiv(height, STRIP)" }, "BLOCK"),
    },
    sliding = {
      space = { { "VEC", { 4, 8 }, "columns per thread" } },
      derive = { { "OUTPUTS", "BLOCK * VEC - 2 * roundup(radius, VEC)" } },
      require = {
        { "ALG=sliding needs dtype=u8", "dtype == 'u8'" },
        { "ALG=sliding needs sums of 32 bits, radius <= 2051", "not WIDE" },
        { "BLOCK * VEC is less than 2 * radius + 64", "OUTPUTS >= 64" },
        { "the sums exceed 48 KB of shared memory", "BLOCK * VEC * 8 + 320 <= 48 * 1024" },
      },
      default = { VEC = 4 },
      source = "box_blur_sliding.cu",
      stages = stage({ "ceildiv(width, max(1, OUTPUTS)) * min(height, 1)", "ceildiv(height, STRIP)" }, "BLOCK"),
    },
    packed = {
      space = { { "WORDS", { 1, 2, 4 }, "words of four pixels per lane" } },
      derive = { { "R", "radius" } },
      require = {
        { "ALG=packed needs dtype=u8", "dtype == 'u8'" },
        { "ALG=packed needs a radius of 1 to 4", "radius >= 1 and radius <= 4" },
        { "ALG=packed needs rows that are aligned to words, or WORDS=1", "align >= 4 or WORDS == 1" },
        { "RESIDENT is not a multiple of the warps of BLOCK threads", "RESIDENT % (BLOCK // 32) == 0" },
      },
      default = { WORDS = 4 },
      source = "box_blur_packed.cu",
      stages = stage({ "ceildiv(width, 4 * WORDS * BLOCK) * min(height, 1)", "ceildiv(height, STRIP)" }, "BLOCK"),
    },
    integral = {
      require = {
        { "ALG=integral needs dtype=u8", "dtype == 'u8'" },
        { "the integral image exceeds 2^31 bytes", ACROSS .. " * " .. DOWN .. " * sel(WIDE, 8, 4) <= 2^31" },
      },
      workspace = { { "sums", "u32", ACROSS .. " * " .. DOWN .. " * sel(WIDE, 2, 1)" } },
      source = "box_blur_integral.cu",
      stages = {
        { kernel = "integral_rows", grid = DOWN, block = "BLOCK", early = "EARLY",
          args = { "width", "height", "radius", "src", "src_pitch", "sums" } },
        { kernel = "integral_columns", grid = "ceildiv(" .. ACROSS .. ", BLOCK)", block = "BLOCK",
          args = { "width", "height", "radius", "sums" } },
        { kernel = "integral_windows", grid = { "ceildiv(width, BLOCK) * min(height, 1)", "min(height, 65535)" },
          block = "BLOCK", args = { "width", "height", "radius", "sums", "dst", "dst_pitch" } },
      },
    },
    separable = {
      require = {
        { "BLOCK is less than 2 * radius + 32", "BLOCK >= 2 * radius + 32" },
        { "OUT exceeds 2 * radius + 1", "OUT <= 2 * radius + 1" },
        { "the sums exceed the shared memory of a block", "2 * OUT * (BLOCK + 1) * sel(WIDE, 8, 4) <= 48 * 1024" },
      },
      source = "box_blur_separable.cu",
      stages = stage({ "ceildiv(width, max(1, BLOCK - 2 * radius)) * min(height, 1)", "ceildiv(height, STRIP)" }, "BLOCK"),
    },
    mma = {
      space = {
        { "WARPS", { 1, 2, 4, 8 }, "warps per block, side by side" },
        { "ROWS", { 1, 2, 4, 8 }, "rows loaded before the first is added" },
        { "AHEAD", { 0, 8, 16, 32 }, "prefetch distance, in rows" },
        { "PRODUCTS", { "bytes", "halves" },
          "operands of mma: u8, rows entering and leaving one by one, or f16, differences of them" },
      },
      derive = {
        { "CHUNKS", "1 + ceildiv(radius, 16)" }, -- of 32 bytes around 32 pixels
        { "K", "32 * CHUNKS" },
      },
      require = {
        { "ALG=mma needs compute capability 8.0", "dev_cc >= 80" },
        { "ALG=mma needs dtype=u8", "dtype == 'u8'" },
        { "ALG=mma needs radius <= 48, so that means are exact and matrices fit the registers", "radius <= 48" },
        { "ROWS rows exceed the registers", "ROWS * CHUNKS <= 16" },
        { "RESIDENT is not a multiple of WARPS", "RESIDENT % WARPS == 0" },
        { "ROWS exceeds STRIP", "ROWS <= STRIP" },
      },
      default = { WARPS = 4, ROWS = 2, AHEAD = 0, PRODUCTS = "bytes" },
      source = "box_blur_mma.cu",
      stages = stage({ "ceildiv(width, 256 * WARPS) * min(height, 1)", "ceildiv(height, STRIP)" }, "32 * WARPS"),
    },
  },

  -- One thread per pixel.
  reference = {
    stages = {
      { kernel = "reference", grid = { "ceildiv(width, 128) * min(height, 1)", "min(height, 65535)" }, block = 128,
        args = { "width", "height", "radius", "src", "src_pitch", "dst", "dst_pitch" } },
    },
    source = "box_blur_reference.cu",
  },

  cases = {
    {},
    { src_pitch = "roundup(width, max(1, align // " .. SIZE .. ")) + 3 * align",
      dst_pitch = "roundup(width, max(1, align // " .. SIZE .. ")) + align" },
  },

  -- Bytes are equal. A sum of f32 is of rows of 2 radius + 1 numbers up to 1, each rounded by 2^-24 of it at most.
  tolerance = { abs = "sel(dtype == 'u8', 0.25, (4 * radius + 8) * 2^-24)", rel = 0 },

  flops = "width * height * (2 * (2 * radius + 1) + 1)",
  bytes = "2 * width * height * " .. SIZE,

  sizes = {
    emu = { "width=76 height=62", "width=300 height=9 radius=20 border=mirror",
      "width=64 height=33 radius=2 border=zero align=1", "width=33 height=20 radius=2 dtype=f32 border=replicate" },
    test = { "width=0 height=0", "width=0 height=3", "width=5 height=0", "width=1 height=1", "width=76 height=62 radius=0",
      "width=1500 height=2000", "width=1021 height=211 align=1 border=mirror", "width=1920 height=300 radius=31",
      "width=512 height=517 radius=15 border=replicate", "width=300 height=200 radius=300 border=zero",
      "width=1 height=3000 radius=7", "width=4001 height=1 radius=7 border=mirror",
      "width=640 height=480 radius=5 dtype=f32 border=replicate", "width=777 height=400 radius=48" },
    bench = { "width=1920 height=1080", "width=3840 height=2160 radius=7", "width=7680 height=4320 radius=15",
      "width=16384 height=16384 radius=1", "width=16384 height=16384 radius=31" },
  },
}
