// coulomb_bins.cu -- atoms in bins of SIDE grid steps, of which each warp looks at those within the cutoff of its
// points. With BINS=packed, bins are counted and laid out one behind the other. With BINS=slots, each has room for
// CAPACITY atoms, and those that find none are in a list that all warps look at.
#include "pdl.cuh"

#include "coulomb_pairs.cuh"

constexpr unsigned ALL = 0xffffffff;
constexpr int LIST = 64;  // atoms of a warp's list

// Bins begin HALO steps before the grid's first point and end as many behind its last. HALO exceeds the cutoff by a
// step and more, which covers that bin_of rounds; atoms beyond are of no use.
struct bins {
  int nx, ny, nz;

  // A row has a number for each bin, and where bins are packed, its end.
  __device__ __forceinline__ long long row(int y, int z) const {
    return ((long long)z * ny + y) * (nx + (BINS == BINS_packed));
  }
};

__device__ __forceinline__ bins bins_of(const lattice &g, int halo) {
  return {(g.nx + 2 * halo + SIDE - 1) / SIDE, (g.ny + 2 * halo + SIDE - 1) / SIDE,
          (g.nz + 2 * halo + SIDE - 1) / SIDE};
}

// Along one dimension; -1: none.
__device__ __forceinline__ int bin_along(float x, float first, float spacing, int halo, int n) {
  const float steps = __fdiv_rn(x - first, spacing) + halo;
  if (!(steps >= 0 && steps < (float)n * SIDE)) return -1;
  return min((int)steps / SIDE, n - 1);
}

// The index of an atom's bin among the numbers of bins; -1: no point can be within the cutoff.
__device__ __forceinline__ long long bin_of(const lattice &g, const bins &b, int halo, const float4 &a) {
  const int x = bin_along(a.x, g.x0, g.spacing, halo, b.nx), y = bin_along(a.y, g.y0, g.spacing, halo, b.ny),
            z = bin_along(a.z, g.z0, g.spacing, halo, b.nz);
  return x < 0 || y < 0 || z < 0 ? -1 : b.row(y, z) + x;
}

// ---- binning ------------------------------------------------------------------------------------

@ if BINS == "packed" then
// Counts the atoms of each bin; an atom's rank is its number among those of its bin.
extern "C" __global__ void __launch_bounds__(256)
coulomb_count(int nx, int ny, int nz, float spacing, float x0, float y0, float z0, int halo, int n,
              const float *atoms, unsigned *begin, unsigned *rank) {
  const lattice g = lattice_of(nx, ny, nz, spacing, x0, y0, z0, 0, 0);
  const int i = blockIdx.x * 256 + threadIdx.x;
  atoms += pdl_wait();
  if (i >= n) return;
  const long long bin = bin_of(g, bins_of(g, halo), halo, load_atom(atoms, i));
  if (bin >= 0) rank[i] = atomicAdd(begin + bin, 1u);
}

__device__ __forceinline__ unsigned scan_lanes(unsigned n, int lane) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const unsigned from = __shfl_up_sync(ALL, n, d);
    if (lane >= d) n += from;
  }
  return n;
}

// Counts become beginnings. A warp lays out a row of bins; rows lie in the order in which their warps ask.
extern "C" __global__ void __launch_bounds__(256)
coulomb_layout(int row_bins, int rows, unsigned *begin, long long numbers) {
  const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
  pdl_wait();
  if (row >= rows) return;
  unsigned *const of = begin + (long long)row * (row_bins + 1);
  unsigned all = 0;
  for (int x = lane; x < row_bins; x += 32) all += of[x];
  all = __shfl_sync(ALL, scan_lanes(all, lane), 31);
  unsigned first = lane == 0 && all > 0 ? atomicAdd(begin + numbers, all) : 0;
  first = __shfl_sync(ALL, first, 0);
  for (int x = lane; x - lane <= row_bins; x += 32) {
    const unsigned count = x < row_bins ? of[x] : 0, upto = scan_lanes(count, lane);
    if (x <= row_bins) of[x] = first + upto - count;
    first += __shfl_sync(ALL, upto, 31);
  }
}

