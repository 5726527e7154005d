// Work on whole arrays of field elements, element by element, in pieces that threads share. What multiplies in Fr runs
// over octets; the rest of an array that fills none is done one by one.
#pragma once

#include "octet.hpp"
#include "parallel.hpp"
#include "secret.hpp"

namespace zen {

inline constexpr long elements_a_piece = 1 << 12;

// out[i] = operation(a[i], b[stride i]); stride 0: one b for all.
template <class In, class Out, class Operation>
void zip(const In* a, const In* b, long stride, Out* out, long n, int threads, Operation operation) {
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    for (long i = begin; i < end; i++) out[i] = operation(a[i], b[stride * i]);
  });
}

template <class In, class Out, class Operation>
void map(const In* a, Out* out, long n, int threads, Operation operation) {
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    for (long i = begin; i < end; i++) out[i] = operation(a[i]);
  });
}

// Run two_octets(i) for i = begin, begin + 16, .. and single(i) for the rest, over all i < n.
template <class ByOctets, class ByOnes>
void each_two_octets(long n, int threads, ByOctets two_octets, ByOnes single) {
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    long i = begin;
    for (; i + 16 <= end; i += 16) two_octets(i);
    for (; i < end; i++) single(i);
  });
}

template <class F>
void multiply(const F* a, const F* b, long stride, F* out, long n, int threads) {
  zip(a, b, stride, out, n, threads, [](const F& x, const F& y) { return x * y; });
}

// out[i] = a[i] factor
inline void multiply_all(const Fr* a, const Fr& factor, Fr* out, long n, int threads) {
  const Fr held = to_factor(factor);
  const Factor w = Factor::same(held);
  const auto two_octets = [&](long i) {
    Octet x = Octet::adjacent(a + i), y = Octet::adjacent(a + i + 8);
    multiply_both(x, w, y, w);
    x.store_adjacent(out + i), y.store_adjacent(out + i + 8);
  };
  each_two_octets(n, threads, two_octets, [&](long i) { out[i] = a[i] * factor; });
}

inline void multiply(const Fr* a, const Fr* b, long stride, Fr* out, long n, int threads) {
  if (stride == 0) return multiply_all(a, *b, out, n, threads);
  const auto two_octets = [&](long i) {
    Octet x = Octet::adjacent(a + i), y = Octet::adjacent(a + i + 8);
    const Octet w = Octet::adjacent(b + i), v = Octet::adjacent(b + i + 8);
    multiply_both(x, w.as_factor(), y, v.as_factor());
    x.store_adjacent(out + i), y.store_adjacent(out + i + 8);
  };
  each_two_octets(n, threads, two_octets, [&](long i) { out[i] = a[i] * b[i]; });
}

template <class F>
void to_canonical(const F* a, F* out, long n, int threads) {
  map(a, out, n, threads, [](const F& x) { return x.to_canonical(); });
}
template <class F>
void to_montgomery(const F* a, F* out, long n, int threads) {
  map(a, out, n, threads, [](const F& x) { return x.to_montgomery(); });
}
// In Fr a product with 1 takes R away, with R^2 brings it in.
inline void to_canonical(const Fr* a, Fr* out, long n, int threads) {
  Fr unit = Fr::zero();
  unit.v[0] = 1;
  multiply_all(a, unit, out, n, threads);
}
inline void to_montgomery(const Fr* a, Fr* out, long n, int threads) {
  multiply_all(a, Fr::from_words(FrParameters::radix_squared), out, n, threads);
}

inline void from_int64(const int64_t* in, Fr* out, long n, int threads) {
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    for (long i = begin; i < end; i++) {
      out[i] = Fr::zero();
      out[i].v[0] = in[i] < 0 ? -u64(in[i]) : u64(in[i]);
    }
    to_montgomery(out + begin, out + begin, end - begin, 1);
    for (long i = begin; i < end; i++)
      if (in[i] < 0) out[i] = -out[i];
  });
}

// out[i] = first ratio^i
inline void fill_powers(const Fr& first, const Fr& ratio, Fr* out, long n, int threads) {
  const Fr step = to_factor(ratio.square().square().square().square());
  const Factor w = Factor::same(step);
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    const u64 exponent = u64(begin);
    out[begin] = first * ratio.power(&exponent, 1);
    long i = begin + 1;
    for (; i < end && i < begin + 16; i++) out[i] = out[i - 1] * ratio;
    for (; i + 16 <= end; i += 16) {
      Octet x = Octet::adjacent(out + i - 16), y = Octet::adjacent(out + i - 8);
      multiply_both(x, w, y, w);
      x.store_adjacent(out + i), y.store_adjacent(out + i + 8);
    }
    for (; i < end; i++) out[i] = out[i - 1] * ratio;
  });
}

// values[i] *= ratio^i
inline void scale_by_powers(Fr* values, const Fr& ratio, long n, int threads) {
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    Fr powers[elements_a_piece];
    const u64 exponent = u64(begin);
    fill_powers(ratio.power(&exponent, 1), ratio, powers, end - begin, 1);
    multiply(values + begin, powers, 1, values + begin, end - begin, 1);
  });
}

// values[i] = 1 / values[i], by Montgomery's trick: 3 products each and one inversion a piece. Zero stays zero.
template <class F>
void invert_all(F* values, long n, int threads) {
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    SecretBuffer<F> scratch(end - begin);
    batch_inverse(values + begin, scratch.data(), end - begin);
  });
}

// The same in sixteen chains, which end in one inversion.
inline void invert_all(Fr* values, long n, int threads) {
  const auto load = [](const Fr* p) {
    Fr near[8];
    bool any = false;
    for (int k = 0; k < 8; k++) any |= p[k].is_zero();
    if (!any) return Octet::adjacent(p);
    for (int k = 0; k < 8; k++) near[k] = p[k].is_zero() ? Fr::one() : p[k];
    return Octet::adjacent(near);
  };
  const auto store = [](Fr* p, const Octet& x) {
    Fr near[8];
    x.store_adjacent(near);
    for (int k = 0; k < 8; k++)
      if (!p[k].is_zero()) p[k] = near[k];
  };
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    SecretBuffer<Fr> scratch(end - begin + 32);
    Fr *const ends = scratch.data() + (end - begin), *const before = scratch.data() - begin, *const spare = ends + 16;
    for (int k = 0; k < 16; k++) ends[k] = Fr::one();
    const long whole = end - (end - begin) % 16;
    Octet even = Octet::adjacent(ends), odd = Octet::adjacent(ends + 8);
    for (long i = begin; i < whole; i += 16) {
      even.store_adjacent(before + i), odd.store_adjacent(before + i + 8);
      const Octet x = load(values + i), y = load(values + i + 8);
      multiply_both(even, x.as_factor(), odd, y.as_factor());
    }
    even.store_adjacent(ends), odd.store_adjacent(ends + 8);
    batch_inverse(ends, spare, 16);
    even = Octet::adjacent(ends), odd = Octet::adjacent(ends + 8);
    for (long i = whole - 16; i >= begin; i -= 16) {
      const Octet x = load(values + i), y = load(values + i + 8);
      const Octet w = Octet::adjacent(before + i), v = Octet::adjacent(before + i + 8);
      Octet first = even, second = odd;
      multiply_both(first, w.as_factor(), second, v.as_factor());
      store(values + i, first), store(values + i + 8, second);
      multiply_both(even, x.as_factor(), odd, y.as_factor());
    }
    batch_inverse(values + whole, before + whole, end - whole);
  });
}

}  // namespace zen
