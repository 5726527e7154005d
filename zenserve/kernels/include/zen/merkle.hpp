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
#elif defined(__AVX2__)
inline constexpr int hash_lanes = 8;
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

using EightWords = uint32_t __attribute__((vector_size(32)));

// rows[i] lane j <-> rows[j] lane i.
ZEN_FN void transpose(EightWords (&rows)[8]) {
  EightWords pairs[8], quads[8];
  ZEN_UNROLL for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  ZEN_UNROLL for (int i = 0; i < 8; i += 4) {
    ZEN_UNROLL for (int k = 0; k < 2; k++) {
      quads[i + 2 * k] = __builtin_shufflevector(pairs[i + k], pairs[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      quads[i + 2 * k + 1] = __builtin_shufflevector(pairs[i + k], pairs[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  ZEN_UNROLL for (int i = 0; i < 4; i++) {
    rows[i] = __builtin_shufflevector(quads[i], quads[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    rows[i + 4] = __builtin_shufflevector(quads[i], quads[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

template <class Word>
ZEN_FN Word side_by_side(const EightWords& first, const EightWords& second) {
  if constexpr (sizeof(Word) == sizeof(EightWords))
    return Word(first);
  else
    return Word(__builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

// words[w] lane l = word w of the 32 bytes at p + l stride; lanes from `count` on repeat the last.
ZEN_FN void load_words(const uint8_t* p, long stride, long count, HashWord* words) {
  const long last = count < hash_lanes ? count - 1 : hash_lanes - 1;
  const auto row = [&](int lane) __attribute__((always_inline)) { return p + stride * (lane < last ? lane : last); };
  if constexpr (hash_lanes < 8) {
    uint32_t rows[hash_lanes][8];
    for (int lane = 0; lane < hash_lanes; lane++) std::memcpy(rows[lane], row(lane), sizeof rows[lane]);
    for (int w = 0; w < 8; w++)
      for (int lane = 0; lane < hash_lanes; lane++) words[w][lane] = rows[lane][w];
  } else {
    EightWords parts[hash_lanes < 8 ? 1 : hash_lanes / 8][8];
    ZEN_UNROLL for (int k = 0; k < hash_lanes / 8; k++) {
      ZEN_UNROLL for (int i = 0; i < 8; i++) std::memcpy(&parts[k][i], row(8 * k + i), sizeof(EightWords));
      transpose(parts[k]);
    }
    ZEN_UNROLL for (int w = 0; w < 8; w++) words[w] = side_by_side<HashWord>(parts[0][w], parts[hash_lanes > 8][w]);
  }
}

// The same of a chain, to 32 bytes for each of `count` lanes.
ZEN_FN void store_words(const Chains& chain, long count, uint8_t* out) {
  if constexpr (hash_lanes < 8) {
    for (int lane = 0; lane < hash_lanes && lane < count; lane++)
      for (int w = 0; w < 8; w++) {
        const uint32_t word = chain.v[w][lane];
        std::memcpy(out + hash_bytes * lane + 4 * w, &word, 4);
      }
  } else {
    ZEN_UNROLL for (int k = 0; k < hash_lanes / 8; k++) {
      EightWords rows[8];
      ZEN_UNROLL for (int w = 0; w < 8; w++)
        std::memcpy(&rows[w], reinterpret_cast<const uint8_t*>(&chain.v[w]) + k * sizeof(EightWords), sizeof(EightWords));
      transpose(rows);
      ZEN_UNROLL for (int i = 0; i < 8; i++)
        if (8 * k + i < count) std::memcpy(out + hash_bytes * (8 * k + i), &rows[i], sizeof(EightWords));
    }
  }
}

inline constexpr long chunk_entries = chunk_bytes / hash_bytes;

// Of each column j < n a message of `length` entries, 32 bytes each: salts[j], if there are salts, then the column's. Rows
// come in slabs, this one with the entries from `first` on, a multiple of 32, and as many of them or up to the end. Salts
// belong to the first. chains[c n + j]: what message j has of the slab's chunk c.
struct Slab {
  const uint8_t *matrix, *salts;
  long n, first, rows, length;

  long entries() const { return rows + (salts ? 1 : 0); }
  long chunks() const { return (entries() + chunk_entries - 1) / chunk_entries; }
};
inline void hash_chunks(const Slab& slab, const uint8_t* key, uint8_t* chains, int threads, const Progress& progress) {
  const Chains start = key_of(key);
  const long n = slab.n, matrix_first = slab.first + slab.entries() - slab.rows;
  parallel_ranges(n, 256, threads, progress, [&](long begin, long end) {
    for (long chunk = 0; chunk < slab.chunks(); chunk++)
      for (long j = begin; j < end; j += hash_lanes) {
        const long count = end - j;
        const auto read = [&](long i, HashWord* words) {
          const uint8_t* row = i < matrix_first ? slab.salts : slab.matrix + hash_bytes * n * (i - matrix_first);
          // Rows are far from each other: what is read of this one for the next columns is not guessed.
          for (long line = 0; line < hash_bytes * hash_lanes; line += 64)
            __builtin_prefetch(row + hash_bytes * (j + hash_lanes) + line, 0, 2);
          load_words(row + hash_bytes * j, hash_bytes, count, words);
        };
        const Chains chain = blake3::hash_chunk(start, hash_bytes * slab.length, slab.first / chunk_entries + chunk, read);
        store_words(chain, count, chains + hash_bytes * (chunk * n + j));
      }
  });
}

// out[32 n]: the hashes of messages by those of all their chunks.
inline void join_chunks(const uint8_t* chains, long chunks, long n, const uint8_t* key, uint8_t* out, int threads) {
  const Chains start = key_of(key);
  parallel_ranges(n, 256, threads, {}, [&](long begin, long end) {
    for (long j = begin; j < end; j += hash_lanes) {
      const long count = end - j;
      const auto chunk = [&](long index) {
        Chains chain;
        load_words(chains + hash_bytes * (index * n + j), hash_bytes, count, chain.v);
        return chain;
      };
      store_words(join(start, chunks, chunk), count, out + hash_bytes * j);
    }
  });
}

// nodes[64 n], n a power of two: the leaves are nodes n .. 2 n - 1, and node i hashes nodes 2 i and 2 i + 1.
inline void fill_tree(uint8_t* nodes, long n, const uint8_t* key, int threads) {
  const Chains start = key_of(key);
  for (long level = n / 2; level; level /= 2)
    parallel_ranges(level, 1 << 11, threads, {}, [&](long begin, long end) {  // to begin threads takes as long as so many
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
