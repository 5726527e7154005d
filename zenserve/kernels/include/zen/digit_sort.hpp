// The digits of all scalars, sorted by part, and their division into tasks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "bucket_plan.hpp"
#include "bucket_sums.hpp"
#if defined(ZEN_LANES)
#include "lanes.hpp"
#endif
#include "parallel.hpp"
#include "secret.hpp"

namespace zen {

// The nonzero digits of up to `size` pieces, sorted by part.
struct DigitBlock {
  static constexpr int size_bits = 11;
  static constexpr long size = 1l << size_bits;

  // Where in the block the piece is, the digit's sign, and the last 20 bits of its bucket, counted over all windows:
  // more than a task has buckets.
  struct Entry {
    uint32_t packed;

    static Entry of(uint32_t piece, bool negative, uint32_t bucket) {
      return {bucket << (size_bits + 1) | uint32_t(negative) << size_bits | piece};
    }
    uint32_t bucket_after(uint32_t first) const { return (packed - (first << (size_bits + 1))) >> (size_bits + 1); }
    // With the piece counted from the first of all.
    BucketEntry in_block(long block) const {
      return BucketEntry::of(uint32_t(block) << size_bits | (packed & (size - 1)), packed >> size_bits & 1);
    }
  };
  std::unique_ptr<SecretBuffer<Entry>> entries;
  std::vector<uint32_t> start;  // of each part's entries

  struct Digit {
    uint32_t part;
    Entry entry;
  };

  static long scalars_in(const BucketPlan& plan) { return size >> int(plan.pieces); }

  static DigitBlock from(const Fr* scalars, long n, const BucketPlan& plan) {
    SecretBuffer<Digit> digits((n << int(plan.pieces)) * plan.windows() + digits_at_once);
    Digit* end = digits.data();
    uint32_t piece = 0;
    for (long i = 0; i < n; i++)
      for_pieces(SignedScalar::from(scalars[i]), plan.pieces,
                 [&](const SignedScalar& part) { end = append_digits(part, piece++, plan, end); });

    // Zero digits are in no part, but behind all parts.
    DigitBlock block;
    block.start.assign(plan.parts() + 3, 0);
    uint32_t* const start = block.start.data();
    for (const Digit* digit = digits.data(); digit < end; digit++) start[digit->part + 2]++;
    for (long part = 0; part <= plan.parts(); part++) start[part + 2] += start[part + 1];
    block.entries = std::make_unique<SecretBuffer<Entry>>(end - digits.data());
    Entry* const entries = block.entries->data();
    for (const Digit* digit = digits.data(); digit < end; digit++) entries[start[digit->part + 1]++] = digit->entry;
    block.start.resize(plan.parts() + 1);
    return block;
  }

  std::span<const Entry> parts(long first, long last) const {
    return {entries->data() + start[first], start[last] - start[first]};
  }

 private:
#if defined(ZEN_LANES)
  static constexpr int digits_at_once = lane_count;

  static Digit* append_digits(const SignedScalar& scalar, uint32_t i, const BucketPlan& plan, Digit* end) {
    static_assert(sizeof(Digit) == sizeof(u64));
    const int bits = bit_length(scalar), windows = bits ? digit_count(bits, plan.width) : 0;
    const Lanes words = load_lanes(scalar.doubled), one = all_lanes(1), lane = {0, 1, 2, 3, 4, 5, 6, 7};
    const u64 full = 1ull << plan.width;
    const Lanes own = all_lanes(u64(Entry::of(i, scalar.negative, 0).packed) << 32);
    for (int first = 0; first < windows; first += lane_count) {
      const Lanes window = lane + u64(first), low = window * u64(plan.width), word = low >> 6, shift = low & 63;
      // Booth's digits; see SignedScalar::digit.
      const Lanes above = look_up(words, word + 1) << 1 << (63 - shift);
      const Lanes read = (look_up(words, word) >> shift | above) & (2 * full - 1);
      const Lanes rounded = (read + 1) >> 1, complement = full - rounded;
      const Lanes magnitude = rounded < complement ? rounded : complement;
      const Lanes bucket = window * (full / 2) + magnitude - 1;
      const Lanes part = magnitude == 0 ? all_lanes(u64(plan.parts())) : bucket >> plan.part_bits;
      const Lanes sign = (read >> plan.width & one) << (32 + size_bits);
      store_lanes(reinterpret_cast<u64*>(end), part | ((bucket << (32 + size_bits + 1) | own) ^ sign));
      end += std::min(lane_count, windows - first);
    }
    return end;
  }
#else
  static constexpr int digits_at_once = 1;

  static Digit* append_digits(const SignedScalar& scalar, uint32_t i, const BucketPlan& plan, Digit* end) {
    const int windows = digit_count(bit_length(scalar), plan.width);
    for (int window = 0; window < windows; window++) {
      const SignedScalar::Digit digit = scalar.digit(window, plan.width);
      if (!digit.magnitude) continue;
      const uint32_t bucket = (uint32_t(window) << (plan.width - 1)) + digit.magnitude - 1;
      *end++ = {bucket >> plan.part_bits, Entry::of(i, digit.negative, bucket)};
    }
    return end;
  }
#endif
};

// Consecutive parts with all blocks, or one part with some.
struct BucketTask {
  long first_part, last_part, first_block, last_block;
};

// A part with more than `share` digits becomes tasks of some blocks each.
inline void divide_part(const std::vector<DigitBlock>& blocks, long part, long share, std::vector<BucketTask>& tasks) {
  const auto size = [&](long block) { return long(blocks[block].parts(part, part + 1).size()); };
  long first = 0, held = 0;
  for (long block = 0; block < long(blocks.size()); block++) {
    if (held && held + size(block) > share) {
      tasks.push_back({part, part + 1, first, block});
      first = block, held = 0;
    }
    held += size(block);
  }
  tasks.push_back({part, part + 1, first, long(blocks.size())});
}

// Tasks of at most `capacity` buckets and as many digits; of fewer, where several threads want several tasks each.
inline std::vector<BucketTask> divide(const std::vector<DigitBlock>& blocks, const BucketPlan& plan, int threads,
                                      long capacity) {
  const long parts = plan.parts();
  std::vector<long> totals(parts, 0);
  for (const DigitBlock& block : blocks)
    for (long part = 0; part < parts; part++) totals[part] += long(block.parts(part, part + 1).size());
  const long digits = std::accumulate(totals.begin(), totals.end(), 0l);
  const long share = balanced_grain(digits, threads, DigitBlock::size, capacity);

  std::vector<BucketTask> tasks;
  for (long part = 0; part < parts;) {
    const long first = part;
    long held = 0;
    while (part < parts && held + totals[part] <= share && (part + 1 - first) << plan.part_bits <= capacity)
      held += totals[part++];
    if (part == first)
      divide_part(blocks, part++, share, tasks);
    else if (held)
      tasks.push_back({first, part, 0, long(blocks.size())});
  }
  return tasks;
}

}  // namespace zen