extern "C" __global__ void __launch_bounds__(256)
coulomb_sort(int nx, int ny, int nz, float spacing, float x0, float y0, float z0, int halo, int n,
             const float *atoms, const unsigned *begin, const unsigned *rank, float4 *sorted) {
  const lattice g = lattice_of(nx, ny, nz, spacing, x0, y0, z0, 0, 0);
  const int i = blockIdx.x * 256 + threadIdx.x;
  atoms += pdl_wait();
  if (i >= n) return;
  const float4 a = load_atom(atoms, i);
  const long long bin = bin_of(g, bins_of(g, halo), halo, a);
  if (bin >= 0) sorted[begin[bin] + rank[i]] = a;
}

@ if reproducible ~= "any" then
__device__ __forceinline__ bool is_less(const float4 &a, const float4 &b) {
  if (a.x != b.x) return a.x < b.x;
  if (a.y != b.y) return a.y < b.y;
  if (a.z != b.z) return a.z < b.z;
  return a.w < b.w;
}

// Puts atom `a` into a heap of n atoms, whose place `at` is free.
__device__ __forceinline__ void sift(float4 *heap, unsigned n, unsigned at, float4 a) {
  for (unsigned child = 2 * at + 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && is_less(heap[child], heap[child + 1])) child++;
    if (!is_less(a, heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = a;
}

// Sorts the atoms of each bin, which have come in any order. A thread a bin: of most there are few.
extern "C" __global__ void __launch_bounds__(256)
coulomb_order(int row_bins, long long numbers, const unsigned *begin, float4 *sorted) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  pdl_wait();
  if (i >= numbers || i % (row_bins + 1) == row_bins) return;
  float4 *const heap = sorted + begin[i];
  const unsigned n = begin[i + 1] - begin[i];
  for (unsigned at = n / 2; at > 0; at--) sift(heap, n, at - 1, heap[at - 1]);
  for (unsigned last = n; last > 1; last--) {
    const float4 a = heap[last - 1];
    heap[last - 1] = heap[0];
    sift(heap, last - 1, 0, a);
  }
}
@ end
@ else
// Empty slots hold atoms that are far from all points.
extern "C" __global__ void __launch_bounds__(256)
coulomb_slots(int nx, int ny, int nz, float spacing, float x0, float y0, float z0, int halo, int n,
              const float *atoms, unsigned *held, long long numbers, float4 *slots, float4 *spilled) {
  const lattice g = lattice_of(nx, ny, nz, spacing, x0, y0, z0, 0, 0);
  const int i = blockIdx.x * 256 + threadIdx.x;
  atoms += pdl_wait();
  if (i >= n) return;
  const float4 a = load_atom(atoms, i);
  const long long bin = bin_of(g, bins_of(g, halo), halo, a);
  if (bin < 0) return;
  const unsigned slot = atomicAdd(held + bin, 1u);
  if (slot < CAPACITY) {
    slots[bin * CAPACITY + slot] = a;
  } else {
    spilled[atomicAdd(held + numbers, 1u)] = a;
  }
}
@ end

// ---- energies -----------------------------------------------------------------------------------

// The smallest box around a warp's points: in steps, and as coordinates.
struct box {
  int low[3], high[3];
  float least[3], most[3];
};

__device__ __forceinline__ box box_of(const lattice &g, const int low[3]) {
  const int extent[3] = {LANES_X, AXIS == AXIS_y ? POINTS : 32 / LANES_X, AXIS == AXIS_z ? POINTS : 32 / LANES_X};
  const int n[3] = {g.nx, g.ny, g.nz};
  box b;
#pragma unroll
  for (int d = 0; d < 3; d++) {
    b.low[d] = low[d];
    b.high[d] = min(low[d] + extent[d], n[d]) - 1;
  }
  b.least[0] = g.x(b.low[0]), b.least[1] = g.y(b.low[1]), b.least[2] = g.z(b.low[2]);
  b.most[0] = g.x(b.high[0]), b.most[1] = g.y(b.high[1]), b.most[2] = g.z(b.high[2]);
  return b;
}

__device__ __forceinline__ float outside(float x, float least, float most) {
  return fmaxf(fmaxf(least - x, x - most), 0.0f);
}

// Can a point of the box be within the cutoff? No rounding makes a point's distance less than the box's.
__device__ __forceinline__ bool is_near(const lattice &g, const box &b, const float4 &a) {
  const float dx = outside(a.x, b.least[0], b.most[0]), dy = outside(a.y, b.least[1], b.most[1]),
              dz = outside(a.z, b.least[2], b.most[2]);
  const float du = AXIS == AXIS_x ? dy : dx, dv = AXIS == AXIS_z ? dy : dz,
              dc = AXIS == AXIS_x ? dx : AXIS == AXIS_y ? dy : dz;
  return fmaf(dc, dc, fmaf(dv, dv, fmaf(du, du, g.soft2))) <= g.most;
}

// Steps between a box's extent and bin i, less half a step for rounding.
__device__ __forceinline__ float steps_to(int i, int halo, int low, int high) {
  const int first = i * SIDE - halo;
  return fmaxf(max(low - (first + SIDE), first - high) - 0.5f, 0.0f);
}

// The atoms of row r of the bins around the box, from .x to before .y.
__device__ __forceinline__ uint2 atoms_of_row(const bins &n, const box &b, int halo, const unsigned *begin, int r,
                                              int first_y, int rows_y, int first_z) {
  const int y = first_y + r % rows_y, z = first_z + r / rows_y;
  const float dy = steps_to(y, halo, b.low[1], b.high[1]), dz = steps_to(z, halo, b.low[2], b.high[2]);
  const float reach = (float)halo - 0.5f, left = reach * reach - dy * dy - dz * dz;
  if (left < 0) return make_uint2(0, 0);
  const int width = (int)ceilf(sqrtf(left)) + halo;
  const int from = max(0, (b.low[0] - width + 2 * halo) / SIDE), to = min(n.nx - 1, (b.high[0] + width) / SIDE);
  if constexpr (BINS == BINS_slots) {
    return make_uint2((unsigned)(n.row(y, z) + from) * CAPACITY, (unsigned)(n.row(y, z) + to + 1) * CAPACITY);
  }
  const unsigned *const row = begin + n.row(y, z);
  return make_uint2(row[from], row[to + 1]);
}

// Energies of a warp's points from the atoms that its lanes find near, which go through its list.
struct gatherer {
  const lattice &g;
  const column &p;
  const box &b;
  float4 *list;
  float *sum;
  int held;  // atoms in the list

  __device__ __forceinline__ void add(int n) {
    __syncwarp();
    held -= n;
    const float4 *const from = list + held;
    add_atoms(g, p, n, sum, [&](int i) { return from[i]; });
    __syncwarp();
  }

  // A lane's atom, if it has one.
  __device__ __forceinline__ void take(bool has, const float4 &a, int lane) {
    has = has && is_near(g, b, a);
    const unsigned who = __ballot_sync(ALL, has);
    if (has) list[held + __popc(who & ((1u << lane) - 1))] = a;
    held += __popc(who);
  }
};

// The atoms in bins around a box, row by row.
struct rows_around {
  const bins &n;
  const box &b;
  int halo;
  const unsigned *begin;
  int first_y, rows_y, first_z, rows;
  int looked;     // rows that lanes have looked up
  unsigned left;  // of the last 32 of them, those to come
  uint2 own;      // this lane's row

  // The next row's atoms, from .x to before .y; .x is ALL behind the last.
  __device__ __forceinline__ uint2 next(int lane) {
    for (; !left && looked < rows; looked += 32) {
      const int row = looked + lane;
      own = row < rows ? atoms_of_row(n, b, halo, begin, row, first_y, rows_y, first_z) : make_uint2(0, 0);
      left = __ballot_sync(ALL, own.x < own.y);
    }
    if (!left) return make_uint2(ALL, ALL);
    const int row = __ffs(left) - 1;
    left &= left - 1;
    return make_uint2(__shfl_sync(ALL, own.x, row), __shfl_sync(ALL, own.y, row));
  }
};

__device__ __forceinline__ rows_around rows_of(const bins &n, const box &b, int halo, const unsigned *begin) {
  const int y = b.low[1] / SIDE, rows_y = min(n.ny, (b.high[1] + 2 * halo) / SIDE + 1) - y;
  const int z = b.low[2] / SIDE, rows_z = min(n.nz, (b.high[2] + 2 * halo) / SIDE + 1) - z;
  return {n, b, halo, begin, y, rows_y, z, rows_y * rows_z, 0, 0, make_uint2(0, 0)};
}

// All rows, and behind them the atoms that found no place in bins. There is one place where atoms are added, for the
// instruction cache's sake.
__device__ __forceinline__ void gather_atoms(gatherer &to, rows_around &rows, const float4 *sorted,
                                             const float4 *spilled, unsigned n_spilled, int lane) {
  const float4 *atoms = sorted;
  uint2 range = make_uint2(0, 0);
  bool more = true;
  while (more || to.held > 0) {
    if (more && range.x >= range.y) {
      range = rows.next(lane);
      if (range.x == ALL) {
        more = BINS == BINS_slots && atoms == sorted;
        atoms = spilled;
        range = make_uint2(0, n_spilled);
      }
    }
    if (more) {
      const bool has = range.x + lane < range.y;
      to.take(has, has ? atoms[range.x + lane] : make_float4(0, 0, 0, 0), lane);
      range.x += 32;
    }
    if (to.held >= 32 || !more) to.add(min(to.held, 32));
  }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
coulomb(int nx, int ny, int nz, float spacing, float x0, float y0, float z0, float soften, float cutoff, int halo,
        const unsigned *begin, long long numbers, const float4 *sorted, const float4 *spilled, float *energy,
        unsigned boxes) {
  __shared__ float4 lists[WARPS * LIST];
  const lattice g = lattice_of(nx, ny, nz, spacing, x0, y0, z0, soften, cutoff);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned task = blockIdx.x * WARPS + warp;
  if (task >= boxes) return;
  const int lanes_v = 32 / LANES_X;
  const int side_y = AXIS == AXIS_y ? POINTS : lanes_v, side_z = AXIS == AXIS_z ? POINTS : lanes_v;
  const unsigned boxes_x = (nx + LANES_X - 1) / LANES_X, boxes_y = (ny + side_y - 1) / side_y;
  const int low[3] = {(int)(task % boxes_x) * LANES_X, (int)(task / boxes_x % boxes_y) * side_y,
                      (int)(task / boxes_x / boxes_y) * side_z};
  const box b = box_of(g, low);
  const int v = lane / LANES_X;
  const column p = column_of(g, low[0] + lane % LANES_X, low[1] + (AXIS == AXIS_y ? 0 : v),
                             low[2] + (AXIS == AXIS_z ? 0 : v), 1);
  float sum[POINTS] = {};
  pdl_wait();
  gatherer to = {g, p, b, lists + warp * LIST, sum, 0};
  const bins n = bins_of(g, halo);
  rows_around rows = rows_of(n, b, halo, begin);
  gather_atoms(to, rows, sorted, spilled, BINS == BINS_slots ? begin[numbers] : 0, lane);
  add_energies<false>(p, sum, energy);
}
