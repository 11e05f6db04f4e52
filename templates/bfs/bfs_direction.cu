// bfs_direction.cu -- all levels in one cooperative launch: push while the frontier is small, pull while it has
// many edges.
//
// A bit for each vertex says whether it is visited. The frontier of a push is a queue of ranges of edges, at most
// CHUNK each, so that a vertex of many edges is the work of many warps; a warp takes up to 32 ranges and shares
// out their edges among its lanes. What a block finds it keeps in shared memory, and appends to the queue when the
// level ends. Block 0 goes through levels of few ranges alone, with barriers of its own. A pull goes through the words of the bits, a warp for the 32 vertices of a word, and writes the new
// words elsewhere: an unreached vertex belongs to the next level if a neighbour was visited before.
// src: Beamer, Asanovic, Patterson, Direction-optimizing breadth-first search, 2012: the thresholds alpha and beta
#include "grid_epoch.cuh"
#include "while_loop.cuh"
#include "bfs_graph.cuh"

constexpr int WARPS = BLOCK / 32;

// What a level consists of. Three in turn: this level's is read, the next one's is added to, that after is cleared.
// Behind them are two pairs in turn, for what block 0 has come to alone: the number of the level and the edges that
// are left, and what that level consists of. Blocks may still read one while block 0 writes the other.
struct frontier {
  unsigned ranges, vertices;
  unsigned long long edges;
};

struct range {  // of edges that come from one vertex
  unsigned first, n;
};

struct search {
  unsigned vertices;
  const int *offsets, *targets;
  unsigned *level, *parent;
  range *ranges;                // of this level
  range *next;                  // of the next one
  unsigned *from, *next_from;   // the vertices they belong to; with PARENTS
  unsigned *visited, *updated;  // bits; a pull writes the second
  frontier *found;              // counts the next level
  unsigned depth;               // of the next level
};

struct block_memory {
  range ranges[QUEUE];
  unsigned from[PARENTS ? QUEUE : 1];
  unsigned n, begin, vertices, spilled;  // spilled: ranges went to the queue already
  unsigned long long edges;
  range few[FEW];  // of the level that block 0 goes through alone
  unsigned few_from[PARENTS ? FEW : 1];
};

// ---- the next level's ranges -------------------------------------------------------------------

__device__ __forceinline__ void put(const search &s, unsigned at, range r, unsigned v) {
  s.next[at] = r;
  if constexpr (PARENTS) s.next_from[at] = v;
}

// A vertex of many edges, by all lanes of a warp.
__device__ __forceinline__ void append_many(const search &s, block_memory &m, unsigned first,
                                            unsigned n, unsigned v) {
  const unsigned lane = threadIdx.x % 32, ranges = (n + CHUNK - 1) / CHUNK;
  if (lane == 0) m.spilled = 1;
  unsigned at = 0;
  if (lane == 0) at = atomicAdd(&s.found->ranges, ranges);
  at = __shfl_sync(~0u, at, 0);
  for (unsigned k = lane; k < ranges; k += 32) {
    put(s, at + k, {first + k * CHUNK, min((unsigned)CHUNK, n - k * CHUNK)}, v);
  }
}

// The edges of each lane's vertex v, if `is_new`; all lanes of a warp.
__device__ __forceinline__ void append(const search &s, block_memory &m, bool is_new,
                                       unsigned first, unsigned n, unsigned v) {
  const unsigned lane = threadIdx.x % 32, one = __ballot_sync(~0u, is_new && n && n <= CHUNK);
  if (one) {
    unsigned at = 0;
    if (lane == 0) at = atomicAdd(&m.n, __popc(one));
    at = __shfl_sync(~0u, at, 0) + __popc(one & ((1u << lane) - 1));
    if (one >> lane & 1) {
      if (at < QUEUE) {
        m.ranges[at] = {first, n};
        if constexpr (PARENTS) m.from[at] = v;
      } else {
        m.spilled = 1;
        put(s, atomicAdd(&s.found->ranges, 1u), {first, n}, v);
      }
    }
  }
  for (unsigned rest = __ballot_sync(~0u, is_new && n > CHUNK); rest; rest &= rest - 1) {
    const int k = __ffs(rest) - 1;
    append_many(s, m, __shfl_sync(~0u, first, k), __shfl_sync(~0u, n, k), __shfl_sync(~0u, v, k));
  }
}

