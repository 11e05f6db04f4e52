-- rgb_to_grey: each pixel's grey level, wr r + wg g + wb b, of an image of interleaved bytes.
--
-- A grey level is the weighted sum, truncated or rounded. Weights such as 0.21 are no binary fractions: what is
-- less than 2^-20 below a whole number counts as that number, so that 0.21 * 100 is 21. ARITH=fixed computes with
-- weights of 16 bits, ARITH=hundredths with whole hundredths; both give these levels for all 2^24 colours of the
-- default weights (test_grey_levels.c), and need them. Others are computed in double precision, or in single
-- where that is far enough from a step.
--
-- ALG=pixel is the textbook's kernel, a pixel per thread. ALG=words loads the bytes of 4, 8 or 16 pixels as words;
-- ALG=shared does so with neighbouring threads on neighbouring words, and exchanges them in shared memory.

local GROUPS = "ceildiv(width, PIXELS)" -- of a row
local BLOCKS = "ceildiv(" .. GROUPS .. " * height, BLOCK * COARSE)"
local ROW_TILES = "ceildiv(width, TILE)"

local function stage(grid, block)
  return { { kernel = "rgb_to_grey", grid = grid, block = block, early = "EARLY",
    args = { "width", "height", "wr", "wg", "wb", "src", "src_pitch", "dst", "dst_pitch" } } }
end

-- For sizes without a tuned result: words as long as the alignment allows.
local SUGGESTED = {}
local function suggest(arith, when)
  for _, pixels in ipairs { 16, 8, 4 } do
    SUGGESTED[#SUGGESTED + 1] = { when = when .. " and width * height > 2^20", ALG = "words", BLOCK = 128,
      PIXELS = pixels, COARSE = 1, LOAD = "constant", STORE = "plain", ARITH = arith }
  end
  for _, pixels in ipairs { 8, 4 } do
    SUGGESTED[#SUGGESTED + 1] = { when = when .. " and width * height <= 2^20", ALG = "words", BLOCK = 128,
      PIXELS = pixels, COARSE = 1, LOAD = "constant", STORE = "plain", ARITH = arith }
  end
  SUGGESTED[#SUGGESTED + 1] = { when = when, ALG = "words", BLOCK = 256, PIXELS = 1, COARSE = 4, LOAD = "constant",
    STORE = "plain", ARITH = arith }
end
suggest("hundredths", "weights == 'default'")
suggest("double", "weights == 'any'")

