// merge_window.cuh -- a group of threads merges a window, WINDOW neighbouring places of a merged
// sequence, by a network of exchanges.
//
// The co-ranks of where a window starts and ends say which keys go into it. One part of them taken
// backwards and then the other go down and up, they are bitonic, and Batcher's rounds of exchanges at
// half the distance each sort them, whatever they are: no thread waits for what another comparison
// gave, nor do its loads. At first a thread has every GROUP-th place, and the far rounds are between
// its own registers; then the group swaps through shared memory, a thread has neighbouring places,
// and the near rounds are in registers as well.
//   src  Knuth, The Art of Computer Programming, vol. 3, 5.3.4; Berney and Sitchinava, Eliminating
//        bank conflicts in GPU mergesort, for parts that are read from both ends
//
// Few windows end one merged sequence, the left, and start another, the right: both are merged, with
// places filled up. Where values go along, and where there is nothing more, every thread merges its
// places one key after the other.
//
// What is merged are items (merge_item.cuh), in an order without ties, or one in which nobody can tell
// apart what ties.

// Of a sorted sequence in shared memory.
struct stretch {
  int first, count;
  int shift;  // from a place there to the number that says where a key came from
};

struct stretches {
  stretch a, b;  // keys of a go before those of b that they tie with
};

// Co-ranks of where a window starts and ends. What is not sorted may have them in any order.
struct pair_of_ranks {
  int first, end;

  // The keys of a among `count` of the window.
  __device__ __forceinline__ int of_a(int count) const {
    return max(0, min(end - first, count));
  }
};

// Half of the group looks for either.
template <int GROUP, typename A, typename B>
__device__ __forceinline__ pair_of_ranks co_ranks(int d, int end, A a, int na, B b, int nb) {
  const bool ends = threadIdx.x % GROUP >= GROUP / 2;
  const int i = co_rank_group<GROUP / 2>(ends ? end : d, a, na, b, nb);
  return {__shfl_sync(0xffffffff, i, 0, GROUP), __shfl_sync(0xffffffff, i, GROUP / 2, GROUP)};
}

// What is merged to d..end of sequences that start at a and b.
__device__ __forceinline__ stretches stretches_between(pair_of_ranks i, int d, int end, int a, int b,
                                                       int a_shift = 0, int b_shift = 0) {
  const int of_a = i.of_a(end - d);
  return {{a + i.first, of_a, a_shift}, {b + d - i.first, end - d - of_a, b_shift}};
}

// The one of two in shared memory, x at STEP items before an address or y at as many behind another.
// Two loads, of which a thread makes one, need no address chosen before them; what the compiler makes
// of a choice does.
template <int STEP>
__device__ __forceinline__ item load_either(bool first, const item *x, const item *y) {
@ if value == 0 and (NBYTES == 4 or NBYTES == 8) then
  @{NBYTES == 4 and "unsigned" or "unsigned long long"} w;
  asm volatile(
      "{ .reg .pred one; setp.ne.s32 one, %1, 0;"
      " @one ld.shared.b@{8 * NBYTES} %0, [%2 + %4]; @!one ld.shared.b@{8 * NBYTES} %0, [%3 + %5]; }"
      : "=@{NBYTES == 4 and "r" or "l"}"(w)
      : "r"((int)first), "r"(shared_address(x)), "r"(shared_address(y)),
        "n"(-STEP * (int)sizeof(item)), "n"(STEP * (int)sizeof(item))
      : "memory");
  return *reinterpret_cast<const item *>(&w);
@ else
  return first ? x[-STEP] : y[STEP];
@ end
}

// Where a window's items are read from, with
//   item operator()(int at, int shift)  the one at that place
//   operator[](int at)                  its key
//   bool straight<GROUP>()              do places GROUP apart lie equally far apart?
//   const item *address(int at), int step(int places)   if so
template <int WIDTH>
struct item_rows {
  spread<item, WIDTH> all;

  template <int GROUP>
  static __device__ constexpr bool straight() {
    return WIDTH % 2 != 0 || GROUP % spread<item, WIDTH>::LINE == 0;
  }
  __device__ __forceinline__ item operator()(int at, int shift) const { return all[at]; }
  __device__ __forceinline__ item operator[](int at) const { return all[at]; }
  __device__ __forceinline__ const item *address(int at) const { return &all[at]; }
  static __device__ constexpr int step(int places) { return spread<item, WIDTH>::at(places); }
};

template <int N, int THREADS = (N < 32 ? N : 32)>
struct window {
  static constexpr int GROUP = THREADS, WINDOW = N * GROUP;
  int of_left;  // places that the left has

  // The window's first place among its block's, and the thread's number in the group.
  static __device__ __forceinline__ int start() { return threadIdx.x / GROUP * WINDOW; }
  static __device__ __forceinline__ int lane() { return threadIdx.x % GROUP; }

  template <typename Load, int K = 0>
  __device__ __forceinline__ void load_straight(item (&v)[N], int of_b, const item *a,
                                                const item *b) const {
    if constexpr (K < N) {
      v[K] = load_either<Load::step(GROUP * K)>(GROUP * K < of_b, b, a);
      load_straight<Load, K + 1>(v, of_b, a, b);
    }
  }

  // A window that is all of the left.
  template <typename Load>
  __device__ __forceinline__ void load_whole(item (&v)[N], const stretches &left,
                                             const Load &from) const {
    const int last = left.b.first + left.b.count - 1, first = left.a.first - left.b.count;
    if constexpr (Load::template straight<GROUP>()) {
      load_straight<Load>(v, left.b.count - lane(), from.address(first + lane()),
                          from.address(last - lane()));
    } else {
#pragma unroll
      for (int k = 0; k < N; k++) {
        const int p = GROUP * k + lane();
        const bool in_b = p < left.b.count;
        v[k] = from(in_b ? last - p : first + p, in_b ? left.b.shift : left.a.shift);
      }
    }
  }

