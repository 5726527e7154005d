// Six elements of Fp where there is AVX2: four in the lanes of vectors and two in words, whose products the processor's
// scalar units make while its vector units multiply the others. Words, too, are multiplied by R' and seem divided by
// 2^extra_bits: one source serves all six. Words are carried always, modulo 2^384, which is 9.8 p.
#pragma once

#include "lane_field.hpp"

namespace zen {

struct WordFp {
  using P = FpParameters;
  limb v[P::words];

  static ZEN_FN WordFp from(const u64* words) {
    WordFp r;
    ZEN_UNROLL for (int i = 0; i < P::words; i++) r.v[i] = words[i];
    return r;
  }
  ZEN_FN void to(u64* words) const {
    ZEN_UNROLL for (int i = 0; i < P::words; i++) words[i] = v[i];
  }
  // k p
  template <u64 k>
  static constexpr WordFp multiple() {
    WordFp r{};
    unsigned __int128 carry = 0;
    for (int i = 0; i < P::words; i++) {
      carry += (unsigned __int128)P::modulus[i] * k;
      r.v[i] = u64(carry);
      carry >>= 64;
    }
    return r;
  }
  template <u64 k>
  static constexpr WordFp constant = multiple<k>();

  friend ZEN_FN WordFp operator+(WordFp a, const WordFp& b) {
    add_words(a.v, b.v);
    return a;
  }
  friend ZEN_FN WordFp operator-(WordFp a, const WordFp& b) {
    subtract_words(a.v, b.v);
    return a;
  }
  // See LanePrime for these.
  template <u64 k>
  ZEN_FN WordFp plus_modulus() const {
    return *this + constant<k>;
  }
  ZEN_FN WordFp carried() const { return *this; }
  ZEN_FN WordFp doubled() const { return *this + *this; }
  ZEN_FN WordFp negated_where(u64 truth) const {
    const WordFp mask = {{truth, truth, truth, truth, truth, truth}};
    WordFp r;
    ZEN_UNROLL for (int i = 0; i < P::words; i++) r.v[i] = v[i] ^ truth;
    return r - mask;
  }
  ZEN_FN WordFp settled() const {
    static constexpr WordFp table[] = {multiple<0>(), multiple<1>(), multiple<2>(), multiple<3>(),
                                       multiple<4>(), multiple<5>(), multiple<6>(), multiple<7>()};
    constexpr u64 inverse = (1ull << 60) / ((P::modulus[P::words - 1] >> 32) + 1);
    const WordFp r = plus_modulus<4>();
    return r - table[(r.v[P::words - 1] >> 32) * inverse >> 60];
  }
  ZEN_FN WordFp canonical() const {
    WordFp r;
    reduce_once<P>(r.v, v);
    return r;
  }
  template <int bits>
  ZEN_FN WordFp divided() const {
    WordFp r = *this;
    divide_words<P, bits>(r.v);
    return r;
  }
  template <u64 k>
  ZEN_FN u64 is_multiple() const {
    u64 difference = 0;
    ZEN_UNROLL for (int i = 0; i < P::words; i++) difference |= v[i] ^ constant<k>.v[i];
    return -u64(difference == 0);
  }
  template <u64 k>
  ZEN_FN u64 may_be_multiple() const {
    return -u64(v[0] == constant<k>.v[0]);
  }
  friend ZEN_FN WordFp select(u64 truth, const WordFp& a, const WordFp& b) { return truth ? a : b; }
};

struct MixedTruth {
  SignedLanes lanes;
  u64 word[2];

