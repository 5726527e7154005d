// Hashes of a matrix's columns, and the binary tree over them. CPU only.
#pragma once

#include "blake3.hpp"
#include "parallel.hpp"

namespace zen {

// out[32 n]: of each column j < n the hash of salts[j], if there are salts, then of its entries, 32 bytes each.
// matrix: `rows` rows of n entries. rows > 0.
inline void hash_columns(const uint8_t* matrix, long rows, long n, const uint8_t* salts, const uint8_t* key,
                         uint8_t* out, int threads, const Progress& progress) {
  const Chain start = key_of(key);
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
  const Chain start = key_of(key);
  for (long level = n / 2; level; level /= 2)
    parallel_ranges(level, 256, threads, {}, [&](long begin, long end) {
      for (long i = begin; i < end; i += hash_lanes) {
        const long count = end - i;
        const uint8_t* children = nodes + 2 * hash_bytes * (level + i);
        const auto read = [&](long half, HashWord* words) {
          load_words(children + hash_bytes * half, 2 * hash_bytes, count, words);
        };
        store_words(hash(start, 2 * hash_bytes, read), count, nodes + hash_bytes * (level + i));
      }
    });
}

}  // namespace zen