  template <typename Load>
  __device__ __forceinline__ void merge_serially(item (&v)[N], const stretches &left,
                                                 const stretches &right, const Load &from) const {
    const int place = N * lane();
    stretches s = place < of_left ? left : right;
    const int d = min(place < of_left ? place : place - of_left, s.a.count + s.b.count);
    int i = co_rank(d, sequence_of<Load>{from, s.a.first}, s.a.count,
                    sequence_of<Load>{from, s.b.first}, s.b.count);
    int j = d - i;
#pragma unroll
    for (int k = 0; k < N; k++) {
      if (k > 0 && place + k == of_left) s = right, i = j = 0;
      const bool in_a = i < s.a.count, in_b = j < s.b.count;
      v[k] = item();
      if (in_a && (!in_b || !before(from[s.b.first + j], from[s.a.first + i]))) {
        v[k] = from(s.a.first + i++, s.a.shift);
      } else if (in_b) {
        v[k] = from(s.b.first + j++, s.b.shift);
      }
    }
  }

  __device__ __forceinline__ static void far_rounds(item (&v)[N]) {
#pragma unroll
    for (int d = N / 2; d > 0; d /= 2) {
#pragma unroll
      for (int k = 0; k < N; k++) {
        if (!(k & d)) exchange(v[k], v[k + d], k);
      }
    }
  }

  __device__ __forceinline__ static void near_rounds(item (&v)[N]) {
#pragma unroll
    for (int d = GROUP / 2; d > 0; d /= 2) {
#pragma unroll
      for (int k = 0; k < N; k++) {
        if (!(k & d)) exchange(v[k], v[k + d], k);
      }
    }
  }

  // From every GROUP-th item to neighbouring ones in order, by way of the group's place in shared
  // memory.
  __device__ __forceinline__ static void rounds(item (&v)[N], spread<item, N> rows) {
    far_rounds(v);
#pragma unroll
    for (int k = 0; k < N; k++) rows.template nth<GROUP>(start() + lane(), k) = v[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = rows.own(k);
    __syncwarp();
    near_rounds(v);
  }

@ if value == 0 then
  // So that the left and behind it ever the same last key are bitonic, and the right behind ever the
  // same first key: b backwards and a, or a and b backwards.
  template <typename Load>
  static __device__ __forceinline__ item of_left_part(const stretches &s, int i, const Load &from) {
    const int last = s.b.first + s.b.count - 1;
    return from(i < s.b.count ? last - i : s.a.first + i - s.b.count, 0);
  }
  template <typename Load>
  static __device__ __forceinline__ item of_right_part(const stretches &s, int i,
                                                       const Load &from) {
    const int last = s.b.first + s.b.count - 1;
    return from(i < s.a.count ? s.a.first + i : last - (i - s.a.count), 0);
  }
  static __device__ __forceinline__ item first_of(const item &x, const item &y) {
    return swapped(x, y) ? y : x;
  }
  static __device__ __forceinline__ item last_of(const item &x, const item &y) {
    return swapped(x, y) ? x : y;
  }

  // A whole window with places of both: twice, once with as many keys behind the left's as the right
  // has, once the other way round.
  template <void SYNC(), typename Load>
  __device__ __forceinline__ void merge_both(item (&v)[N], const stretches &left,
                                             const stretches &right, const Load &from,
                                             spread<item, N> rows) const {
    item most = item(), least = item();
    if (of_left > 0) {
      const int a = left.a.first + left.a.count - 1, b = left.b.first + left.b.count - 1;
      most = from(left.a.count > 0 ? a : b, 0);
      if (left.b.count > 0) most = last_of(most, from(b, 0));
    }
    if (of_left < WINDOW) {
      least = from(right.a.count > 0 ? right.a.first : right.b.first, 0);
      if (right.b.count > 0) least = first_of(least, from(right.b.first, 0));
    }
    item w[N];
#pragma unroll
    for (int k = 0; k < N; k++) {
      const int place = GROUP * k + lane();
      const bool in_left = place < of_left;
      const item x = in_left ? of_left_part(left, place, from)
                             : of_right_part(right, place - of_left, from);
      v[k] = in_left ? x : most;
      w[k] = in_left ? least : x;
    }
    SYNC();
    rounds(v, rows);
    rounds(w, rows);
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = N * lane() + k < of_left ? v[k] : w[k];
  }

@ end
  // The thread's neighbouring items of the window; all threads that SYNC waits for come here. Nobody
  // reads what is loaded from once all have loaded, and `rows` may be at the same place. BOTH: may a
  // window be of both?
  template <void SYNC(), bool BOTH, typename Load>
  __device__ __forceinline__ void merge(item (&v)[N], const stretches &left,
                                        const stretches &right, const Load &from,
                                        spread<item, N> rows) const {
    if (__all_sync(0xffffffff, of_left == WINDOW)) {
      load_whole(v, left, from);
      SYNC();
      rounds(v, rows);
@ if value == 0 then
    } else if (BOTH && __all_sync(0xffffffff, of_left + right.a.count + right.b.count == WINDOW)) {
      merge_both<SYNC>(v, left, right, from, rows);
@ end
    } else {
      merge_serially(v, left, right, from);
      SYNC();
    }
  }
};
