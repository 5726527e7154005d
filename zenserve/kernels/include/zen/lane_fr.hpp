// What groups of elements of Fr in lanes are made of (octet_lanes.hpp), and how memory has what they are multiplied by.
#pragma once

#include "lane_field.hpp"

namespace zen {

inline constexpr int factor_bits = extra_bits<FrParameters>;

inline Fr to_factor(const Fr& x) {
  Fr r = x;
  for (int i = 0; i < factor_bits; i++) r = r.doubled();
  return r;
}
// x / 2^factor_bits: r is 1 modulo 2^factor_bits, so that as many times r make it a multiple of that.
ZEN_FN Fr from_factor(const Fr& x) {
  const u64 multiple = -x.v[0] & ((1u << factor_bits) - 1);
  unsigned __int128 carry = 0;
  u64 sum[5];
  ZEN_UNROLL for (int i = 0; i < 4; i++) {
    carry += (unsigned __int128)multiple * FrParameters::modulus[i] + x.v[i];
    sum[i] = u64(carry), carry >>= 64;
  }
  sum[4] = u64(carry);
  Fr r;
  ZEN_UNROLL for (int i = 0; i < 4; i++) r.v[i] = sum[i] >> factor_bits | sum[i + 1] << (64 - factor_bits);
  return r;
}

// How large values may be stands in octet_lanes.hpp.
ZEN_FN void copy(const LaneFr& from, LaneFr& to) {
  ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) to.v[i] = from.v[i];
}
ZEN_FN void add(LaneFr& to, const LaneFr& x) {
  ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) to.v[i] += x.v[i];
}
ZEN_FN LaneFr scaled(const LaneFr& x) {
  LaneFr r;
  ZEN_UNROLL for (int i = 0; i < LaneFr::digits; i++) r.v[i] = x.v[i] << factor_bits;
  return r;
}
ZEN_FN LaneFr rough_product(const LaneFr& x, const LaneFr& y) { return operand(x) * operand(y); }
ZEN_FN LaneFr plain_product(const LaneFr& x, const LaneFr& y) { return rough_product(x, scaled(y)); }
ZEN_FN const LaneFr& factor_of(const LaneFr& x) { return x; }
ZEN_FN LaneFr product(const LaneFr& x, const LaneFr& factor) { return operand(x) * factor; }
// The multiple of r to take off is read from the highest two digits, before any is carried, which makes it at most one
// too small: a value that differences made is far from zero.
ZEN_LANE_FN LaneFr bounded(const LaneFr& x) {
  constexpr int top = LaneFr::digits - 1;
  constexpr const u64* modulus = multiple<FrParameters, 1>.digit;
  LaneFr r = x;
  const Lanes quotient = rough_quotient(r.v[top] + shift_signed(r.v[top - 1], digit_bits), modulus[top] + 1);
  Lanes beyond{};
  ZEN_UNROLL for (int i = 0; i <= top; i++)  // + quotient (R' - r), modulo R'
    add_uncarried(r.v[i], i < top ? r.v[i + 1] : beyond, quotient, all_lanes(i ? digit_mask - modulus[i] : digit_mask + 1 - modulus[i]));
  r = carried(r);
  r.v[top] &= digit_mask;
  return r;
}
// What is bounded is hardly ever r or more: then its highest digit is not below r's.
ZEN_FN LaneFr canonical(const LaneFr& x) {
  constexpr int top = LaneFr::digits - 1;
  const LaneFr r = bounded(x);
  if (bits_of(SignedLanes(r.v[top]) >= int64_t(multiple<FrParameters, 1>.digit[top]))) [[unlikely]]
    return r.canonical();
  return r;
}
template <class Part>
Part everywhere(const Fr& value);
template <class Part>
Part loaded(const Fr* p);
template <class Part>
Part loaded(const Fr* const (&from)[Part::lanes]);
template <>
ZEN_FN LaneFr everywhere<LaneFr>(const Fr& value) {
  Lanes words[4];
  ZEN_UNROLL for (int i = 0; i < 4; i++) words[i] = all_lanes(value.v[i]);
  return LaneFr::from_words(words);
}
template <>
ZEN_FN LaneFr loaded<LaneFr>(const Fr* p) {
  return load(p);
}
template <>
ZEN_FN LaneFr loaded<LaneFr>(const Fr* const (&from)[lane_count]) {
  return gather(from);
}

}  // namespace zen
