// Sums of products with small coefficients, as most are in a network's constraints: nothing is carried or reduced until
// a sum ends. In scalar targets words of 64 bits are multiplied each for itself, in lanes digits of 32.
#pragma once

#include "field.hpp"
#if defined(ZEN_LANES)
#include "lanes.hpp"
#endif

namespace zen {

// Of five words, below 2^64 r.
ZEN_FN Fr reduced(const u64 (&sum)[5]) {
  using Word = unsigned __int128;
  // The quotient by r is estimated from the bits above 2^253: it is right, or one too small.
  constexpr u64 inverse = u64((Word(1) << 125) / (FrParameters::modulus[3] + 1));
  const u64 quotient = u64(Word(sum[4] << 3 | sum[3] >> 61) * inverse >> 64);
  Fr left, less;
  Word product = 0;
  u64 borrow = 0;
  ZEN_UNROLL for (int i = 0; i < 4; i++) {
    product += Word(quotient) * FrParameters::modulus[i];
    const Word difference = Word(sum[i]) - u64(product) - borrow;
    left.v[i] = u64(difference), borrow = u64(difference >> 64) & 1;
    product >>= 64;
  }
  borrow = 0;
  ZEN_UNROLL for (int i = 0; i < 4; i++) {
    const Word difference = Word(left.v[i]) - FrParameters::modulus[i] - borrow;
    less.v[i] = u64(difference), borrow = u64(difference >> 64) & 1;
  }
  ZEN_UNROLL for (int i = 0; i < 4; i++) less.v[i] ^= (left.v[i] ^ less.v[i]) & -borrow;
  return less;
}

#if defined(ZEN_LANES)

// A lane for each digit x of 32 bits, which is multiplied as the signed x - 2^31. So the coefficients' sum counts what
// is lacking, and adding it makes all digits' sums those of x again.
class SmallSum {
 public:
  static constexpr int64_t largest = 0xFFFFFF;        // absolute value of a coefficient
  static constexpr int64_t capacity = int64_t(1) << 30;  // absolute values of all coefficients of a sum

  // += coefficient x
  ZEN_FN void add(int64_t coefficient, const Fr& x) {
    sum_ = add_signed_digits(sum_, x.v, coefficient);
    coefficients_ += coefficient;
  }

  ZEN_FN Fr total() const {
    u64 digits[8], words[5];
    store_lanes(digits, sum_);
    const int64_t lacking = coefficients_ << 31;
    int64_t carry = 0;
    for (int i = 0; i < 4; i++) {
      const int64_t low = int64_t(digits[2 * i]) + lacking + carry;
      const int64_t high = int64_t(digits[2 * i + 1]) + lacking + (low >> 32);
      words[i] = u64(uint32_t(low)) | u64(high) << 32;
      carry = high >> 32;
    }
    words[4] = u64(carry);
    // + 2^32 r, so that it is not negative
    constexpr const u64* r = FrParameters::modulus;
    unsigned __int128 sum = 0;
    ZEN_UNROLL for (int i = 0; i < 5; i++) {
      sum += words[i];
      sum += (i < 4 ? r[i] << 32 : 0) | (i ? r[i - 1] >> 32 : 0);
      words[i] = u64(sum);
      sum >>= 64;
    }
    return reduced(words);
  }

 private:
  Lanes sum_{};
  int64_t coefficients_ = 0;
};

#else

class SmallSum {
 public:
  static constexpr int64_t largest = 0xFFFFFFFF;
  static constexpr int64_t capacity = int64_t(1) << 53;

  // += coefficient x. Signs are not guessed: where it is negative 2^256 - 1 - x is added, and that is counted.
  ZEN_FN void add(int64_t coefficient, const Fr& x) {
    const u64 negative = u64(coefficient >> 63), magnitude = (u64(coefficient) ^ negative) - negative;
    ZEN_UNROLL for (int i = 0; i < 4; i++) words_[i] += Word(x.v[i] ^ negative) * magnitude;
    complements_ += magnitude & negative;
  }

  ZEN_FN Fr total() const {
    u64 sum[5];
    Word carry = 0;
    ZEN_UNROLL for (int i = 0; i < 4; i++) {  // a complement too much is 2^256 - 1
      const Word word = Word(minus_ones[i]) * complements_ + u64(words_[i]) + u64(carry);
      sum[i] = u64(word);
      carry = (carry >> 64) + (words_[i] >> 64) + (word >> 64);
    }
    sum[4] = u64(carry);
    return reduced(sum);
  }

 private:
  using Word = unsigned __int128;
  // 3 r - (2^256 - 1)
  static constexpr u64 minus_ones[4] = {0xfffffffd00000004, 0xfb38ec08fffb13fc, 0x99ad88181ce5880f, 0x5bc8f5f97cd877d8};
  Word words_[4] = {};
  u64 complements_ = 0;
};

#endif

}  // namespace zen
