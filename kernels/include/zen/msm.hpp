// Multi-scalar multiplication: Pippenger's buckets over signed windows. The scalars' digits are sorted in two steps,
// so that each stays in cache: a block of scalars sorts its digits by part, a run of buckets of one window; then a task
// takes a part or some, gathers their entries from all blocks, and adds up their buckets. Zero digits cost nothing, so
// that a scalar costs what its length asks for. Points are touched by tasks alone, which share nothing, and whose sizes
// are alike whatever the scalars are.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bucket_sums.hpp"
#include "parallel.hpp"
#include "secret.hpp"
#include "signed_scalar.hpp"

namespace zen {

// How many scalars have which bit length.
using BitLengths = std::array<double, longest_scalar + 1>;

// An estimate from at most 1024 of the scalars, spread by the golden ratio.
inline BitLengths sample_lengths(const Fr* scalars, long n) {
  const long samples = std::min(n, 1024l);
  BitLengths lengths{};
  for (long k = 0; k < samples; k++) {
    const u64 fraction = u64(k) * 0x9e3779b97f4a7c15 >> 32;
    const long i = n > samples ? long(fraction * u64(n) >> 32) : k;
    lengths[SignedScalar::from(scalars[i]).bit_length()] += double(n) / double(samples);
  }
  return lengths;
}

// Windows of `width` bits have 2^(width - 1) buckets each: a digit d belongs to bucket |d| - 1. They come in parts of
// 2^part_bits buckets.
struct BucketPlan {
  int width, part_bits;

  int windows() const { return digit_count(longest_scalar, width); }
  int parts_a_window_bits() const { return width - 1 - part_bits; }
  long parts() const { return long(windows()) << parts_a_window_bits(); }

  // The fewest additions. Parts as large as fit `capacity` entries, and buckets.
  static BucketPlan choose(const BitLengths& lengths, long capacity) {
    BucketPlan best{};
    double least = 1e300;
    for (int width = 2; width <= 20; width++) {
      const double buckets = double(1l << (width - 1));
      double digits = 0, additions = 0, active = 0;
      for (int window = digit_count(longest_scalar, width) - 1, bits = longest_scalar; window >= 0; window--) {
        for (; bits > 0 && bits >= window * width; bits--) active += lengths[bits];
        digits += active;
        additions += active + tree_additions(buckets, active);
      }
      if (additions >= least) continue;
      least = additions;
      best = {width, 0};
      const double entries = std::max(1.0, digits / double(best.windows()) / buckets);  // of a bucket
      while (best.part_bits < width - 1 && entries * double(2l << best.part_bits) <= double(capacity))
        best.part_bits++;
    }
    return best;
  }

