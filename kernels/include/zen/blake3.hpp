// BLAKE3, keyed (O'Connor, Aumasson, Neves, Wilcox-O'Hearn: BLAKE3, one function, fast everywhere, 2020): many messages
// of one length side by side, one in each lane. CPU only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace zen {

#if defined(__AVX512F__)
inline constexpr int hash_lanes = 16;
#else
inline constexpr int hash_lanes = 4;
#endif

using HashWord = uint32_t __attribute__((vector_size(4 * hash_lanes)));

inline constexpr long hash_bytes = 32, block_bytes = 64, chunk_bytes = 1024;

// What is hashed together with its key: a chaining value of each lane.
struct Chain {
  HashWord v[8];
};

namespace blake3 {

inline constexpr uint32_t initial[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                        0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
inline constexpr uint8_t permutation[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
inline constexpr uint32_t chunk_start = 1, chunk_end = 2, parent = 4, root = 8, keyed = 16;  // flags

inline HashWord rotated(HashWord x, int bits) { return x >> bits | x << (32 - bits); }

inline void mix(HashWord& a, HashWord& b, HashWord& c, HashWord& d, const HashWord& x, const HashWord& y) {
  a += b + x;
  d = rotated(d ^ a, 16);
  c += d;
  b = rotated(b ^ c, 12);
  a += b + y;
  d = rotated(d ^ a, 8);
  c += d;
  b = rotated(b ^ c, 7);
}

// The message words of each round, as places of the block's.
struct Schedule {
  uint8_t at[7][16];
};
inline constexpr Schedule schedule = [] {
  Schedule result{};
  for (int i = 0; i < 16; i++) result.at[0][i] = uint8_t(i);
  for (int round = 1; round < 7; round++)
    for (int i = 0; i < 16; i++) result.at[round][i] = result.at[round - 1][permutation[i]];
  return result;
}();

// chain = the first half of the compression of one block; `counter` is the chunk's number.
inline void compress(Chain& chain, const HashWord (&m)[16], uint64_t counter, uint32_t length, uint32_t flags) {
  HashWord s[16];
  for (int i = 0; i < 8; i++) s[i] = chain.v[i];
  for (int i = 0; i < 4; i++) s[8 + i] = HashWord{} + initial[i];
  s[12] = HashWord{} + uint32_t(counter);
  s[13] = HashWord{} + uint32_t(counter >> 32);
  s[14] = HashWord{} + length;
  s[15] = HashWord{} + flags;
#pragma GCC unroll 7
  for (int round = 0; round < 7; round++) {
    const uint8_t(&at)[16] = schedule.at[round];
    mix(s[0], s[4], s[8], s[12], m[at[0]], m[at[1]]);
    mix(s[1], s[5], s[9], s[13], m[at[2]], m[at[3]]);
    mix(s[2], s[6], s[10], s[14], m[at[4]], m[at[5]]);
    mix(s[3], s[7], s[11], s[15], m[at[6]], m[at[7]]);
    mix(s[0], s[5], s[10], s[15], m[at[8]], m[at[9]]);
    mix(s[1], s[6], s[11], s[12], m[at[10]], m[at[11]]);
    mix(s[2], s[7], s[8], s[13], m[at[12]], m[at[13]]);
    mix(s[3], s[4], s[9], s[14], m[at[14]], m[at[15]]);
  }
  for (int i = 0; i < 8; i++) chain.v[i] = s[i] ^ s[8 + i];
}

}  // namespace blake3

// The same key in every lane.
inline Chain key_of(const uint8_t* key) {
  Chain chain;
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

inline void store_words(const Chain& chain, long count, uint8_t* out) {
  for (int lane = 0; lane < hash_lanes && lane < count; lane++)
    for (int w = 0; w < 8; w++) {
      const uint32_t word = chain.v[w][lane];
      std::memcpy(out + hash_bytes * lane + 4 * w, &word, 4);
    }
}

// The hashes of messages of `length` > 0 bytes, a multiple of 32. read(i, words): words 8 i .. 8 i + 7 of all messages.
template <class Read>
Chain hash(const Chain& key, long length, Read read) {
  using namespace blake3;
  const long chunks = (length + chunk_bytes - 1) / chunk_bytes;
  std::vector<Chain> stack;
  const auto merge = [&](const Chain& right, uint32_t flags) {
    HashWord m[16];
    for (int i = 0; i < 8; i++) m[i] = stack.back().v[i], m[8 + i] = right.v[i];
    stack.pop_back();
    Chain chain = key;
    compress(chain, m, 0, block_bytes, keyed | parent | flags);
    return chain;
  };
  for (long chunk = 0;; chunk++) {
    const long first = chunk * chunk_bytes, bytes = std::min(length - first, chunk_bytes);
    Chain chain = key;
    for (long at = 0; at < bytes; at += block_bytes) {
      const long here = std::min(bytes - at, block_bytes);
      HashWord m[16] = {};
      for (long i = 0; i < here / hash_bytes; i++) read((first + at) / hash_bytes + i, m + 8 * i);
      const uint32_t last = at + here == bytes ? chunk_end | (chunks == 1 ? root : 0) : 0;
      compress(chain, m, uint64_t(chunk), uint32_t(here), keyed | last | (at ? 0 : chunk_start));
    }
    if (chunk + 1 == chunks) {
      while (!stack.empty()) chain = merge(chain, stack.size() == 1 ? root : 0);
      return chain;
    }
    for (long done = chunk + 1; done % 2 == 0; done /= 2) chain = merge(chain, 0);
    stack.push_back(chain);
  }
}

}  // namespace zen
