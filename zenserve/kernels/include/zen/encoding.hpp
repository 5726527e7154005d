// The compressed point encoding of the IETF pairing-friendly-curves draft, appendix C (ZCash): big-endian x
// (for Fp2: c1 then c0), the top three bits of the first byte telling compressed, infinity, greater y.
#pragma once

#include <cstdint>

#include "curve.hpp"

namespace zen {

enum class Decoded { ok, flags, not_canonical, not_on_curve, not_in_subgroup };

constexpr int fp_bytes = 48;

inline void write_big_endian(const Fp& value, uint8_t* out) {
  const Fp canonical = value.to_canonical();
  for (int i = 0; i < fp_bytes; i++) out[fp_bytes - 1 - i] = uint8_t(canonical.v[i / 8] >> (8 * (i % 8)));
}

// False where the integer is not below the modulus.
inline bool read_big_endian(const uint8_t* in, Fp& out) {
  Fp canonical = Fp::zero();
  for (int i = 0; i < fp_bytes; i++) canonical.v[i / 8] |= u64(in[fp_bytes - 1 - i]) << (8 * (i % 8));
  for (int i = FpParameters::words - 1; i >= 0; i--) {
    if (canonical.v[i] > FpParameters::modulus[i]) return false;
    if (canonical.v[i] < FpParameters::modulus[i]) {
      out = canonical.to_montgomery();
      return true;
    }
  }
  return false;
}

// Is y the greater of y and -y? For Fp2 the order is by c1, then c0.
inline bool is_greater(const Fp& y) {
  const Fp canonical = y.to_canonical();
  for (int i = FpParameters::words - 1; i >= 0; i--)
    if (canonical.v[i] != FpParameters::half[i]) return canonical.v[i] > FpParameters::half[i];
  return false;
}
inline bool is_greater(const Fp2& y) { return is_greater(y.c1.is_zero() ? y.c0 : y.c1); }

// A square root, or false. p = 3 mod 4, so a^((p+1)/4) is one wherever there is one.
inline bool square_root(const Fp& a, Fp& root) {
  u64 exponent[FpParameters::words];  // (p + 1) / 4 = (p - 3) / 4 + 1
  for (int i = 0; i < FpParameters::words; i++)
    exponent[i] = FpParameters::modulus[i] >> 2 | (i + 1 < FpParameters::words ? FpParameters::modulus[i + 1] << 62 : 0);
  exponent[0] += 1;
  root = a.power(exponent, FpParameters::words);
  return root.square() == a;
}

// Complex method (Scott, "Implementing cryptographic pairings", 2007): with n^2 = norm(a), the real part of
// the root is a root of (c0 + n) / 2 or of (c0 - n) / 2.
inline bool square_root(const Fp2& a, Fp2& root) {
  const Fp half = Fp::one().doubled().inverse();
  Fp norm_root;
  if (!square_root(a.c0.square() + a.c1.square(), norm_root)) return false;
  for (const Fp& n : {norm_root, -norm_root}) {
    Fp real;
    if (!square_root((a.c0 + n) * half, real)) continue;
    if (real.is_zero()) {
      Fp imaginary;
      if (!a.c1.is_zero() || !square_root(-a.c0, imaginary)) continue;
      root = {real, imaginary};
    } else {
      root = {real, a.c1 * half * real.inverse()};
    }
    if (root.square() == a) return true;
  }
  return false;
}

inline void write_coordinate(const Fp& x, uint8_t* out) { write_big_endian(x, out); }
inline void write_coordinate(const Fp2& x, uint8_t* out) {
  write_big_endian(x.c1, out);
  write_big_endian(x.c0, out + fp_bytes);
}
inline bool read_coordinate(const uint8_t* in, Fp& x) { return read_big_endian(in, x); }
inline bool read_coordinate(const uint8_t* in, Fp2& x) {
  return read_big_endian(in, x.c1) && read_big_endian(in + fp_bytes, x.c0);
}

template <class F>
constexpr int encoded_bytes = fp_bytes * int(sizeof(F) / sizeof(Fp));

template <class F>
void compress(const Affine<F>& p, uint8_t* out) {
  write_coordinate(p.x, out);
  out[0] |= 0x80;
  if (p.is_infinity())
    out[0] |= 0x40;
  else if (is_greater(p.y))
    out[0] |= 0x20;
}

template <class F>
Decoded decompress(const uint8_t* in, Affine<F>& out) {
  uint8_t bytes[encoded_bytes<F>];
  for (int i = 0; i < encoded_bytes<F>; i++) bytes[i] = in[i];
  const bool infinity = in[0] & 0x40, greater = in[0] & 0x20;
  bytes[0] &= 0x1f;
  if (!(in[0] & 0x80)) return Decoded::flags;
  if (infinity) {
    uint8_t rest = greater;
    for (uint8_t byte : bytes) rest |= byte;
    out = Affine<F>::infinity();
    return rest ? Decoded::flags : Decoded::ok;
  }
  if (!read_coordinate(bytes, out.x)) return Decoded::not_canonical;
  if (!square_root(out.x.square() * out.x + curve_b(out.x), out.y)) return Decoded::not_on_curve;
  if (is_greater(out.y) != greater) out.y = -out.y;
  return in_subgroup(out) ? Decoded::ok : Decoded::not_in_subgroup;
}

}  // namespace zen
