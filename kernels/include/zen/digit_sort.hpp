// The digits of all scalars, sorted by part, and their division into tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "bucket_plan.hpp"
#include "bucket_sums.hpp"
#include "parallel.hpp"
#include "secret.hpp"

namespace zen {

// The nonzero digits of up to `size` scalars, sorted by part.
struct DigitBlock {
  static constexpr int size_bits = 11;
  static constexpr long size = 1l << size_bits;

  // Where in the block the scalar is, the digit's sign, and where in the part its bucket is.
  struct Entry {
    uint32_t packed;

    static Entry of(uint32_t scalar, bool negative, uint32_t bucket) {
      return {bucket << (size_bits + 1) | uint32_t(negative) << size_bits | scalar};
    }
    uint32_t bucket() const { return packed >> (size_bits + 1); }
    // With the scalar counted from the first of all.
    BucketEntry in_block(long block) const {
      return BucketEntry::of(uint32_t(block) << size_bits | (packed & (size - 1)), packed >> size_bits & 1);
    }
  };
  std::unique_ptr<SecretBuffer<Entry>> entries;
  std::vector<uint32_t> start;  // of each part's entries

  static DigitBlock from(const Fr* scalars, long n, const BucketPlan& plan) {
    struct Digit {
      uint32_t part;
      Entry entry;
    };
    const int width = plan.width, part_bits = plan.part_bits;
    const uint32_t in_part = (1u << part_bits) - 1;
    SecretBuffer<Digit> digits(n * plan.windows());
    DigitBlock block;
    block.start.assign(plan.parts() + 2, 0);
    uint32_t* const start = block.start.data();
    Digit* next = digits.data();
    for (long i = 0; i < n; i++) {
      const SignedScalar scalar = SignedScalar::from(scalars[i]);
      const int windows = digit_count(scalar.bit_length(), width);
      for (int window = 0; window < windows; window++) {
        const SignedScalar::Digit digit = scalar.digit(window, width);
        if (!digit.magnitude) continue;
        const uint32_t bucket = (uint32_t(window) << (width - 1)) + digit.magnitude - 1, part = bucket >> part_bits;
        *next++ = {part, Entry::of(uint32_t(i), digit.negative, bucket & in_part)};
        start[part + 2]++;
      }
    }
    for (long part = 0; part < plan.parts(); part++) start[part + 2] += start[part + 1];
    block.entries = std::make_unique<SecretBuffer<Entry>>(next - digits.data());
    Entry* const entries = block.entries->data();
    for (const Digit* digit = digits.data(); digit < next; digit++) entries[start[digit->part + 1]++] = digit->entry;
    block.start.pop_back();
    return block;
  }

  std::span<const Entry> part(long i) const { return {entries->data() + start[i], start[i + 1] - start[i]}; }
};

// Consecutive parts with all blocks, or one part with some.
struct BucketTask {
  long first_part, last_part, first_block, last_block;
};

// A part with more than `share` digits becomes tasks of some blocks each.
inline void divide_part(const std::vector<DigitBlock>& blocks, long part, long share, std::vector<BucketTask>& tasks) {
  const auto size = [&](long block) { return long(blocks[block].part(part).size()); };
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
    for (long part = 0; part < parts; part++) totals[part] += long(block.part(part).size());
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
