// The digits of scalars, sorted by bucket: counted, then placed. Zero digits are left out. Digit `window` of scalar i
// stands for point window / sets * n + i of a table of n points a row, in the buckets of set window % sets, of which
// each has 2^(width - 1).
#include "zen/signed_scalar.hpp"
#include "digits.hpp"
#include "memory.hpp"
#include "segmented.hpp"

using namespace zen;

// visit(window, bucket, digit) for the digits of this thread's scalar, scalars[indices[i]] or scalars[i]; all threads
// of a warp visit together, those without a scalar as if it were zero.
template <class Visit>
ZEN_FN void visit_digits(const Fr* scalars, const u32* indices, long n, int width, int windows, int sets, Visit visit) {
  const long i = thread_index();
  SignedScalar scalar{};
  if (i < n) scalar = SignedScalar::from(load(scalars + (indices ? long(indices[i]) : i)));
  for (int window = 0; window < windows; window++) {
    const SignedScalar::Digit digit = scalar.digit(window, width);
    visit(window, (u32(window % sets) << (width - 1)) + digit.magnitude - 1, digit);
  }
}

// counts[b] += the digits of bucket b; ranks[window][i] = how many of them came before. One atomic addition for all
// threads of a warp that have the same bucket: a witness has many equal values.
extern "C" __global__ void count_digits(const Fr* scalars, const u32* indices, long n, int width, int windows, int sets,
                                        u32* counts, u32* ranks) {
  const u32 lane = threadIdx.x % 32;
  visit_digits(scalars, indices, n, width, windows, sets, [&](int window, u32 bucket, SignedScalar::Digit digit) {
    if (!__any_sync(whole_warp, digit.magnitude != 0)) return;
    const u32 peers = __match_any_sync(whole_warp, digit.magnitude ? bucket : ~0u);
    const u32 leader = __ffs(peers) - 1;
    u32 before = 0;
    if (lane == leader && digit.magnitude) before = atomicAdd(counts + bucket, u32(__popc(peers)));
    before = __shfl_sync(whole_warp, before, leader);
    if (digit.magnitude) ranks[window * n + thread_index()] = before + __popc(peers & ((1u << lane) - 1));
  });
}

// groups[b] = how many groups of 2^levels digits bucket b has, the last one perhaps not full.
extern "C" __global__ void count_groups(const u32* counts, long buckets, int levels, u32* groups) {
  const long bucket = thread_index();
  if (bucket < buckets) groups[bucket] = (counts[bucket] + (1u << levels) - 1) >> levels;
}

// sorted[(starts[bucket] << levels) + rank] = the digit, for `some` buckets from `first` on: one launch for all would
// write everywhere at a time, and bring every line of memory into the cache once for each of its digits.
extern "C" __global__ void place_digits(const Fr* scalars, const u32* indices, long n, int width, int windows, int sets,
                                        u32 first, u32 some, const u32* starts, int levels, const u32* ranks,
                                        u32* sorted) {
  visit_digits(scalars, indices, n, width, windows, sets, [&](int window, u32 bucket, SignedScalar::Digit digit) {
    if (!digit.magnitude || bucket - first >= some) return;
    const u32 point = u32(window / sets * n + thread_index());
    const u32 place = (starts[bucket] << levels) + ranks[window * n + thread_index()];
    sorted[place] = point | (digit.negative ? negative_digit : 0);
  });
}

extern "C" __global__ void fill_groups(const u32* counts, long buckets, const u32* starts, int levels, u32* sorted) {
  const long bucket = thread_index();
  if (bucket >= buckets) return;
  const u32 begin = (starts[bucket] << levels) + counts[bucket], end = starts[bucket + 1] << levels;
  for (u32 place = begin; place < end; place++) sorted[place] = no_digit;
}
