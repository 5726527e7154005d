// Hashes of a matrix's columns, and the binary tree over them: as many messages side by side as vectors have lanes. CPU
// only.
#pragma once

#include <cstdint>
#include <cstring>

#include "blake3.hpp"
#include "parallel.hpp"

namespace zen {

#if defined(__AVX512F__)
inline constexpr int hash_lanes = 16;
#else
inline constexpr int hash_lanes = 4;
#endif

using HashWord = uint32_t __attribute__((vector_size(4 * hash_lanes)));
using Chains = Chain<HashWord>;

// The same key in every lane.
inline Chains key_of(const uint8_t* key) {
  Chains chain;
  for (int i = 0; i < 8; i++) {
    uint32_t word;
    std::memcpy(&word, key + 4 * i, 4);
    chain.v[i] = HashWord{} + word;
  }
  return chain;
}

// words[w] lane l = word w of the 32 bytes at p + l stride; lanes from `count` on repeat the last.
inline void load_words(const uint8_t* p, long stride, long count, HashWord* words) {
  uint32_t rows[hash_lanes][8];
  for (int lane = 0; lane < hash_lanes; lane++)
    std::memcpy(rows[lane], p + stride * (lane < count ? lane : count - 1), sizeof rows[lane]);
  for (int w = 0; w < 8; w++)
    for (int lane = 0; lane < hash_lanes; lane++) words[w][lane] = rows[lane][w];
}

inline void store_words(const Chains& chain, long count, uint8_t* out) {
  for (int lane = 0; lane < hash_lanes && lane < count; lane++)
    for (int w = 0; w < 8; w++) {
      const uint32_t word = chain.v[w][lane];
      std::memcpy(out + hash_bytes * lane + 4 * w, &word, 4);
    }
}

// out[32 n]: of each column j < n the hash of salts[j], if there are salts, then of its entries, 32 bytes each.
// matrix: `rows` rows of n entries. rows > 0.
inline void hash_columns(const uint8_t* matrix, long rows, long n, const uint8_t* salts, const uint8_t* key,
                         uint8_t* out, int threads, const Progress& progress) {
  const Chains start = key_of(key);
  const long salted = salts ? 1 : 0;
  parallel_ranges(n, 64, threads, progress, [&](long begin, long end) {
    for (long j = begin; j < end; j += hash_lanes) {
      const long count = end - j;
      const auto read = [&](long i, HashWord* words) {
        const uint8_t* row = i < salted ? salts : matrix + hash_bytes * n * (i - salted);
        load_words(row + hash_bytes * j, hash_bytes, count, words);
      };
      store_words(hash(start, hash_bytes * (rows + salted), read), count, out + hash_bytes * j);
    }
  });
}

// nodes[64 n], n a power of two: the leaves are nodes n .. 2 n - 1, and node i hashes nodes 2 i and 2 i + 1.
inline void fill_tree(uint8_t* nodes, long n, const uint8_t* key, int threads) {
  const Chains start = key_of(key);
  for (long level = n / 2; level; level /= 2)
    parallel_ranges(level, 256, threads, {}, [&](long begin, long end) {
      for (long i = begin; i < end; i += hash_lanes) {
        const long count = end - i;
        const uint8_t* children = nodes + 2 * hash_bytes * (level + i);
        Chains left, right;
        load_words(children, 2 * hash_bytes, count, left.v);
        load_words(children + hash_bytes, 2 * hash_bytes, count, right.v);
        store_words(hash_pair(start, left, right), count, nodes + hash_bytes * (level + i));
      }
    });
}

}  // namespace zen