 private:
  // Two for each bucket with a point, and another half for each level where it finds no neighbour. Looking at a bucket
  // costs a sixteenth of one, say.
  static double tree_additions(double buckets, double points) {
    const double nodes = std::min(buckets, points);
    return buckets / 16 + (nodes > 0 ? nodes * (2 + std::log2(buckets / nodes) / 2) : 0);
  }
};

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

// Tasks of at most `capacity` buckets, and of at most `entries` digits as far as blocks and parts allow.
inline std::vector<BucketTask> divide(const std::vector<DigitBlock>& blocks, const BucketPlan& plan, long entries,
                                      long capacity) {
  const long parts = plan.parts(), count = long(blocks.size());
  std::vector<long> totals(parts, 0);
  for (const DigitBlock& block : blocks)
    for (long part = 0; part < parts; part++) totals[part] += long(block.part(part).size());

  std::vector<BucketTask> tasks;
  for (long part = 0; part < parts;) {
    if (totals[part] > entries) {
      for (long first = 0, block = 0, held = 0; block < count; block++) {
        held += long(blocks[block].part(part).size());
        const bool full = block + 1 == count || held + long(blocks[block + 1].part(part).size()) > entries;
        if (full) tasks.push_back({part, part + 1, std::exchange(first, block + 1), block + 1}), held = 0;
      }
      part++;
      continue;
    }
    const long first = part;
    long held = 0;
    while (part < parts && held + totals[part] <= entries && (part + 1 - first) << plan.part_bits <= capacity)
      held += totals[part++];
    if (held) tasks.push_back({first, part, 0, count});
  }
  return tasks;
}

// The sum over e of 2^e times the points of powers[e].
template <class F>
Xyzz<F> sum_powers(const std::vector<std::vector<Summand<F>>>& powers) {
  std::vector<Summand<F>> points;
  std::vector<long> starts{0};
  long longest = 0;
  for (const std::vector<Summand<F>>& power : powers) {
    for (const Summand<F>& point : power)
      if (!point.is_infinity()) points.push_back(point);
    longest = std::max(longest, long(points.size()) - starts.back());
    starts.push_back(long(points.size()));
  }
  std::vector<Summand<F>> spare(points.size());
  BatchAdder<F, Summand<F>> adder;
  const Summand<F>* sums = sum_lists(starts.data(), long(powers.size()), longest, points.data(), spare.data(), adder);

  Xyzz<F> total = Xyzz<F>::infinity();
  for (long e = long(powers.size()) - 1; e >= 0; e--) {
    total = total.doubled();
    if (starts[e] == starts[e + 1]) continue;
    Affine<F> sum;
    to_affine(&sums[starts[e]], &sum, 1);
    total = total + sum;
  }
  return total;
}

// The scratch memory in bytes of `msm` with n scalars of full length; shorter ones need less. A digit takes 4, so that
// this is mostly 4 n windows(), 60 n to 100 n. Each thread takes the points of one task beside it.
template <class F>
long msm_memory(long n, int threads) {
  constexpr long capacity = BucketSummer<F>::capacity;
  BitLengths lengths{};
  lengths[longest_scalar] = double(n);
  const BucketPlan plan = BucketPlan::choose(lengths, capacity);
  const long digits = n * plan.windows(), blocks = (n + DigitBlock::size - 1) / DigitBlock::size;
  const long points = std::min(digits, balanced_grain(digits, threads, DigitBlock::size, capacity));
  return 4 * digits + 4 * blocks * plan.parts() + threads * points * long(sizeof(Summand<F>));
}

// sum of scalars[i] * bases[i]. Scalars in Montgomery form. n < 2^31.
template <class F>
Xyzz<F> msm(const Affine<F>* bases, const Fr* scalars, long n, int threads, const Progress& progress) {
  constexpr long capacity = BucketSummer<F>::capacity;
  const BucketPlan plan = BucketPlan::choose(sample_lengths(scalars, n), capacity);

  std::vector<DigitBlock> blocks((n + DigitBlock::size - 1) / DigitBlock::size);
  parallel_ranges(n, DigitBlock::size, threads, {}, [&](long begin, long end) {
    blocks[begin / DigitBlock::size] = DigitBlock::from(scalars + begin, end - begin, plan);
  });
  long digits = 0;
  for (const DigitBlock& block : blocks) digits += block.start.back();
  const long share = balanced_grain(digits, threads, DigitBlock::size, capacity);
  const std::vector<BucketTask> tasks = divide(blocks, plan, share, capacity);

  const int part_bits = plan.part_bits, sums_a_part = part_bits + 1;
  std::vector<std::vector<Summand<F>>> sums(tasks.size());
  std::vector<std::unique_ptr<BucketSummer<F>>> summers(threads);
  parallel_for(long(tasks.size()), threads, progress, [&](long i, int thread) {
    if (!summers[thread]) summers[thread] = std::make_unique<BucketSummer<F>>();
    const BucketTask& task = tasks[i];
    const long parts = task.last_part - task.first_part;
    summers[thread]->sort(parts << plan.part_bits, [&](auto visit) {
      for (long b = task.first_block; b < task.last_block; b++)
        for (long part = 0; part < parts; part++)
          for (const DigitBlock::Entry entry : blocks[b].part(task.first_part + part))
            visit(uint32_t(part) << part_bits | entry.bucket(), entry.in_block(b));
    });
    sums[i].resize(parts * sums_a_part);
    summers[thread]->sum(bases, parts, plan.part_bits, sums[i].data());
  });

  // Wiping and giving back so much memory takes a while.
  parallel_for(long(blocks.size()), threads, {}, [&](long i, int) { blocks[i].entries.reset(); });

  // powers[e]: what is still to be multiplied by 2^e.
  std::vector<std::vector<Summand<F>>> powers(plan.windows() * plan.width);
  for (size_t i = 0; i < tasks.size(); i++)
    for (long part = tasks[i].first_part; part < tasks[i].last_part; part++) {
      const long lowest = (part >> plan.parts_a_window_bits()) * plan.width;
      const Summand<F>* sum = &sums[i][(part - tasks[i].first_part) * sums_a_part];
      for (int bit = 0; bit < plan.part_bits; bit++) powers[lowest + bit].push_back(sum[bit]);
      powers[lowest].push_back(sum[plan.part_bits]);  // bucket b has weight b + 1
      for (int bit = 0; bit < plan.parts_a_window_bits(); bit++)
        if (part >> bit & 1) powers[lowest + plan.part_bits + bit].push_back(sum[plan.part_bits]);
    }
  return sum_powers(powers);
}

}  // namespace zen
