// The weighted sum of buckets of points, sum over b of (b + 1) * (the sum of bucket b), as sums for each bit of b.
// Everything is a halving: first of the buckets' lists, until each has one point; then of the buckets. A level of that
// tree adds neighbours; the sum of its odd nodes is what the level's bit counts. With B buckets these are 2 B additions,
// as many as running sums take, but independent of each other within a level.
#pragma once

#include <cstdint>
#include <vector>

#include "bucket_plan.hpp"
#include "list_sums.hpp"
#include "secret.hpp"

namespace zen {

// A point in a bucket's list: the index of its base, and whether it is negated.
struct BucketEntry {
  uint32_t packed;

  static BucketEntry of(uint32_t index, bool negated) { return {index | uint32_t(negated) << 31}; }
  uint32_t index() const { return packed & ~(1u << 31); }
  bool negated() const { return packed >> 31; }
};

// The points that indices of pieces stand for: `first`, and their multiples one array after the other.
template <class F>
struct Bases {
  const Affine<F>* first;
  const Affine<F>* multiples;
  long n;
  Pieces pieces;

  const Affine<F>* operator[](uint32_t piece) const {
    const long point = piece >> int(pieces), word = piece & ((1u << int(pieces)) - 1);
    return word ? multiples + (word - 1) * n + point : first + point;
  }
};

// The working memory of one thread. Buckets come in parts of 2^part_bits.
template <class F>
class BucketSummer {
 public:
  // Entries, and buckets, of one run at most. The first halving's points fill a 1 MiB L2, and outnumber the few additions
  // of the narrow ends.
  static constexpr long capacity = (2l << 20) / long(sizeof(Summand<F>));

  BucketSummer() : entries_(capacity), nodes_(capacity), spare_(capacity), bits_(capacity), next_bits_(capacity) {}

  // Counting sort: fill(visit) calls visit(bucket, entry) for every entry, the same ones each time.
  template <class Fill>
  void sort(long buckets, Fill fill) {
    starts_.assign(buckets + 2, 0);
    uint32_t* const cursor = starts_.data() + 1;
    BucketEntry* const entries = entries_.data();
    fill([=](uint32_t bucket, BucketEntry) { cursor[bucket + 1]++; });
    for (long bucket = 0; bucket < buckets; bucket++) cursor[bucket + 1] += cursor[bucket];
    fill([=](uint32_t bucket, BucketEntry entry) { entries[cursor[bucket]++] = entry; });
  }

  // out[part (part_bits + 1) + k] = the sum of the part's buckets whose index within the part has bit k; for
  // k = part_bits the sum of all.
  void sum(const Bases<F>& bases, long parts, int part_bits, Summand<F>* out) {
    const long buckets = parts << part_bits;
    const auto base = [&](uint32_t i) { return bases[entries_[i].index()]; };
    const auto negated = [&](uint32_t i) { return entries_[i].negated(); };
    const long longest = pair_up(
        starts_.data(), buckets, nodes_.data(),
        [&](uint32_t i, Summand<F>* sum) { gather_.push(base(i), base(i + 1), sum, negated(i), negated(i + 1)); },
        [&](uint32_t i, Summand<F>* copy) { conversions_.push(base(i), negated(i), copy); });
    gather_.flush();
    conversions_.flush();
    if (sum_lists(starts_.data(), buckets, longest, nodes_.data(), spare_.data(), adder_) != nodes_.data())
      nodes_.swap(spare_);

    keys_.clear();
    for (long bucket = 0; bucket < buckets; bucket++)
      if (starts_[bucket] < starts_[bucket + 1]) keys_.push_back(uint32_t(bucket));
    bit_starts_.assign(1, 0);
    for (int level = 0; level < part_bits; level++) climb(parts, part_bits - level);

    std::fill(out, out + parts * (part_bits + 1), Summand<F>::infinity());
    for (int bit = 0; bit < part_bits; bit++)
      for (long part = 0; part < parts; part++) {
        const uint32_t i = bit_starts_[bit * parts + part];
        if (i < bit_starts_[bit * parts + part + 1]) out[part * (part_bits + 1) + bit] = bits_[i];
      }
    for (size_t i = 0; i < keys_.size(); i++) out[keys_[i] * (part_bits + 1) + part_bits] = nodes_[i];
  }

 private:
  // One level of the tree. nodes_[i] is the sum of a bucket keys_[i] of parts of 2^height; list `bit parts + part` of
  // bits_ is what is left to add up for that bit.
  void climb(long parts, int height) {
    const long lists = long(bit_starts_.size()) - 1;
    halve_lists(bit_starts_.data(), lists, bits_.data(), next_bits_.data(), adder_);
    const uint32_t filled = bit_starts_[lists];

    odd_.clear();
    odd_starts_.assign(parts + 1, 0);
    for (uint32_t i = 0; i < keys_.size(); i++) {
      if (!(keys_[i] & 1)) continue;
      odd_.push_back(i);
      odd_starts_[(keys_[i] >> height) + 1]++;
    }
    for (long part = 0; part < parts; part++) odd_starts_[part + 1] += odd_starts_[part];
    const auto odd = [&](uint32_t i) { return &nodes_[odd_[i]]; };
    pair_up(
        odd_starts_.data(), parts, next_bits_.data() + filled,
        [&](uint32_t i, Summand<F>* sum) { adder_.push(odd(i), odd(i + 1), sum, false, false); },
        [&](uint32_t i, Summand<F>* copy) { *copy = *odd(i); });
    for (long part = 1; part <= parts; part++) bit_starts_.push_back(filled + odd_starts_[part]);

    uint32_t count = 0;
    for (uint32_t i = 0; i < keys_.size(); count++) {
      const uint32_t parent = keys_[i] >> 1;
      if (i + 1 < keys_.size() && keys_[i + 1] >> 1 == parent) {
        adder_.push(&nodes_[i], &nodes_[i + 1], &spare_[count], false, false);
        i += 2;
      } else {
        spare_[count] = nodes_[i++];
      }
      keys_[count] = parent;
    }
    keys_.resize(count);
    adder_.flush();
    nodes_.swap(spare_);
    bits_.swap(next_bits_);
  }

  BatchAdder<F, Affine<F>> gather_;
  Conversions<F> conversions_;
  BatchAdder<F, Summand<F>> adder_;
  SecretBuffer<BucketEntry> entries_;
  Buffer<Summand<F>> nodes_, spare_, bits_, next_bits_;
  std::vector<uint32_t> starts_, keys_, bit_starts_, odd_, odd_starts_;
};

}  // namespace zen
