// merge_item.cuh -- what networks of exchanges put in order: a key, and if values go along where it
// came from, by which those that tie are told apart.
//
// The template says in Lua whether exchanges are of neighbours alone (neighbours), which leaves what
// ties as it is, has the parameter MADS, and includes merge_order.cuh before this.

@ if value > 0 then
@   local places = { [8] = "long long", [4] = "int", [2] = "unsigned short", [1] = "unsigned short" }
struct item {
  key k;
  @{places[NBYTES]} source;  // its place in the tile; as wide as the key, which leaves no gap
};
__device__ __forceinline__ bool before(const item &x, const item &y) { return before(x.k, y.k); }
// Must x, which is on the left, go to the right of y?
__device__ __forceinline__ bool swapped(const item &x, const item &y) {
@   if neighbours then
  return before(y.k, x.k);
@   else
  return before(y.k, x.k) || (!before(x.k, y.k) && y.source < x.source);
@   end
}
__device__ __forceinline__ item make_item(key k, int source) {
  return {k, (@{places[NBYTES]})source};
}
__device__ __forceinline__ key key_of(const item &x) { return x.k; }
__device__ __forceinline__ int source_of(const item &x) { return (int)x.source; }
// The x of the lane whose number differs by the mask.
__device__ __forceinline__ item from_lane(const item &x, int mask) {
  return make_item((key)__shfl_xor_sync(0xffffffff, x.k, mask),
                   (int)__shfl_xor_sync(0xffffffff, x.source, mask));
}
@ else
using item = key;
__device__ __forceinline__ bool swapped(key x, key y) { return before(y, x); }
__device__ __forceinline__ item make_item(key k, int source) { return k; }
__device__ __forceinline__ key key_of(item x) { return x; }
__device__ __forceinline__ int source_of(item x) { return 0; }
__device__ __forceinline__ item from_lane(item x, int mask) {
  return (key)__shfl_xor_sync(0xffffffff, x, mask);
}
@ end

@ local summed = value == 0 and NBYTES == 4 and MADS > 0
@ if summed then
__device__ __forceinline__ unsigned bits_of(const item &x) {
  return *reinterpret_cast<const unsigned *>(&x);
}
// What the sum of both leaves without one of them is the other one. Two multiplications by -1, of which
// the compiler must not know that, are no work of the unit that compares, which is the busiest.
__constant__ unsigned minus = 0xffffffff;
__device__ __forceinline__ item other_of(item x, item y, item one) {
  const unsigned without_y = bits_of(y) * minus + bits_of(one);
  const unsigned other = without_y * minus + bits_of(x);
  return *reinterpret_cast<const item *>(&other);
}

@ end
// The k-th of exchanges that do not depend on each other.
__device__ __forceinline__ void exchange(item &x, item &y, int k) {
  const bool yes = swapped(x, y);
@ if summed then
  if (k % 3 < MADS) {
    const item left = yes ? y : x;
    y = other_of(x, y, left);
    x = left;
    return;
  }
@ end
  const item left = yes ? y : x, right = yes ? x : y;
  x = left;
  y = right;
}
