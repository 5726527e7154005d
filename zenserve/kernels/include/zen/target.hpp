// What a target decides: the limb, how functions are inlined, and modular addition and multiplication.
// Every formula above (fields, curves, transforms) is written once against these few names.
//
//   ZEN_FN                      specifiers of a function that formulas call in their innermost loops
//   ZEN_UNROLL                  before a loop over limbs
//   limb                        the machine word of field elements; memory layout is little-endian words,
//                               so that 32- and 64-bit limbs read the same bytes
//   add_mod<P>(out, a, b)       out = a + b mod P::modulus         (a, b and out canonical, < modulus)
//   sub_mod<P>(out, a, b)       out = a - b mod P::modulus
//   invert<P>(out, a)           out = 1 / a mod P::modulus for plain integers; zero goes to zero
//   mont_mul<P>(out, a, b)      out = a b / R mod P::modulus, R = 2^(64 P::words)
//   mont_square<P>(out, a)      out = a a / R mod P::modulus
//   mont_sum_of_products<P>(out, a, b)
//                               out = (a_0 b_0 + a_1 b_1) / R mod P::modulus for two elements side by side at `a` and
//                               two at `b`; needs a modulus below R / 4, as Fp's is
//
// `out` may be `a` or `b` themselves, but for the sum of products.
#pragma once

#include "constants.hpp"

namespace zen {
using u32 = unsigned int;
}

#if defined(__CUDACC_RTC__)
#include "target_cuda.hpp"
#elif defined(ZEN_TARGET_X86_ADX)
#include "target_x86_adx.hpp"
#else
#include "target_portable.hpp"
#endif