  ZEN_FN MixedTruth operator~() const { return {~lanes, {~word[0], ~word[1]}}; }
  friend ZEN_FN MixedTruth operator&(const MixedTruth& a, const MixedTruth& b) {
    return {a.lanes & b.lanes, {a.word[0] & b.word[0], a.word[1] & b.word[1]}};
  }
  friend ZEN_FN MixedTruth operator|(const MixedTruth& a, const MixedTruth& b) {
    return {a.lanes | b.lanes, {a.word[0] | b.word[0], a.word[1] | b.word[1]}};
  }
};
ZEN_FN unsigned bits_of(const MixedTruth& truth) {
  return bits_of(truth.lanes) | unsigned(truth.word[0] & 1) << lane_count | unsigned(truth.word[1] & 1) << (lane_count + 1);
}

// Its functions are called: where all of them stand in line the processor has to fetch instructions from far away, and takes
// half as long again.
#define ZEN_CALLED __attribute__((noinline))
struct LaneFp {
  using Vector = LanePrime<FpParameters>;
  using Truth = MixedTruth;
  static constexpr int words = 2, lanes = lane_count + words;

  Vector vector;
  WordFp word[words];

  LaneFp() = default;
  LaneFp(const LaneFp&) = default;
  ZEN_FN LaneFp(const Vector& lanes, const WordFp& first, const WordFp& second) : vector(lanes), word{first, second} {}
  // Compilers would call the library, whose longer vectors wait for what shorter ones have just stored.
  ZEN_FN LaneFp& operator=(const LaneFp& other) {
    ZEN_UNROLL for (int i = 0; i < Vector::digits; i++) vector.v[i] = other.vector.v[i];
    ZEN_UNROLL for (int k = 0; k < words; k++) other.word[k].to(word[k].v);
    return *this;
  }

  // The elements at these addresses.
  static ZEN_FN LaneFp gather(const u64* const (&from)[lanes]) {
    static_assert(lane_count == 4 && FpParameters::words == 6);
    using Pair = u64 __attribute__((vector_size(16), aligned(8)));
    Lanes rows[4], ends[2], columns[6];
    ZEN_UNROLL for (int i = 0; i < 4; i++) rows[i] = load_lanes(from[i]);
    transpose(rows);
    const auto end = [&](int i) { return *reinterpret_cast<const Pair*>(from[i] + 4); };
    ends[0] = __builtin_shufflevector(end(0), end(2), 0, 1, 2, 3), ends[1] = __builtin_shufflevector(end(1), end(3), 0, 1, 2, 3);
    ZEN_UNROLL for (int i = 0; i < 4; i++) columns[i] = rows[i];
    columns[4] = __builtin_shufflevector(ends[0], ends[1], 0, 4, 2, 6), columns[5] = __builtin_shufflevector(ends[0], ends[1], 1, 5, 3, 7);
    return {Vector::from_words(columns), WordFp::from(from[lane_count]), WordFp::from(from[lane_count + 1])};
  }
  ZEN_CALLED void scatter(u64* const (&to)[lanes]) const {
    using Pair = u64 __attribute__((vector_size(16), aligned(8)));
    Lanes columns[6], rows[4];
    vector.to_words(columns);
    ZEN_UNROLL for (int i = 0; i < 4; i++) rows[i] = columns[i];
    transpose(rows);
    const Lanes low = __builtin_shufflevector(columns[4], columns[5], 0, 4, 2, 6), high = __builtin_shufflevector(columns[4], columns[5], 1, 5, 3, 7);
    ZEN_UNROLL for (int i = 0; i < 4; i++) {
      store_lanes(to[i], rows[i]);
      const Lanes& both = i % 2 ? high : low;
      *reinterpret_cast<Pair*>(to[i] + 4) = i < 2 ? __builtin_shufflevector(both, both, 0, 1) : __builtin_shufflevector(both, both, 2, 3);
    }
    ZEN_UNROLL for (int k = 0; k < words; k++) word[k].to(to[lane_count + k]);
  }

  static ZEN_FN LaneFp zero() { return {}; }
  static ZEN_FN LaneFp everywhere(const std::array<u64, FpParameters::words>& value) {
    return {Vector::everywhere(value), WordFp::from(value.data()), WordFp::from(value.data())};
  }
  static ZEN_FN Truth truth(unsigned bits) {
    return {truth_of(bits), {-u64(bits >> lane_count & 1), -u64(bits >> (lane_count + 1) & 1)}};
  }