// What the block has found, at the end of a level.
__device__ __forceinline__ void flush(const search &s, block_memory &m) {
  __syncthreads();
  const unsigned held = min(m.n, (unsigned)QUEUE);
  if (threadIdx.x == 0) {
    if (held) m.begin = atomicAdd(&s.found->ranges, held);
    if (m.vertices) atomicAdd(&s.found->vertices, m.vertices);
    if (m.edges) atomicAdd(&s.found->edges, m.edges);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < held; i += BLOCK)
    put(s, m.begin + i, m.ranges[i], m.from[PARENTS ? i : 0]);
  if (threadIdx.x == 0) m.n = m.vertices = m.spilled = m.edges = 0;
}

// ---- push --------------------------------------------------------------------------------------

__device__ __forceinline__ bool is_set(const unsigned *bits, unsigned v) {
  return bits[v / 32] >> v % 32 & 1;
}

// u is the end of an edge from v, if `some`; returns whether it is new, and its edges.
__device__ __forceinline__ bool visit(const search &s, bool some, unsigned u, unsigned v,
                                      int &first, int &end) {
  bool is_new = some && !is_set(s.visited, u);
  if (is_new) {
    first = s.offsets[u];  // on its way while the atomic is
    end = s.offsets[u + 1];
    is_new = !(atomicOr(&s.visited[u / 32], 1u << u % 32) >> u % 32 & 1);
  }
  if (is_new) {
    s.level[u] = s.depth;
    if constexpr (PARENTS) s.parent[u] = v;
  }
  return is_new;
}

// The edges of a warp's ranges, shared out among its lanes.
__device__ __forceinline__ void push_ranges(const search &s, block_memory &m, range r, unsigned v) {
  const unsigned lane = threadIdx.x % 32;
  unsigned end = r.n, vertices = 0;
  unsigned long long edges = 0;
  for (int d = 1; d < 32; d *= 2) {
    const unsigned before = __shfl_up_sync(~0u, end, d);
    if (lane >= d) end += before;
  }
  const unsigned all = __shfl_sync(~0u, end, 31), shift = r.first - (end - r.n);
  for (unsigned base = 0; base < all; base += 32) {
    const unsigned e = base + lane;
    unsigned owner = 0;  // the first lane whose ranges end behind e
    for (int d = 16; d; d /= 2) {
      if (__shfl_sync(~0u, end, owner + d - 1) <= e) owner += d;
    }
    const unsigned at = __shfl_sync(~0u, shift, owner & 31) + e,
                   from = PARENTS ? __shfl_sync(~0u, v, owner & 31) : 0;
    int first = 0, last = 0;
    const unsigned u = e < all ? s.targets[at] : 0;
    const bool is_new = visit(s, e < all, u, from, first, last);
    append(s, m, is_new, first, last - first, u);
    vertices += __popc(__ballot_sync(~0u, is_new));
    edges += is_new ? last - first : 0;
  }
  for (int d = 16; d; d /= 2) edges += __shfl_xor_sync(~0u, edges, d);
  if (lane == 0 && vertices) {
    atomicAdd(&m.vertices, vertices);
    atomicAdd(&m.edges, edges);
  }
}

__device__ __forceinline__ void push(const search &s, block_memory &m, unsigned n) {
  const unsigned lane = threadIdx.x % 32,
                 warp = blockIdx.x + threadIdx.x / 32 * gridDim.x;  // spread over the blocks
  const unsigned warps = gridDim.x * WARPS, each = min(32u, (n + warps - 1) / warps);
  for (unsigned base = warp * each; base < n; base += warps * each) {
    const bool some = lane < each && base + lane < n;
    const range r = some ? s.ranges[base + lane] : range{0, 0};
    push_ranges(s, m, r, PARENTS && some ? s.from[base + lane] : 0);
  }
}

// ---- pull --------------------------------------------------------------------------------------

// Is one of a vertex's edges [e, end) to a visited vertex? At most `most` of them; e is then behind those.
__device__ __forceinline__ bool look(const search &s, int &e, int end, unsigned &parent) {
  const int stop = min(end, e + PULL_MOST);
  for (; e < stop; e += UNROLL) {
    unsigned u[UNROLL];
    bool hit[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++) u[k] = s.targets[min(e + k, end - 1)];
#pragma unroll
    for (int k = 0; k < UNROLL; k++) hit[k] = is_set(s.visited, u[k]);
#pragma unroll
    for (int k = 0; k < UNROLL; k++) {
      if (hit[k]) {
        parent = u[k];
        return true;
      }
    }
  }
  return false;
}

// The same for edges [e, end) by all lanes of a warp.
__device__ __forceinline__ bool look_together(const search &s, int e, int end, unsigned &parent) {
  for (int at = e + threadIdx.x % 32;; at += 32) {
    const unsigned u = at < end ? s.targets[at] : 0;
    const unsigned hits = __ballot_sync(~0u, at < end && is_set(s.visited, u));
    if (hits) {
      parent = __shfl_sync(~0u, u, __ffs(hits) - 1);
      return true;
    }
    if (!__any_sync(~0u, at + 32 < end)) return false;
  }
}

