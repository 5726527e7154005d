// Integers as scalars, and back.
#pragma once

#include "zen/field.hpp"

namespace zen {

ZEN_FN Fr scalar_of(long x) {
  const u64 magnitude[4] = {x < 0 ? -u64(x) : u64(x)};
  const Fr scalar = Fr::from_words(magnitude).to_montgomery();
  return x < 0 ? -scalar : scalar;
}

// Of a scalar that is less than 2^63 from zero.
ZEN_FN long integer_of(const Fr& scalar) {
  const Fr x = scalar.to_canonical();
  limb high = 0;
  ZEN_UNROLL for (int i = 2; i < Fr::limbs; i++) high |= x.v[i];
  const u64 low = x.v[0] | u64(x.v[1]) << 32;
  return long(high ? low - (modulus_limb<FrParameters>(0) | u64(modulus_limb<FrParameters>(1)) << 32) : low);
}

}  // namespace zen