  friend ZEN_CALLED LaneFp operator+(const LaneFp& a, const LaneFp& b) {
    return {a.vector + b.vector, a.word[0] + b.word[0], a.word[1] + b.word[1]};
  }
  friend ZEN_CALLED LaneFp operator-(const LaneFp& a, const LaneFp& b) {
    return {a.vector - b.vector, a.word[0] - b.word[0], a.word[1] - b.word[1]};
  }
  friend ZEN_FN LaneFp select(const Truth& truth, const LaneFp& a, const LaneFp& b) {
    return {select(truth.lanes, a.vector, b.vector),
            select(truth.word[0], a.word[0], b.word[0]), select(truth.word[1], a.word[1], b.word[1])};
  }
  template <u64 k>
  ZEN_CALLED LaneFp plus_modulus() const {
    return each([](const auto& x) __attribute__((always_inline)) { return x.template plus_modulus<k>(); });
  }
  ZEN_CALLED LaneFp carried() const { return {vector.carried(), word[0], word[1]}; }
  ZEN_FN LaneFp doubled() const { return *this + *this; }
  ZEN_CALLED LaneFp settled() const {
    return each([](const auto& x) __attribute__((always_inline)) { return x.settled(); });
  }
  ZEN_CALLED LaneFp canonical() const {
    return each([](const auto& x) __attribute__((always_inline)) { return x.canonical(); });
  }
  template <u64 k>
  static ZEN_CALLED LaneFp carried_difference(const LaneFp& a, const LaneFp& b) {
    return {Vector::carried_difference<k>(a.vector, b.vector),
            (a.word[0] - b.word[0]).plus_modulus<k>(), (a.word[1] - b.word[1]).plus_modulus<k>()};
  }
  static ZEN_CALLED LaneFp settled_difference(const LaneFp& a, const LaneFp& b) {
    return {Vector::settled_difference(a.vector, b.vector),
            (a.word[0] - b.word[0]).settled(), (a.word[1] - b.word[1]).settled()};
  }
  static ZEN_CALLED LaneFp settled_third(const LaneFp& a, const LaneFp& b, const LaneFp& c) {
    const auto third = [&](const WordFp& x, const WordFp& y, const WordFp& z) __attribute__((always_inline)) {
      return (x - y - y - z).plus_modulus<2>().settled();
    };
    return {Vector::settled_third(a.vector, b.vector, c.vector),
            third(a.word[0], b.word[0], c.word[0]), third(a.word[1], b.word[1], c.word[1])};
  }
  template <int bits>
  ZEN_FN LaneFp divided() const {
    return each([](const auto& x) __attribute__((always_inline)) { return x.template divided<bits>(); });
  }
  ZEN_FN LaneFp negated_where(const Truth& truth) const {
    return {vector.negated_where(truth.lanes), word[0].negated_where(truth.word[0]), word[1].negated_where(truth.word[1])};
  }
  template <u64 k>
  ZEN_FN Truth is_multiple() const {
    return {vector.is_multiple<k>(), {word[0].is_multiple<k>(), word[1].is_multiple<k>()}};
  }
  template <u64 k>
  ZEN_FN Truth may_be_multiple() const {
    return {vector.may_be_multiple<k>(), {word[0].may_be_multiple<k>(), word[1].may_be_multiple<k>()}};
  }

 private:
  template <class Work>
  ZEN_FN LaneFp each(Work work) const {
    return {work(vector), work(word[0]), work(word[1])};
  }
};

// What products read beside their operands: the modulus in words, then in digits, the digit of its inverse, and a mask.
struct MixedConstants {
  using P = FpParameters;
  static constexpr int digits = LaneFp::Vector::digits;
  u64 words[8] = {}, lanes[digits + 2][lane_count] = {};