// The 32 vertices of a word.
__device__ __forceinline__ void pull_word(const search &s, unsigned w, unsigned &vertices,
                                          unsigned long long &edges) {
  const unsigned lane = threadIdx.x % 32, v = w * 32 + lane, before = s.visited[w];
  const bool open = v < s.vertices && !(before >> lane & 1);
  int e = 0, end = 0, degree = 0;
  unsigned parent = 0;
  bool found = false;
  if (open) {
    e = s.offsets[v];
    end = s.offsets[v + 1];
    degree = end - e;
    found = look(s, e, end, parent);
  }
  for (unsigned rest = __ballot_sync(~0u, open && !found && e < end); rest; rest &= rest - 1) {
    const int k = __ffs(rest) - 1;
    unsigned one = 0;
    const bool hit = look_together(s, __shfl_sync(~0u, e, k), __shfl_sync(~0u, end, k), one);
    if (hit && lane == k) {
      found = true;
      parent = one;
    }
  }
  const unsigned news = __ballot_sync(~0u, found);
  if (lane == 0) s.updated[w] = before | news;
  if (found) {
    s.level[v] = s.depth;
    if constexpr (PARENTS) s.parent[v] = parent;
    edges += degree;
  }
  vertices += __popc(news);
}

__device__ __forceinline__ void pull(const search &s, block_memory &m) {
  const unsigned words = (s.vertices + 31) / 32, warps = gridDim.x * WARPS;
  unsigned vertices = 0;
  unsigned long long edges = 0;
  for (unsigned w = grid_thread() / 32; w < words; w += warps) pull_word(s, w, vertices, edges);
  for (int d = 16; d; d /= 2) edges += __shfl_xor_sync(~0u, edges, d);
  if (threadIdx.x % 32 == 0 && vertices) {
    atomicAdd(&m.vertices, vertices);
    atomicAdd(&m.edges, edges);
  }
}

// The ranges of the vertices that the last pull has found.
__device__ __forceinline__ void collect(const search &s, block_memory &m) {
  const unsigned words = (s.vertices + 31) / 32, warps = gridDim.x * WARPS;
  for (unsigned w = grid_thread() / 32; w < words; w += warps) {
    const unsigned lane = threadIdx.x % 32, v = w * 32 + lane, news = s.visited[w] & ~s.updated[w];
    if (!news) continue;
    const bool is_new = news >> lane & 1;
    const int first = is_new ? s.offsets[v] : 0, end = is_new ? s.offsets[v + 1] : 0;
    append(s, m, is_new, first, end - first, v);
  }
  flush(s, m);  // they are counted already
}

// ---- the search --------------------------------------------------------------------------------

struct buffers {  // ranges of levels with even and odd numbers, and what they belong to
  range *even, *odd;
  unsigned *from_even, *from_odd;
};

// Level k is this one: where its ranges are, and where the next one's go.
__device__ __forceinline__ void enter(search &s, const buffers &b, unsigned k) {
  s.ranges = k % 2 ? b.odd : b.even;
  s.next = k % 2 ? b.even : b.odd;
  s.from = k % 2 ? b.from_odd : b.from_even;
  s.next_from = k % 2 ? b.from_even : b.from_odd;
  s.depth = k + 1;
}

__device__ __forceinline__ bool is_few(unsigned ranges, unsigned long long edges) {
  return ranges <= FEW && edges <= 8 * FEW;
}

// Levels of few ranges, by block 0. The frontier stays in shared memory.
__device__ __forceinline__ void search_alone(search &s, block_memory &m, const buffers &b,
                                             frontier *reached, unsigned k, unsigned n,
                                             unsigned long long edges,
                                             unsigned long long unexplored) {
  enter(s, b, k);
  s.found = &reached[1];
  if (threadIdx.x == 0) reached[1] = {0, 0, 0};
  for (unsigned i = threadIdx.x; i < n; i += BLOCK) {
    m.few[i] = s.ranges[i];
    if constexpr (PARENTS) m.few_from[i] = s.from[i];
  }
  __syncthreads();
  for (bool on = true; on;) {
    const unsigned lane = threadIdx.x % 32, each = min(32u, (n + WARPS - 1) / WARPS);
    unexplored -= min(unexplored, edges);
    enter(s, b, k);
    for (unsigned base = threadIdx.x / 32 * each; base < n; base += WARPS * each) {
      const bool some = lane < each && base + lane < n;
      push_ranges(s, m, some ? m.few[base + lane] : range{0, 0},
                  PARENTS && some ? m.few_from[base + lane] : 0);
    }
    __syncthreads();
    k++;
    n = m.n;
    edges = m.edges;
    on = m.vertices && !m.spilled && is_few(n, edges);
    if (on) {
      for (unsigned i = threadIdx.x; i < n; i += BLOCK) {
        m.few[i] = m.ranges[i];
        if constexpr (PARENTS) m.few_from[i] = m.from[i];
      }
      __syncthreads();
      if (threadIdx.x == 0) m.n = m.vertices = m.edges = 0;
      __syncthreads();
    }
  }
  flush(s, m);
  if (threadIdx.x == 0) reached[0] = {k, 0, unexplored};
}

