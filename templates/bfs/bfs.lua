-- bfs: the level of each vertex of a graph, the least number of edges from a source, and the tree of a search.
--
-- The graph is a matrix in compressed rows. ALG=direction runs all levels in one cooperative launch; the others are
-- the algorithms of the textbook, a launch or two for each level, which LOOP repeats.

local SUGGESTED = {
  { when = "graph == 'undirected'", WAY = "direction" },
}

local GRAPH = { { "u32", "vertices" }, "offsets", "targets" }
local function with(...)
  local list = {}
  for _, part in ipairs { ... } do
    if type(part) == "table" and type(part[1]) == "table" then
      for _, one in ipairs(part) do list[#list + 1] = one end
    else
      list[#list + 1] = part
    end
  end
  return list
end

-- A launch for each level. `sweep` has a thread for each of `count`; queues have as many as the device holds.
local function levels(kernel, o)
  local step = { kernel = kernel, block = "BLOCK", grid = o.count and "ceildiv(" .. o.count .. ", BLOCK)"
    or "dev_sms * max(1, dev_threads_sm // BLOCK // 2)", args = o.args }
  local stages = {
    { kernel = "start", grid = "min(ceildiv(vertices, BLOCK), 8 * dev_sms)", block = "BLOCK",
      args = { { "u32", "vertices" }, "source", "level", "parent", "queue", "state" } },
    { loop = { while_word = "state", max = "vertices + 1", graph = "LOOP == 'graph'", ahead = "LOOP == 'ahead'",
               batch = "BATCH" },
      stages = { step, { kernel = o.last or "decide", grid = 1, block = 1, args = { { loop = "state" }, "state" } } } },
  }
  if kernel == "edge" then
    table.insert(stages, 2, { kernel = "origins", grid = "min(ceildiv(vertices, BLOCK // 32), 16 * dev_sms)",
      block = "BLOCK", args = { { "u32", "vertices" }, "offsets", "from" } })
  end
  return { space = o.space, default = o.default, require = o.require, source = "bfs_levels.cu",
           stages = stages }
end

local SWEEP = with(GRAPH, "level", "parent", "state")
local QUEUES = { "offsets", "targets", "level", "parent", "queue", "state" }

local DIRECTION = {
  space = {
    { "WAY", { "direction", "push" }, "small frontiers push and large ones pull, or all push" },
    { "BLOCKS_SM", { 1, 2, 3, 4 }, "blocks on each multiprocessor" },
    { "ALPHA", { 4, 8, 15, 32, 64 }, "pull when a frontier has more than one ALPHA-th of the edges that are left" },
    { "BETA", { 4, 8, 18, 32, 64 }, "push again when it has fewer than one BETA-th of the vertices" },
    { "CHUNK", { 32, 64, 128, 256, 1024 }, "edges of a vertex that a warp takes at most" },
    { "FEW", { 64, 256, 1024 }, "ranges of a level that one block goes through alone, of 8 edges in the mean" },
    { "UNROLL", { 1, 2, 4, 8 }, "neighbours that a pull looks at together" },
    { "PULL_MOST", { 8, 32, 128 }, "neighbours that one thread looks at; a warp looks at the rest" },
  },
  require = {
    { "BLOCKS_SM blocks of BLOCK threads do not fit", "BLOCK * BLOCKS_SM <= dev_threads_sm" },
    { "BLOCKS_SM blocks of QUEUE ranges do not fit", "BLOCKS_SM * (12 * (QUEUE + FEW) + 1088) <= dev_smem_sm" },
    { "WAY=direction needs graph=undirected", "WAY ~= 'direction' or graph == 'undirected'" },
    { "UNROLL does not divide PULL_MOST", "PULL_MOST % UNROLL == 0" },
  },
  default = { WAY = "push", BLOCKS_SM = 1, ALPHA = 15, BETA = 18, CHUNK = 128, FEW = 1024, UNROLL = 4, PULL_MOST = 32 },
  source = "bfs_direction.cu",
  stages = {
    { kernel = "direction", cooperative = true, grid = "max(1, min(dev_sms * BLOCKS_SM, ceildiv(max(vertices, edges // 16), BLOCK)))",
      block = "BLOCK",
      args = { { "u32", "vertices" }, { "u32", "edges" }, "offsets", "targets", "source", "level", "parent",
               "ranges_a", "ranges_b", "from_a", "from_b", "bits_a", "bits_b", "levels", "arrived",
               { loop = "state" } } },
  },
}

return {
  name = "bfs",
  version = 1,
  brief = "levels and parents of a breadth-first search",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 15; Beamer, Asanovic, Patterson, 2012",

  problem = {
    { "vertices", 0, 2^31 - 32, default = 2^16, brief = "vertices" },
    { "edges", 0, 2^31 - 1, default = "min(16 * vertices, 2^31 - 1)", brief = "edges, each direction counted" },
    { "graph", { "directed", "undirected" }, default = "directed", class = "promise",
      brief = "undirected: the other direction of each edge is one, too" },
    { "parents", { "no", "yes" }, default = "no", brief = "is the tree wanted?" },
    { "blocking", { "yes", "no" }, default = "no", class = "promise", brief = "may a launch wait for the device?" },
  },
  matrix = { rows = "vertices", entries = "edges" },

  args = {
    { "offsets", "i32", "in", count = "vertices + 1", fill = { "matrix", part = "offsets" } },
    { "targets", "i32", "in", count = "edges", fill = { "matrix", part = "columns" } },
    { "source", "u32", sample = 0 },
    { "level", "u32", "out", count = "vertices", brief = "UINT_MAX: not reached" },
    { "parent", "u32", "out", count = "sel(parents == 'yes', vertices, 0)",
      optional = "parents == 'no'", brief = "the source's is itself; UINT_MAX: not reached" },
  },

  call = { "vertices", "edges", "offsets", "targets", "graph", "source", "level", "parent",
    parents = "sel(parent == 0, 'no', 'yes')" },
  call_require = { { "source is no vertex", "source < vertices" } },

  space = {
    { "ALG", { "direction", "push", "pull", "edge", "frontier", "privatised", "buckets" },
      "what the threads of a level do" },
    { "BLOCK", { 128, 256, 512, 1024 }, "threads per block" },
    { "LOOP", { "graph", "ahead", "host" }, "what repeats the levels", when = "ALG ~= 'direction'" },
    { "BATCH", { 2, 8, 32 }, "levels that are launched before the host looks", when = "LOOP == 'ahead'" },
    { "QUEUE", { 512, 1024, 2048 }, "vertices, or ranges of edges, that a block collects in shared memory",
      when = "ALG == 'direction' or ALG == 'privatised' or ALG == 'buckets'" },
  },
  derive = {
    { "PARENTS", "sel(parents == 'yes', 1, 0)" },
    { "HAS_QUEUE", "sel(ALG == 'frontier' or ALG == 'privatised' or ALG == 'buckets', 1, 0)" },
  },
  require = {
    { "LOOP=host and LOOP=ahead wait for the device", "blocking == 'yes' or LOOP ~= 'host' and LOOP ~= 'ahead'" },
  },
  textbook = { { ALG = "privatised", BLOCK = 256 } },
  default = { ALG = "direction", BLOCK = 1024, LOOP = "graph", BATCH = 8, QUEUE = 1024 },
  untuned = SUGGESTED,
  workspace = {
    { "state", "u32", 8 },
    { "queue", "u32", "HAS_QUEUE * vertices" },
    { "from", "i32", "sel(ALG == 'edge', edges, 0)" },
    { "ranges_a", "u64", "sel(ALG == 'direction', vertices + edges // CHUNK + 1, 0)" },
    { "ranges_b", "u64", "sel(ALG == 'direction', vertices + edges // CHUNK + 1, 0)" },
    { "from_a", "u32", "sel(ALG == 'direction', PARENTS * (vertices + edges // CHUNK + 1), 0)" },
    { "from_b", "u32", "sel(ALG == 'direction', PARENTS * (vertices + edges // CHUNK + 1), 0)" },
    { "bits_a", "u32", "sel(ALG == 'direction', ceildiv(vertices, 32), 0)" },
    { "bits_b", "u32", "sel(ALG == 'direction', ceildiv(vertices, 32), 0)" },
    { "levels", "u64", 14 },
    { "arrived", "u64", 1 },
  },
  algorithms = {
    direction = DIRECTION,
    push = levels("push", { count = "vertices", args = SWEEP }),
    pull = levels("pull", { count = "vertices", args = SWEEP,
      require = { { "ALG=pull needs graph=undirected", "graph == 'undirected'" } } }),
    edge = levels("edge", { count = "max(1, edges)",
      args = { { "u32", "edges" }, "from", "targets", "level", "parent", "state" } }),
    frontier = levels("frontier", { args = QUEUES, last = "advance" }),
    privatised = levels("privatised", { args = QUEUES, last = "advance" }),
    buckets = levels("buckets", { args = QUEUES, last = "advance",
      space = { { "SMALL", { 16, 32, 64 }, "edges from which on a warp visits a vertex" },
                { "LARGE", { 256, 1024, 4096 }, "edges from which on a block does" } },
      default = { SMALL = 32, LARGE = 1024 } }),
  },

  -- One block, level by level; a queue holds the reached vertices.
  reference = {
    workspace = { { "reached", "u32", "vertices" } },
    stages = { { kernel = "search", grid = 1, block = 1024,
      args = { { "u32", "vertices" }, "offsets", "targets", "source", "level", "reached" } } },
    source = [==[
extern "C" __global__ void search(unsigned vertices, const int *offsets, const int *targets, unsigned source,
                                  unsigned *level, unsigned *reached) {
  __shared__ unsigned first, end, more;
  for (unsigned v = threadIdx.x; v < vertices; v += 1024) level[v] = v == source ? 0 : 0xffffffffu;
  if (threadIdx.x == 0) {
    first = 0;
    more = end = source < vertices;
    if (end) reached[0] = source;
  }
  __syncthreads();
  for (unsigned depth = 1; first < end; depth++) {
    const unsigned from = first, to = end;
    for (unsigned i = from + threadIdx.x; i < to; i += 1024) {
      for (int e = offsets[reached[i]]; e < offsets[reached[i] + 1]; e++) {
        const unsigned u = targets[e];
        if (atomicCAS(&level[u], 0xffffffffu, depth) == 0xffffffffu) reached[atomicAdd(&more, 1u)] = u;
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      first = to;
      end = more;
    }
    __syncthreads();
  }
}

// Each reached vertex has a neighbour one level before it as its parent.
extern "C" __global__ void is_tree(unsigned vertices, const int *offsets, const int *targets, unsigned source,
                                   const unsigned *level, const unsigned *parent, unsigned long long *wrong) {
  const unsigned v = blockIdx.x * 256 + threadIdx.x;
  if (v >= vertices) return;
  const unsigned p = parent[v];
  bool right = level[v] == 0xffffffffu ? p == 0xffffffffu : v == source ? p == v : p < vertices && level[p] + 1 == level[v];
  if (right && level[v] != 0xffffffffu && v != source) {
    right = false;
    for (int e = offsets[p]; e < offsets[p + 1] && !right; e++) right = targets[e] == v;
  }
  if (!right) {
    atomicAdd(&wrong[0], 1ull);
    atomicMin(&wrong[1], (unsigned long long)v);
  }
}
]==] },
  checks = {
    { "tree", of = "parent", kernel = "is_tree", grid = "sel(parents == 'yes', ceildiv(vertices, 256), 0)", block = 256,
      args = { { "u32", "vertices" }, "offsets", "targets", "source", "level", "parent", "wrong" } },
  },
  cases = { {}, { source = "max(0, vertices - 1)" } },
  tolerance = { abs = 0, rel = 0 },
  flops = "edges", bytes = "8 * vertices + 4 * edges",
  metrics = { { "gteps", "edges / 2 / sec / 1e9" } },
  sizes = {
    emu = { "matrix=rmat scale=7 graph=undirected parents=yes", "vertices=100 edges=300 blocking=yes" },
    test = { "vertices=0 edges=0", "vertices=1 edges=0", "vertices=1001 edges=900", "matrix=grid2d side=20 graph=undirected",
             "matrix=star rows=5000 graph=undirected parents=yes", "matrix=path rows=40 graph=undirected" },
    bench = { "matrix=rmat scale=20 seed=2 graph=undirected", "matrix=grid2d side=1024 graph=undirected" },
  },
}
