// Work on whole arrays of field elements, element by element, in pieces that threads share. What multiplies in Fr runs
// over groups (octet.hpp); the rest of an array that fills none is done one by one.
#pragma once

#include <cstdlib>
#include <type_traits>

#include "octet.hpp"
#include "operations.hpp"
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

// Run group<Group>(i) for the i at which a group begins, and single(i) for the rest, over all of [begin, end).
template <class ByGroups, class ByOnes>
ZEN_FN void in_groups(long begin, long end, ByGroups group, ByOnes single) {
  long i = begin;
  while (end - i >= Octet::size) {
    if (end - i < Wide::size || end - i == 2 * Octet::size)  // so that none are left
      group.template operator()<Octet>(i), i += Octet::size;
    else
      group.template operator()<Wide>(i), i += Wide::size;
  }
  for (; i < end; i++) single(i);
}
// The same over all i < n, in pieces.
template <class ByGroups, class ByOnes>
void each_group(long n, int threads, ByGroups group, ByOnes single) {
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) { in_groups(begin, end, group, single); });
}

// One element that groups are multiplied by.
class SameFactor {
 public:
  explicit SameFactor(const Fr& value) : held_(to_factor(value)), octet_(Factor::same(held_)), wide_(Wide::Factor::same(held_)) {}
  SameFactor(const SameFactor&) = delete;  // factors may be read where they stand
  template <class Group>
  const typename Group::Factor& of() const {
    if constexpr (std::is_same_v<Group, Octet>)
      return octet_;
    else
      return wide_;
  }

 private:
  Fr held_;
  Factor octet_;
  Wide::Factor wide_;
};

template <class F>
void multiply(const F* a, const F* b, long stride, F* out, long n, int threads) {
  zip(a, b, stride, out, n, threads, Multiply{});
}

// out[i] = a[i] factor
inline void multiply_all(const Fr* a, const Fr& factor, Fr* out, long n, int threads) {
  const SameFactor by(factor);
  each_group(n, threads, [&]<class Group>(long i) { (Group::adjacent(a + i) * by.of<Group>()).store_adjacent(out + i); },
             [&](long i) { out[i] = a[i] * factor; });
}

inline void multiply(const Fr* a, const Fr* b, long stride, Fr* out, long n, int threads) {
  if (stride == 0) return multiply_all(a, *b, out, n, threads);
  each_group(n, threads,
             [&]<class Group>(long i) { Group::adjacent(a + i).times(Group::adjacent(b + i)).store_adjacent(out + i); },
             [&](long i) { out[i] = a[i] * b[i]; });
}

template <class F>
void to_canonical(const F* a, F* out, long n, int threads) {
  map(a, out, n, threads, [](const F& x) { return x.to_canonical(); });
}
template <class F>
void to_montgomery(const F* a, F* out, long n, int threads) {
  map(a, out, n, threads, [](const F& x) { return x.to_montgomery(); });
}
inline void to_canonical(const Fr* a, Fr* out, long n, int threads) {
  each_group(n, threads, [&]<class Group>(long i) { Group::adjacent(a + i).plain().store_adjacent(out + i); },
             [&](long i) { out[i] = a[i].to_canonical(); });
}
// A product with R^2 brings R in.
inline void to_montgomery(const Fr* a, Fr* out, long n, int threads) {
  multiply_all(a, Fr::from_words(FrParameters::radix_squared), out, n, threads);
}

// word R mod r: ``factor`` is 2^64 R mod r, and one step of a reduction divides by 2^64, where a product takes four.
ZEN_FN Fr from_word(u64 word, const Fr& factor) {
  using Wide = unsigned __int128;
  u64 sum[5];
  Wide carry = 0;
  ZEN_UNROLL for (int i = 0; i < 4; i++) {
    carry += Wide(word) * factor.v[i];
    sum[i] = u64(carry), carry >>= 64;
  }
  sum[4] = u64(carry);
  const u64 multiple = sum[0] * FrParameters::negative_inverse;
  carry = (Wide(multiple) * FrParameters::modulus[0] + sum[0]) >> 64;
  Fr result;  // below 2 r
  ZEN_UNROLL for (int i = 1; i < 4; i++) {
    carry += Wide(multiple) * FrParameters::modulus[i] + sum[i];
    result.v[i - 1] = u64(carry), carry >>= 64;
  }
  result.v[3] = sum[4] + u64(carry);
  reduce_once<FrParameters>(result.v, result.v);
  return result;
}