__device__ __forceinline__ frontier read(const frontier *f) {
  const volatile frontier *x = f;
  frontier out;
  out.ranges = x->ranges;
  out.vertices = x->vertices;
  out.edges = x->edges;
  return out;
}

__device__ __forceinline__ void start(const search &s, unsigned source, frontier *levels) {
  const unsigned words = (s.vertices + 31) / 32;
  for (unsigned v = grid_thread(); v < s.vertices; v += grid_threads()) {
    s.level[v] = v == source ? 0 : UNREACHED;
    if constexpr (PARENTS) s.parent[v] = v == source ? v : UNREACHED;
  }
  for (unsigned w = grid_thread(); w < words; w += grid_threads())
    s.visited[w] = w == source / 32 ? 1u << source % 32 : 0;
  if (grid_thread() < 2) levels[grid_thread() + 1] = {0, 0, 0};
}

// The source's ranges, by the first warp of the grid.
__device__ __forceinline__ void begin(search &s, block_memory &m, unsigned source,
                                      frontier *level) {
  if (grid_thread() >= 32 || source >= s.vertices) return;
  const int first = s.offsets[source], n = s.offsets[source + 1] - first;
  if (grid_thread() == 0) *level = {0, 1, (unsigned long long)n};
  __syncwarp();
  s.found = level;
  if (n) append_many(s, m, first, n, source);
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_SM)
    direction(unsigned vertices, unsigned edges, const int *offsets, const int *targets,
              unsigned source, unsigned *level, unsigned *parent, range *ranges_a, range *ranges_b,
              unsigned *from_a, unsigned *from_b, unsigned *bits_a, unsigned *bits_b,
              frontier *levels, unsigned long long *arrived, while_loop w) {
  __shared__ block_memory m;
  grid_epoch epoch = grid_epoch_open(arrived);
  const buffers b = {ranges_a, ranges_b, from_a, from_b};
  search s = {vertices, offsets, targets, level,  parent, ranges_b, ranges_a,
              from_b,   from_a,  bits_a,  bits_b, levels, 0};
  if (threadIdx.x == 0) m.n = m.vertices = m.spilled = m.edges = 0;
  __syncthreads();
  if (grid_thread() == 0) levels[0] = {0, 0, 0};
  start(s, source, levels);
  begin(s, m, source, &levels[0]);
  grid_wait(epoch);
  unsigned long long unexplored = edges;
  bool pulled = false;
  unsigned k = 0, turn = 0,
           alone = 0;  // levels; those of the whole grid; how often block 0 went alone
  for (frontier *level_now = levels;;) {
    const frontier now = read(level_now);
    if (!now.vertices) break;
    if (k >= vertices) {
      while_give_up(w);
      break;
    }
    const bool pulls = WAY == WAY_direction &&
                       (pulled ? (unsigned long long)now.vertices * BETA > vertices
                               : now.edges * ALPHA > unexplored && now.edges * BETA > vertices);
    if (pulled && !pulls) {
      enter(s, b, k - 1);  // the ranges of this level, which that one did not write
      s.found = level_now;
      collect(s, m);
      grid_wait(epoch);
    }
    const unsigned ranges = read(level_now).ranges;
    pulled = pulls;
    if (!pulls && is_few(ranges, now.edges)) {
      frontier *const reached = levels + 3 + alone++ % 2 * 2;
      if (blockIdx.x == 0) search_alone(s, m, b, reached, k, ranges, now.edges, unexplored);
      grid_wait(epoch);
      const frontier at = read(reached);
      k = at.ranges;
      unexplored = at.edges;
      level_now = reached + 1;
      continue;
    }
    enter(s, b, k++);
    s.found = level_now = &levels[(turn + 1) % 3];
    unexplored -= min(unexplored, now.edges);
    if (grid_thread() == 0) levels[(turn + 2) % 3] = {0, 0, 0};
    if (pulls) {
      pull(s, m);
      unsigned *const before = s.visited;
      s.visited = s.updated;
      s.updated = before;
    } else {
      push(s, m, ranges);
    }
    flush(s, m);
    grid_wait(epoch);
    turn++;
  }
}