  constexpr MixedConstants() {
    for (int i = 0; i < P::words; i++) words[i] = P::modulus[i];
    for (int lane = 0; lane < lane_count; lane++) {
      for (int i = 0; i < digits; i++) lanes[i][lane] = multiple<P, 1>.digit[i];
      lanes[digits][lane] = P::negative_inverse & digit_mask;
      lanes[digits + 1][lane] = digit_mask;
    }
  }
};
alignas(64) inline constexpr MixedConstants mixed_constants;

// A product by rows. In ymm0 to ymm12 stand the columns t of the sum, in ymm14 a digit of b and then the highest column, and
// in ymm13 the multiple m of p that makes the lowest digit zero. Rows of the vectors and of a word take turns at every other
// step, so that neither fills the processor's queues: begin, w1 to w5 and end are the word's.
#define ZEN_LANES_DIGIT "vmovdqa (%[b], %[i], 4), %%ymm14\n\t"
#define ZEN_LANES_STEP(j, offset) "vpmuludq " #offset "+32*" #j "(%[a]), %%ymm14, %%ymm15\n\t vpaddq %%ymm15, %%ymm" #j ", %%ymm" #j "\n\t"
#define ZEN_LANES_MULTIPLE "vpmuludq 512(%[p]), %%ymm0, %%ymm13\n\t vpand 544(%[p]), %%ymm13, %%ymm13\n\t"
#define ZEN_LANES_HIGHEST(offset) "vpmuludq " #offset "+32*13(%[a]), %%ymm14, %%ymm14\n\t"
// t_j += a_j times the digit but for the highest; `first` follows the lowest.
#define ZEN_LANES_ROW(offset, first, begin, w1, w2, w3, w4, w5, end)                                               \
  ZEN_LANES_STEP(0, offset) first begin ZEN_LANES_STEP(1, offset) ZEN_LANES_STEP(2, offset) w1                     \
  ZEN_LANES_STEP(3, offset) ZEN_LANES_STEP(4, offset) w2 ZEN_LANES_STEP(5, offset) ZEN_LANES_STEP(6, offset) w3    \
  ZEN_LANES_STEP(7, offset) ZEN_LANES_STEP(8, offset) w4 ZEN_LANES_STEP(9, offset) ZEN_LANES_STEP(10, offset) w5   \
  ZEN_LANES_STEP(11, offset) ZEN_LANES_STEP(12, offset) end
// t = (t + m p) / 2^29
#define ZEN_LANES_REDUCE_STEP(j, below) "vpmuludq 64+32*" #j "(%[p]), %%ymm13, %%ymm15\n\t vpaddq %%ymm15, %%ymm" #j ", %%ymm" #below "\n\t"
#define ZEN_LANES_REDUCE(begin, w1, w2, w3, w4, w5, end)                                                           \
  begin "vpmuludq 64(%[p]), %%ymm13, %%ymm15\n\t vpaddq %%ymm15, %%ymm0, %%ymm15\n\t"                               \
  "vpsrlq $29, %%ymm15, %%ymm15\n\t vpaddq %%ymm15, %%ymm1, %%ymm1\n\t"                                             \
  ZEN_LANES_REDUCE_STEP(1, 0) ZEN_LANES_REDUCE_STEP(2, 1) w1 ZEN_LANES_REDUCE_STEP(3, 2) ZEN_LANES_REDUCE_STEP(4, 3) w2 \
  ZEN_LANES_REDUCE_STEP(5, 4) ZEN_LANES_REDUCE_STEP(6, 5) w3 ZEN_LANES_REDUCE_STEP(7, 6) ZEN_LANES_REDUCE_STEP(8, 7) w4 \
  ZEN_LANES_REDUCE_STEP(9, 8) ZEN_LANES_REDUCE_STEP(10, 9) w5 ZEN_LANES_REDUCE_STEP(11, 10) ZEN_LANES_REDUCE_STEP(12, 11) \
  "vpmuludq 64+32*13(%[p]), %%ymm13, %%ymm15\n\t vpaddq %%ymm15, %%ymm14, %%ymm12\n\t" end
#define ZEN_LANES_BEGIN \
  "vpxor %%xmm0, %%xmm0, %%xmm0\n\t" "vpxor %%xmm1, %%xmm1, %%xmm1\n\t" "vpxor %%xmm2, %%xmm2, %%xmm2\n\t"  \
  "vpxor %%xmm3, %%xmm3, %%xmm3\n\t" "vpxor %%xmm4, %%xmm4, %%xmm4\n\t" "vpxor %%xmm5, %%xmm5, %%xmm5\n\t"  \
  "vpxor %%xmm6, %%xmm6, %%xmm6\n\t" "vpxor %%xmm7, %%xmm7, %%xmm7\n\t" "vpxor %%xmm8, %%xmm8, %%xmm8\n\t"  \
  "vpxor %%xmm9, %%xmm9, %%xmm9\n\t" "vpxor %%xmm10, %%xmm10, %%xmm10\n\t" "vpxor %%xmm11, %%xmm11, %%xmm11\n\t"  \
  "vpxor %%xmm12, %%xmm12, %%xmm12\n\t"
// Digit j, carried.
#define ZEN_LANES_CARRY(j)                                                                                         \
  "vpaddq %%ymm15, %%ymm" #j ", %%ymm" #j "\n\t vpsrlq $29, %%ymm" #j ", %%ymm15\n\t"                               \
  "vpand %%ymm14, %%ymm" #j ", %%ymm" #j "\n\t vmovdqa %%ymm" #j ", 32*" #j "(%[i])\n\t"
#define ZEN_LANES_FINISH                                                                                           \
  "mov %[out], %[i]\n\t vmovdqa 544(%[p]), %%ymm14\n\t vpxor %%xmm15, %%xmm15, %%xmm15\n\t"                       \
  ZEN_LANES_CARRY(0) ZEN_LANES_CARRY(1) ZEN_LANES_CARRY(2) ZEN_LANES_CARRY(3) ZEN_LANES_CARRY(4) ZEN_LANES_CARRY(5) \
  ZEN_LANES_CARRY(6) ZEN_LANES_CARRY(7) ZEN_LANES_CARRY(8) ZEN_LANES_CARRY(9) ZEN_LANES_CARRY(10)                  \
  ZEN_LANES_CARRY(11) ZEN_LANES_CARRY(12) "vmovdqa %%ymm15, 32*13(%[i])\n\t"

#define ZEN_WORDS_BEGIN                                                                                            \
  "xor %k[t0], %k[t0]\n\t xor %k[t1], %k[t1]\n\t xor %k[t2], %k[t2]\n\t xor %k[t3], %k[t3]\n\t"                     \
  "xor %k[t4], %k[t4]\n\t xor %k[t5], %k[t5]\n\t"
#define ZEN_WORDS_STORE(at)                                                                                        \
  "mov %[out], %[lo]\n\t"                                                                                           \
  "mov %[t0], " #at "(%[lo])\n\t mov %[t1], " #at "+8(%[lo])\n\t mov %[t2], " #at "+16(%[lo])\n\t"                  \
  "mov %[t3], " #at "+24(%[lo])\n\t mov %[t4], " #at "+32(%[lo])\n\t mov %[t5], " #at "+40(%[lo])\n\t"

// A row of both. hi is what the word's carries out of t.
#define ZEN_MIXED_ROW(offset, first, digit, base)                                                                  \
  ZEN_LANES_ROW(offset, first, digit ZEN_PRODUCT_START(base), ZEN_PRODUCT_STEP(1, base + 8), ZEN_PRODUCT_STEP(2, base + 16), \
                ZEN_PRODUCT_STEP(3, base + 24), ZEN_PRODUCT_STEP(4, base + 32), ZEN_PRODUCT_STEP(5, base + 40), ZEN_PRODUCT_END)
#define ZEN_MIXED_REDUCE                                                                                           \
  ZEN_LANES_REDUCE(ZEN_REDUCE_BEGIN, ZEN_REDUCE_STEP(0, 1, 8), ZEN_REDUCE_STEP(1, 2, 16), ZEN_REDUCE_STEP(2, 3, 24), \
                   ZEN_REDUCE_STEP(3, 4, 32), ZEN_REDUCE_STEP(4, 5, 40), ZEN_REDUCE_END(5))
// A row of the vectors beside the last step of a word, t / 2^22.
#define ZEN_LAST_ROW(offset, first)                                                                                \
  ZEN_LANES_ROW(offset, first, "mov %[inverse], %%rdx\n\t imul %[t0], %%rdx\n\t and %[low_bits], %%edx\n\t xor %k[lo], %k[lo]\n\t", \
                ZEN_MULTIPLE_STEP(0, 1, 0), ZEN_MULTIPLE_STEP(1, 2, 8), ZEN_MULTIPLE_STEP(2, 3, 16),               \
                ZEN_MULTIPLE_STEP(3, 4, 24), ZEN_MULTIPLE_STEP(4, 5, 32), ZEN_MULTIPLE_END)
#define ZEN_LAST_REDUCE(at)                                                                                        \
  ZEN_LANES_REDUCE("", ZEN_SHIFT_STEP(t0, t1), ZEN_SHIFT_STEP(t1, t2), ZEN_SHIFT_STEP(t2, t3), ZEN_SHIFT_STEP(t3, t4), \
                   ZEN_SHIFT_STEP(t4, t5), ZEN_SHIFT_STEP(t5, hi) ZEN_WORDS_STORE(at))
// Six rows of the vectors and of a word, and the last; i is 8 times the row. A word's digits are at `word`, its own at `base`.
#define ZEN_MIXED_WORD(rows, last_row, last, at)                                                                   \
  ZEN_WORDS_BEGIN ".p2align 4\n1:\n\t" rows ZEN_MIXED_REDUCE "add $8, %[i]\n\t cmp $" #last ", %[i]\n\t jne 1b\n\t"  \
  last_row ZEN_LAST_REDUCE(at) "add $8, %[i]\n\t"
#define ZEN_MIXED(rows, last_row)                                                                                  \
  "xor %k[i], %k[i]\n\t" ZEN_LANES_BEGIN                                                                            \
  ZEN_MIXED_WORD(rows(448, 448), last_row, 48, 448) ZEN_MIXED_WORD(rows(440, 496), last_row, 104, 496) ZEN_LANES_FINISH

// a b
#define ZEN_ROWS(word, base)                                                                                       \
  ZEN_LANES_DIGIT ZEN_MIXED_ROW(0, ZEN_LANES_MULTIPLE, "mov " #word "(%[b], %[i]), %%rdx\n\t", base) ZEN_LANES_HIGHEST(0)
#define ZEN_LAST ZEN_LANES_DIGIT ZEN_LAST_ROW(0, ZEN_LANES_MULTIPLE) ZEN_LANES_HIGHEST(0)
// a[0] b + a[1] c
#define ZEN_SECOND_DIGIT "mov %[second], %[lo]\n\t vmovdqa (%[lo], %[i], 4), %%ymm14\n\t"
#define ZEN_BOTH_HIGHEST                                                                                           \
  ZEN_LANES_HIGHEST(544) "vmovdqa (%[b], %[i], 4), %%ymm15\n\t"                                                     \
  "vpmuludq 32*13(%[a]), %%ymm15, %%ymm15\n\t vpaddq %%ymm15, %%ymm14, %%ymm14\n\t"
#define ZEN_ROWS_OF_TWO(word, base)                                                                                \
  ZEN_LANES_DIGIT ZEN_MIXED_ROW(0, , "mov " #word "(%[b], %[i]), %%rdx\n\t", base) "mov %[hi], %[spare]\n\t"        \
  ZEN_SECOND_DIGIT ZEN_MIXED_ROW(544, ZEN_LANES_MULTIPLE, "mov " #word "(%[lo], %[i]), %%rdx\n\t", 544 + base)      \
  "add %[spare], %[hi]\n\t" ZEN_BOTH_HIGHEST
#define ZEN_LAST_OF_TWO                                                                                            \
  ZEN_LANES_DIGIT ZEN_LANES_ROW(0, , , , , , , , ) ZEN_SECOND_DIGIT ZEN_LAST_ROW(544, ZEN_LANES_MULTIPLE) ZEN_BOTH_HIGHEST

#define ZEN_MIXED_RESULTS                                                                                          \
  [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]), [t4] "=&r"(t[4]), [t5] "=&r"(t[5]),      \
      [hi] "=&r"(hi), [lo] "=&r"(lo), [spare] "=&r"(spare), [i] "=&r"(i)
#define ZEN_MIXED_OPERANDS                                                                                         \
  [out] "m"(out), [p] "r"(&mixed_constants), [inverse] "i"(FpParameters::negative_inverse),                        \
      [bits] "i"(extra_bits<FpParameters>), [left] "i"(64 - extra_bits<FpParameters>),                             \
      [low_bits] "i"((1 << extra_bits<FpParameters>) - 1)
#define ZEN_MIXED_CLOBBERS                                                                                         \
  "rdx", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",  \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

static_assert(sizeof(LaneFp) == 544 && lane_count == 4 && digit_bits == 29);

// Carried operands; the left ones add up to less than 8 p.
ZEN_CALLED inline LaneFp operator*(const LaneFp& a, const LaneFp& b) {
  LaneFp r;
  LaneFp* const out = &r;
  limb t[6], hi, lo, spare, i;
  asm volatile(ZEN_MIXED(ZEN_ROWS, ZEN_LAST)
               : ZEN_MIXED_RESULTS
               : [a] "r"(&a), [b] "r"(&b), ZEN_MIXED_OPERANDS
               : ZEN_MIXED_CLOBBERS);
  return r;
}
// a[0] b + a[1] c for one reduction.
ZEN_CALLED inline LaneFp sum_of_products(const LaneFp* a, const LaneFp& b, const LaneFp& c) {
  LaneFp r;
  LaneFp* const out = &r;
  const LaneFp* const second = &c;
  limb t[6], hi, lo, spare, i;
  asm volatile(ZEN_MIXED(ZEN_ROWS_OF_TWO, ZEN_LAST_OF_TWO)
               : ZEN_MIXED_RESULTS
               : [a] "r"(a), [b] "r"(&b), [second] "m"(second), ZEN_MIXED_OPERANDS
               : ZEN_MIXED_CLOBBERS);
  return r;
}
ZEN_FN LaneFp square(const LaneFp& a) { return a * a; }

#undef ZEN_LANES_DIGIT
#undef ZEN_LANES_STEP
#undef ZEN_LANES_MULTIPLE
#undef ZEN_LANES_HIGHEST
#undef ZEN_LANES_ROW
#undef ZEN_LANES_REDUCE_STEP
#undef ZEN_LANES_REDUCE
#undef ZEN_LANES_BEGIN
#undef ZEN_LANES_CARRY
#undef ZEN_LANES_FINISH
#undef ZEN_WORDS_BEGIN
#undef ZEN_WORDS_STORE
#undef ZEN_MIXED_ROW
#undef ZEN_MIXED_REDUCE
#undef ZEN_LAST_ROW
#undef ZEN_LAST_REDUCE
#undef ZEN_MIXED_WORD
#undef ZEN_MIXED
#undef ZEN_ROWS
#undef ZEN_LAST
#undef ZEN_SECOND_DIGIT
#undef ZEN_BOTH_HIGHEST
#undef ZEN_ROWS_OF_TWO
#undef ZEN_LAST_OF_TWO
#undef ZEN_MIXED_RESULTS
#undef ZEN_MIXED_OPERANDS
#undef ZEN_MIXED_CLOBBERS

#undef ZEN_CALLED

}  // namespace zen