// The field's elements of the integers that witnesses mostly have, and which of them an element is.
class SmallIntegers {
 public:
  static const SmallIntegers& all() {
    static const SmallIntegers made;
    return made;
  }
  static bool holds(int64_t value) { return u64(value - least) < u64(count); }
  const Fr& element(int64_t value) const { return elements_[value - least]; }
  // Which of them x is, or `count`.
  int index(const Fr& x) const {
    const int found = at_[place(x)];
    return found < count && x == elements_[found] ? found : count;
  }
  static constexpr int64_t least = -256;
  static constexpr int count = 512;

 private:
  SmallIntegers() {
    for (uint16_t& each : at_) each = count;
    for (int i = 0; i < count; i++) {
      Fr magnitude = Fr::zero();
      magnitude.v[0] = u64(std::abs(least + i));
      magnitude = magnitude.to_montgomery();
      elements_[i] = least + i < 0 ? -magnitude : magnitude;
      at_[place(elements_[i])] = uint16_t(i);
    }
  }
  // Another for each of them.
  static unsigned place(const Fr& x) { return unsigned(x.v[2] >> 53); }

  Fr elements_[count];
  uint16_t at_[1 << 11];
};

inline void from_int64(const int64_t* in, Fr* out, long n, int threads) {
  Fr factor = Fr::zero();
  factor.v[1] = 1;
  factor = factor.to_montgomery();
  const SmallIntegers& small = SmallIntegers::all();
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    for (long i = begin; i < end; i++) {
      if (SmallIntegers::holds(in[i])) {
        out[i] = small.element(in[i]);
        continue;
      }
      const Fr magnitude = from_word(in[i] < 0 ? -u64(in[i]) : u64(in[i]), factor);
      out[i] = in[i] < 0 ? -magnitude : magnitude;
    }
  });
}

// out[i] = first ratio^i
inline void fill_powers(const Fr& first, const Fr& ratio, Fr* out, long n, int threads) {
  const Fr eighth = ratio.square().square().square();
  parallel_ranges(n, elements_a_piece, threads, {}, [&](long begin, long end) {
    const u64 exponent = u64(begin);
    out[begin] = first * ratio.power(&exponent, 1);
    long i = begin + 1;
    for (; i < end && i < begin + 8; i++) out[i] = out[i - 1] * ratio;
    const Fr held = to_factor(eighth);
    for (; i + 8 <= end; i += 8) (Octet::adjacent(out + i - 8) * Factor::same(held)).store_adjacent(out + i);
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

// The same in eight chains, which end in one inversion.
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
    SecretBuffer<Fr> scratch(end - begin + 16);
    Fr *const ends = scratch.data() + (end - begin), *const before = scratch.data() - begin, *const spare = ends + 8;
    for (int k = 0; k < 8; k++) ends[k] = Fr::one();
    const long octets = end - (end - begin) % 8;
    Octet product = Octet::adjacent(ends);
    for (long i = begin; i < octets; i += 8) {
      product.store_adjacent(before + i);
      product = product.times(load(values + i));
    }
    product.store_adjacent(ends);
    batch_inverse(ends, spare, 8);
    Octet inverse = Octet::adjacent(ends);
    for (long i = octets - 8; i >= begin; i -= 8) {
      const Octet value = load(values + i);
      store(values + i, inverse.times(Octet::adjacent(before + i)));
      inverse = inverse.times(value);
    }
    batch_inverse(values + octets, before + octets, end - octets);
  });
}

}  // namespace zen
