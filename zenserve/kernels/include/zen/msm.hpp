// Multi-scalar multiplication: Pippenger's buckets over signed windows. The scalars' digits are sorted in two steps,
// so that each stays in cache: a block of scalars sorts its digits by part, a run of buckets of one window; then a task
// takes a part or some, gathers their entries from all blocks, and adds up their buckets. Zero digits cost nothing, so
// that a scalar costs what its length asks for. Points are touched by tasks alone, which share nothing, and whose sizes
// are alike whatever the scalars are.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "bucket_sums.hpp"
#include "digit_sort.hpp"
#include "parallel.hpp"

namespace zen {

// The bit sums of a task's parts, plan.part_bits + 1 of each; see BucketSummer::sum.
template <class F>
std::vector<Summand<F>> sum_task(const BucketTask& task, const std::vector<DigitBlock>& blocks, const BucketPlan& plan,
                                 const Bases<F>& bases, BucketSummer<F>& summer) {
  const long parts = task.last_part - task.first_part;
  const uint32_t first_bucket = uint32_t(task.first_part << plan.part_bits);
  summer.sort(parts << plan.part_bits, [&](auto visit) {
    for (long block = task.first_block; block < task.last_block; block++)
      for (const DigitBlock::Entry entry : blocks[block].parts(task.first_part, task.last_part))
        visit(entry.bucket_after(first_bucket), entry.in_block(block));
  });
  std::vector<Summand<F>> sums(parts * (plan.part_bits + 1));
  summer.sum(bases, parts, plan.part_bits, sums.data());
  return sums;
}

// Adds a part's bit sums to the powers of two that they are to be multiplied by.
template <class F>
void add_part(long part, const Summand<F>* sums, const BucketPlan& plan, std::vector<std::vector<Summand<F>>>& powers) {
  const long lowest = (part >> plan.parts_a_window_bits()) * plan.width;
  const Summand<F>& all = sums[plan.part_bits];
  for (int bit = 0; bit < plan.part_bits; bit++) powers[lowest + bit].push_back(sums[bit]);
  powers[lowest].push_back(all);  // bucket b has weight b + 1
  for (int bit = 0; bit < plan.parts_a_window_bits(); bit++)
    if (part >> bit & 1) powers[lowest + plan.part_bits + bit].push_back(all);
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
  const Summand<F>* halved = sum_lists(starts.data(), long(powers.size()), longest, points.data(), spare.data(), adder);
  std::vector<Affine<F>> sums(starts.back());
  to_affine(halved, sums.data(), starts.back());

  Xyzz<F> total = Xyzz<F>::infinity();
  for (long e = long(powers.size()) - 1; e >= 0; e--) {
    total = total.doubled();
    if (starts[e] < starts[e + 1]) total = total + sums[starts[e]];
  }
  return total;
}

// The scratch memory in bytes of `msm` with n scalars of full length; shorter ones need less. A digit takes 4, so that
// this is mostly 4 n windows(), 60 n to 100 n. Each thread takes the points of one task beside it, and two adders; parts leave
// their bit sums, which are there four times when they are added up.
template <class F>
long msm_memory(long n, bool with_multiples, int threads) {
  constexpr long capacity = BucketSummer<F>::capacity;
  const Pieces pieces = with_multiples ? Pieces::words : Pieces::scalars;
  const int longest = with_multiples ? longest_word - 1 : longest_scalar;
  const long count = n << int(pieces);
  BitLengths lengths{};
  lengths[longest] = double(count);
  const BucketPlan plan = BucketPlan::choose(lengths, pieces, capacity);
  const long digits = count * digit_count(longest, plan.width), blocks = (count + DigitBlock::size - 1) / DigitBlock::size;
  const long points = std::min(digits, balanced_grain(digits, threads, DigitBlock::size, capacity));
  const long adders = BatchAdder<F, Affine<F>>::scratch_bytes() + BatchAdder<F, Summand<F>>::scratch_bytes();
  const long sums = 4 * plan.parts() * (plan.part_bits + 1);
  return 4 * digits + 4 * blocks * plan.parts() + threads * adders + (threads * points + sums) * long(sizeof(Summand<F>));
}

// sum of scalars[i] * points[i]. Scalars in Montgomery form. n < 2^31. `multiples`: null, or 2^64 times the points, then 2^128
// times, then 2^192 times, n each; n < 2^29 then. Words of scalars share windows, and so buckets.
template <class F>
Xyzz<F> msm(const Affine<F>* points, const Affine<F>* multiples, const Fr* scalars, long n, int threads,
            const Progress& progress) {
  constexpr long capacity = BucketSummer<F>::capacity;
  const Pieces pieces = multiples ? Pieces::words : Pieces::scalars;
  const Bases<F> bases{points, multiples, n, pieces};
  const BucketPlan plan = BucketPlan::choose(sample_lengths(scalars, n, pieces), pieces, capacity);

  const long grain = DigitBlock::scalars_in(plan);
  std::vector<DigitBlock> blocks((n + grain - 1) / grain);
  parallel_ranges(n, grain, threads, {}, [&](long begin, long end) {
    blocks[begin / grain] = DigitBlock::from(scalars + begin, end - begin, plan);
  });
  const std::vector<BucketTask> tasks = divide(blocks, plan, threads, capacity);

  std::vector<std::vector<Summand<F>>> sums(tasks.size());
  std::vector<std::unique_ptr<BucketSummer<F>>> summers(threads);
  parallel_for(long(tasks.size()), threads, progress, [&](long i, int thread) {
    if (!summers[thread]) summers[thread] = std::make_unique<BucketSummer<F>>();
    sums[i] = sum_task(tasks[i], blocks, plan, bases, *summers[thread]);
  });
  // Wiping and giving back so much memory takes a while.
  parallel_for(long(blocks.size()), threads, {}, [&](long i, int) { blocks[i].entries.reset(); });

  // powers[e]: what is still to be multiplied by 2^e.
  std::vector<std::vector<Summand<F>>> powers(plan.windows() * plan.width);
  for (size_t i = 0; i < tasks.size(); i++)
    for (long part = tasks[i].first_part; part < tasks[i].last_part; part++)
      add_part(part, &sums[i][(part - tasks[i].first_part) * (plan.part_bits + 1)], plan, powers);
  return sum_powers(powers);
}

}  // namespace zen
