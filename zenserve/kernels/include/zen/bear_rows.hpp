// Rows of small integers, or of words, times weights of the extension: rows combined, and inner products with each row. Whole
// products are added up in 64 bits. CPU only.
#pragma once

#include <type_traits>

#include "bear5.hpp"
#include "parallel.hpp"
#include "secret.hpp"

namespace zen::bear {

// Entries are int8_t or int16_t, or uint32_t, which are words below p.
template <class Entry>
inline constexpr bool is_small = std::is_signed_v<Entry>;
// So many products of small entries with words are below 2^60; sums of others are settled.
template <class Entry>
inline constexpr long most_terms = 1l << (is_small<Entry> ? 30 - 8 * int(sizeof(Entry)) : 40);

template <class Entry>
ZEN_FN void add_products(Wide& sum, Wide entries, Wide factor) {
  if constexpr (is_small<Entry>)
    sum += signed_products(entries, factor);
  else
    sum = settled(sum + even_products(Lanes(entries), Lanes(factor)));
}

// Sums of `add_products` modulo p, those of `even` in the even lanes.
template <class Entry>
ZEN_FN Lanes totals(Wide even, Wide odd) {
  constexpr uint64_t offset = is_small<Entry> ? uint64_t(modulus) << 30 : 0;  // a multiple of p: no sum is negative
  return mul(reduced(even + offset, odd + offset), all_lanes(square_of_r));
}

// `lane_count` / 2 entries, zeros from `count` on.
template <class Entry>
ZEN_FN Wide widened(const Entry* p, long count) {
  constexpr int half = lane_count / 2;
  if (count >= half) return widened(p);
  Entry part[half] = {};
  std::memcpy(part, p, size_t(count) * sizeof(Entry));
  return widened(part);
}

inline constexpr long column_tile = 512, row_tile = 8;

// out[5, n] = sum_i weights_i rows[i, :], `weights` in planes [5, count]. A row begins every `stride` entries.
template <class Entry>
void combine_rows(const Entry* rows, long count, long n, long stride, const uint32_t* weights, uint32_t* out, int threads) {
  constexpr long half = lane_count / 2;
  parallel_ranges(n, column_tile, threads, {}, [&](long begin, long end) {
    const long width = end - begin, groups = (width + lane_count - 1) / lane_count;
    SecretBuffer<Wide> sums(2 * degree * groups);
    for (long k = 0; k < degree; k++) std::memset(out + k * n + begin, 0, size_t(width) * 4);
    for (long start = 0; start < count; start += most_terms<Entry>) {
      const long stop = count - start < most_terms<Entry> ? count : start + most_terms<Entry>;
      for (long i = 0; i < 2 * degree * groups; i++) sums[i] = Wide{};
      for (long i = start; i < stop; i += row_tile) {
        const long last = stop - i < row_tile ? stop : i + row_tile;
        for (long g = 0; g < groups; g++) {
          Wide first[degree], second[degree];
          ZEN_UNROLL for (int k = 0; k < degree; k++) first[k] = sums[2 * (degree * g + k)], second[k] = sums[2 * (degree * g + k) + 1];
          const long left = width - g * lane_count;
          for (long row = i; row < last; row++) {
            const Entry* const from = rows + row * stride + begin + g * lane_count;
            const Wide low = widened(from, left), high = left > half ? widened(from + half, left - half) : Wide{};
            ZEN_UNROLL for (int k = 0; k < degree; k++) {
              const Wide factor = all_wide(weights[k * count + row]);
              add_products<Entry>(first[k], low, factor);
              add_products<Entry>(second[k], high, factor);
            }
          }
          ZEN_UNROLL for (int k = 0; k < degree; k++) sums[2 * (degree * g + k)] = first[k], sums[2 * (degree * g + k) + 1] = second[k];
        }
      }
      for (long g = 0; g < groups; g++)
        for (int k = 0; k < degree; k++) {
          const Lanes mixed = totals<Entry>(sums[2 * (degree * g + k)], sums[2 * (degree * g + k) + 1]);
          Lanes ordered{};
          for (int lane = 0; lane < half; lane++) ordered[lane] = mixed[2 * lane], ordered[half + lane] = mixed[2 * lane + 1];
          const int here = int(width - g * lane_count < lane_count ? width - g * lane_count : lane_count);
          uint32_t* const to = out + k * n + begin + g * lane_count;
          store(to, add(load(to, here), ordered), here);
        }
    }
  });
}

// out[5, count]: the inner products of each row's n entries with `weights`, planes [5, n]. A row begins every `stride` entries.
template <class Entry>
void row_products(const Entry* rows, long count, long n, long stride, const uint32_t* weights, uint32_t* out, int threads) {
  constexpr long half = lane_count / 2;
  constexpr long most = most_terms<Entry> * half < (1l << 20) ? most_terms<Entry> * half : 1l << 20;
  parallel_ranges(count, 2, threads, {}, [&](long begin, long end) {
    const Entry *const first = rows + begin * stride, *const second = rows + (end - 1) * stride;  // one row, or two
    Lanes result[degree] = {};
    for (long start = 0; start < n; start += most) {
      const long stop = n - start < most ? n : start + most;
      Wide sums[2][degree] = {};
      for (long j = start; j < stop; j += half) {
        const Wide low = widened(first + j, stop - j), high = widened(second + j, stop - j);
        ZEN_UNROLL for (int k = 0; k < degree; k++) {
          const Wide factor = widened(weights + k * n + j, stop - j);
          add_products<Entry>(sums[0][k], low, factor);
          add_products<Entry>(sums[1][k], high, factor);
        }
      }
      for (int k = 0; k < degree; k++) result[k] = add(result[k], totals<Entry>(sums[0][k], sums[1][k]));
    }
    for (int k = 0; k < degree; k++) {
      uint64_t both[2] = {};
      for (int lane = 0; lane < lane_count; lane++) both[lane % 2] += result[k][lane];
      for (long row = begin; row < end; row++) out[k * count + row] = uint32_t(both[row - begin] % modulus);
    }
  });
}

}  // namespace zen::bear