return {
  name = "rgb_to_grey",
  version = 1,
  brief = "grey levels of an image of red, green and blue bytes",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 3",

  problem = {
    { "width", 0, 2^30, default = 3840, brief = "pixels of a row" },
    { "height", 0, 2^30, default = 2160, brief = "rows" },
    { "channels", { 3, 4 }, default = 3, brief = "bytes of a pixel: red, green, blue, and one that does not count" },
    { "round", { "truncate", "nearest" }, default = "truncate", like = "truncate",
      brief = "how a sum becomes a level" },
    { "align", { 16, 8, 4, 2, 1 }, default = "pow2div(max(width, 1), 16)",
      brief = "bytes that src, dst and the pitches are aligned to" },
    { "weights", { "any", "default" }, default = "default", class = "promise",
      brief = "default: 0.21, 0.72 and 0.07" },
  },

  args = {
    { "width", "i32", value = "width" },
    { "height", "i32", value = "height" },
    { "wr", "f64", sample = "sel(weights == 'default', 0.21, 0.299)" },
    { "wg", "f64", sample = "sel(weights == 'default', 0.72, 0.587)" },
    { "wb", "f64", sample = "sel(weights == 'default', 0.07, 0.114)" },
    { "src", "u8", "in", count = "src_pitch * max(0, height - 1) + width * channels",
      fill = { "image", "noise", width = "width", height = "height", channels = "channels", pitch = "src_pitch" } },
    { "src_pitch", "i64", sample = "roundup(width * channels, align)", brief = "bytes from a row to the next" },
    { "dst", "u8", "out", count = "dst_pitch * max(0, height - 1) + width" },
    { "dst_pitch", "i64", sample = "roundup(width, align)" },
  },

  call = { "channels", "width", "height", "wr", "wg", "wb", "round", "src", "src_pitch", "dst", "dst_pitch",
    align = "min(min(pow2div(src, 16), pow2div(src_pitch, 16)), min(pow2div(dst, 16), pow2div(dst_pitch, 16)))",
    weights = "sel(wr == 0.21 and wg == 0.72 and wb == 0.07, 'default', 'any')" },

  call_require = {
    { "src_pitch is less than the bytes of a row", "src_pitch >= width * channels" },
    { "dst_pitch is less than the bytes of a row", "dst_pitch >= width" },
  },

  space = {
    { "ALG", { "pixel", "words", "shared" }, "a pixel per thread, words of several, or words exchanged in shared memory" },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block", when = "ALG ~= 'pixel'" },
    { "PIXELS", { 1, 2, 4, 8, 16 }, "neighbouring pixels per thread", when = "ALG ~= 'pixel'" },
    { "ARITH", { "double", "filtered", "fixed", "hundredths" },
      "double precision; single where that decides; 16-bit weights; or whole hundredths" },
    { "LOAD", { "plain", "constant", "streaming" }, "cache operator of loads", when = "ALG ~= 'pixel'" },
    { "STORE", { "plain", "streaming" }, "cache operator of stores", when = "ALG ~= 'pixel'" },
  },

  derive = {
    { "CHANNELS", "channels" },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "ARITH=fixed and ARITH=hundredths need the default weights",
      "weights == 'default' or ARITH == 'double' or ARITH == 'filtered'" },
    { "src, dst and their pitches are not aligned to PIXELS bytes", "PIXELS <= align" },
  },

  default = { ALG = "pixel", BLOCK = 256, PIXELS = 1, ARITH = "double", LOAD = "plain", STORE = "plain" },
  untuned = SUGGESTED,

  algorithms = {
    pixel = {
      space = {
        { "BLOCK_X", { 8, 16, 32, 64, 128, 256 }, "threads per block along a row" },
        { "BLOCK_Y", { 1, 2, 4, 8, 16, 32 }, "threads per block along a column" },
      },
      require = {
        { "BLOCK_X * BLOCK_Y is not between 32 and the device's threads per block",
          "BLOCK_X * BLOCK_Y >= 32 and BLOCK_X * BLOCK_Y <= dev_threads_block" },
      },
      default = { BLOCK_X = 16, BLOCK_Y = 16 },
      source = "rgb_to_grey_pixel.cu",
      stages = stage({ "ceildiv(width, BLOCK_X) * min(height, 1)", "min(ceildiv(height, BLOCK_Y), 65535)" },
        { "BLOCK_X", "BLOCK_Y" }),
    },
    words = {
      space = { { "COARSE", { 1, 2, 4 }, "coarsening factor: groups of pixels per thread" } },
      derive = { { "WIDE", GROUPS .. " * height >= 2^31" } }, -- 64-bit positions
      require = {
        { "the groups of pixels need more blocks than a grid may have", BLOCKS .. " < 2^31" },
        { "COARSE groups of PIXELS pixels exceed the registers", "COARSE * PIXELS <= 32" },
      },
      default = { COARSE = 1 },
      source = "rgb_to_grey_words.cu",
      stages = stage(BLOCKS, "BLOCK"),
    },
    shared = {
      derive = { { "TILE", "BLOCK * PIXELS" } }, -- pixels of a block
      require = {
        { "ALG=shared needs 3 channels, PIXELS of 4, 8 or 16, and align=16",
          "channels == 3 and PIXELS >= 4 and align == 16" },
        { "the tile exceeds the shared memory of a block", "TILE * channels <= min(dev_smem_block, 49152)" },
        { "the tiles need more blocks than a grid may have", ROW_TILES .. " * height < 2^31" },
        { "a tile exceeds twice the row", "TILE <= 2 * max(width, 256)" },
      },
      source = "rgb_to_grey_shared.cu",
      stages = stage(ROW_TILES .. " * height", "BLOCK"),
    },
  },

  -- One thread per pixel.
  reference = {
    stages = {
      { kernel = "reference", grid = { "ceildiv(width, 128) * min(height, 1)", "min(height, 65535)" }, block = 128,
        args = { "width", "height", "wr", "wg", "wb", "src", "src_pitch", "dst", "dst_pitch" } },
    },
    source = [[
extern "C" __global__ void reference(int width, int height, double wr, double wg, double wb,
                                     const unsigned char *src, long long src_pitch, unsigned char *dst,
                                     long long dst_pitch) {
  const int x = blockIdx.x * 128 + threadIdx.x;
  if (x >= width) return;
  for (long long y = blockIdx.y; y < height; y += gridDim.y) {
    const unsigned char *p = src + y * src_pitch + (long long)x * @{channels};
    const double slack = 0x1p-20 + (ROUND == ROUND_nearest ? 0.5 : 0);
    const double level = fma(wb, (double)p[2], fma(wg, (double)p[1], fma(wr, (double)p[0], slack)));
    dst[y * dst_pitch + x] = (unsigned char)fmin(fmax(level, 0.0), 255.0);
  }
}
]],
  },

  cases = {
    {},
    { src_pitch = "roundup(width * channels, align) + 3 * align", dst_pitch = "roundup(width, align) + align" },
  },

  tolerance = { abs = 0.25, rel = 0 }, -- equal: levels are whole numbers

  flops = "5 * width * height",
  bytes = "(channels + 1) * width * height",

  sizes = {
    emu = { "width=76 height=62", "width=64 height=9 channels=4 round=nearest", "width=37 height=5 weights=any",
      "width=200 height=3 round=nearest weights=any align=4" },
    test = { "width=0 height=0", "width=0 height=3", "width=5 height=0", "width=1 height=1", "width=76 height=62",
      "width=1500 height=2000", "width=1021 height=211 align=1", "width=509 height=97 weights=any align=16",
      "width=2048 height=1031 channels=4 round=nearest", "width=1 height=70000", "width=3000000 height=1 align=2" },
    bench = { "width=1920 height=1080", "width=3840 height=2160", "width=7680 height=4320",
      "width=16384 height=16384" },
  },
}
