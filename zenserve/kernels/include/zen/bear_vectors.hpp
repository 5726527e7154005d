// Vectors over BabyBear and its extension, element by element. CPU only.
#pragma once

#include "bear5.hpp"
#include "parallel.hpp"

namespace zen::bear {

inline constexpr long vector_grain = 1l << 14;

// out[i] = operation(a[i], b[i]), or with b[0] where `step` is 0. `out` may be a or b.
template <class Operation>
void zip(const uint32_t* a, const uint32_t* b, long step, uint32_t* out, long n, int threads, Operation operation) {
  const Lanes fixed = all_lanes(n ? b[0] : 0);
  parallel_ranges(n, vector_grain, threads, {}, [&](long begin, long end) {
    for_lanes(begin, end, [&](long i, int count) __attribute__((always_inline)) {
      store(out + i, operation(load(a + i, count), step ? load(b + i, count) : fixed), count);
    });
  });
}

// out[i] = a[i] b[i] of the extension, planes of n; or a[i] b[0] where b is one element.
inline void multiply(const uint32_t* a, const uint32_t* b, bool is_one, uint32_t* out, long n, int threads) {
  parallel_ranges(n, vector_grain, threads, {}, [&](long begin, long end) {
    const Factor fixed(is_one ? broadcast(b) : Extension{});
    for_lanes(begin, end, [&](long i, int count) __attribute__((always_inline)) {
      const Extension x = load(a, n, i, count);
      store(out, n, i, is_one ? mul(x, fixed) : mul(x, load(b, n, i, count)), count);
    });
  });
}

// out[i] = a[i] b[i], a of the extension, b of the base field.
inline void scale(const uint32_t* a, const uint32_t* b, uint32_t* out, long n, int threads) {
  parallel_ranges(n, vector_grain, threads, {}, [&](long begin, long end) {
    for_lanes(begin, end, [&](long i, int count) __attribute__((always_inline)) {
      store(out, n, i, mul(load(a, n, i, count), load(b + i, count)), count);
    });
  });
}

// The sum of a[i] b[i] of the extension: one element, five words.
inline void dot(const uint32_t* a, const uint32_t* b, long n, uint32_t* out) {
  Extension sum{};
  for_lanes(0, n, [&](long i, int count) __attribute__((always_inline)) {
    sum = add(sum, mul(load(a, n, i, count), load(b, n, i, count)));
  });
  for (int k = 0; k < degree; k++) {
    uint64_t total = 0;
    for (int lane = 0; lane < lane_count; lane++) total += sum.c[k][lane];
    out[k] = uint32_t(total % modulus);
  }
}

// out[5, 2^v] = eq(r, x) for x in {0, 1}^v, the first variable the highest bit of x; r in planes [5, v].
inline void fill_eq(const uint32_t* r, int v, uint32_t* out) {
  const long n = 1l << v;
  for (int k = 0; k < degree; k++) out[k * n] = k ? 0 : one;
  for (int index = v - 1; index >= 0; index--) {  // the last variable is the lowest bit
    const long half = 1l << (v - 1 - index);
    const Factor factor(broadcast(r, v, index));
    for_lanes(0, half, [&](long i, int count) __attribute__((always_inline)) {
      const Extension whole = load(out, n, i, count), high = mul(whole, factor);
      store(out, n, half + i, high, count);
      store(out, n, i, sub(whole, high), count);
    });
  }
}

}  // namespace zen::bear
