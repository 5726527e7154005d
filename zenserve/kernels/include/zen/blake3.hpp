// BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn: BLAKE3, one function, fast everywhere, 2020) of messages of whole
// elements, over words that are 32 bits or vectors of them, with a message in each lane.
#pragma once

#include "target.hpp"

namespace zen {

inline constexpr long hash_bytes = 32, block_bytes = 64, chunk_bytes = 1024;

// A chaining value, or a key.
template <class Word>
struct Chain {
  Word v[8];
};

namespace blake3 {

inline constexpr u32 chunk_start = 1, chunk_end = 2, parent = 4, root = 8, keyed = 16, key_context = 32, key_material = 64;
inline constexpr int deepest = 20;  // of trees: messages below a gigabyte

template <class Word>
ZEN_FN Word rotated(const Word& x, int bits) {
#if defined(__AVX2__) && !defined(__AVX512VL__)  // no rotations, but bytes can change places
  if constexpr (sizeof(Word) == 32) {
    using Bytes = unsigned char __attribute__((vector_size(32)));
    if (bits == 16)
      return Word(__builtin_shufflevector(Bytes(x), Bytes(x), 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 18, 19, 16, 17,
                                          22, 23, 20, 21, 26, 27, 24, 25, 30, 31, 28, 29));
    if (bits == 8)
      return Word(__builtin_shufflevector(Bytes(x), Bytes(x), 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 17, 18, 19, 16,
                                          21, 22, 23, 20, 25, 26, 27, 24, 29, 30, 31, 28));
  }
#endif
  return x >> bits | x << (32 - bits);
}

template <class Word>
ZEN_FN void mix(Word& a, Word& b, Word& c, Word& d, const Word& x, const Word& y) {
  a += b + x;
  d = rotated(Word(d ^ a), 16);
  c += d;
  b = rotated(Word(b ^ c), 12);
  a += b + y;
  d = rotated(Word(d ^ a), 8);
  c += d;
  b = rotated(Word(b ^ c), 7);
}

// The message words of each round, as places of the block's.
struct Schedule {
  unsigned char at[7][16];
};
constexpr Schedule make_schedule() {
  constexpr unsigned char permutation[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  Schedule result{};
  for (int i = 0; i < 16; i++) result.at[0][i] = (unsigned char)(i);
  for (int round = 1; round < 7; round++)
    for (int i = 0; i < 16; i++) result.at[round][i] = result.at[round - 1][permutation[i]];
  return result;
}

constexpr u32 initial(int i) {
  constexpr u32 words[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
  return words[i];
}

// The rounds over one block; `counter` is the chunk's number, or that of a block of a root's output.
template <class Word>
ZEN_FN void run_rounds(Word (&s)[16], const Chain<Word>& chain, const Word (&m)[16], u64 counter, u32 length, u32 flags) {
  constexpr Schedule schedule = make_schedule();
  ZEN_UNROLL for (int i = 0; i < 8; i++) s[i] = chain.v[i];
  ZEN_UNROLL for (int i = 0; i < 4; i++) s[8 + i] = Word{} + initial(i);
  s[12] = Word{} + u32(counter);
  s[13] = Word{} + u32(counter >> 32);
  s[14] = Word{} + length;
  s[15] = Word{} + flags;
  ZEN_UNROLL for (int round = 0; round < 7; round++) {
    const auto word = [&](int i) -> const Word& { return m[schedule.at[round][i]]; };
    mix(s[0], s[4], s[8], s[12], word(0), word(1));
    mix(s[1], s[5], s[9], s[13], word(2), word(3));
    mix(s[2], s[6], s[10], s[14], word(4), word(5));
    mix(s[3], s[7], s[11], s[15], word(6), word(7));
    mix(s[0], s[5], s[10], s[15], word(8), word(9));
    mix(s[1], s[6], s[11], s[12], word(10), word(11));
    mix(s[2], s[7], s[8], s[13], word(12), word(13));
    mix(s[3], s[4], s[9], s[14], word(14), word(15));
  }
}

// chain = the first half of the compression of one block.
template <class Word>
ZEN_FN void compress(Chain<Word>& chain, const Word (&m)[16], u64 counter, u32 length, u32 flags) {
  Word s[16];
  run_rounds(s, chain, m, counter, length, flags);
  ZEN_UNROLL for (int i = 0; i < 8; i++) chain.v[i] = s[i] ^ s[8 + i];
}

// Chunk `index` of a message of `length` bytes, a multiple of 32; read(i, words): words 8 i .. 8 i + 7 of the message.
template <class Word, class Read>
ZEN_FN Chain<Word> hash_chunk(const Chain<Word>& key, long length, long index, Read read) {
  const long first = index * chunk_bytes, bytes = length - first < chunk_bytes ? length - first : chunk_bytes;
  Chain<Word> chain = key;
  for (long at = 0; at < bytes; at += block_bytes) {
    const long here = bytes - at < block_bytes ? bytes - at : block_bytes;
    Word m[16];
    read((first + at) / hash_bytes, m);
    if (here > hash_bytes) {
      read((first + at) / hash_bytes + 1, m + 8);
    } else {
      ZEN_UNROLL for (int i = 8; i < 16; i++) m[i] = Word{};
    }
    const u32 last = at + here == bytes ? chunk_end | (length <= chunk_bytes ? root : 0) : 0;
    compress(chain, m, u64(index), u32(here), keyed | last | (at ? 0 : chunk_start));
  }
  return chain;
}

template <class Word>
ZEN_FN Chain<Word> merge(const Chain<Word>& key, const Chain<Word>& left, const Chain<Word>& right, u32 flags) {
  Word m[16];
  ZEN_UNROLL for (int i = 0; i < 8; i++) m[i] = left.v[i], m[8 + i] = right.v[i];
  Chain<Word> chain = key;
  compress(chain, m, 0, block_bytes, flags);
  return chain;
}

// The first block of what is derived, by a context's key, from a message of `bytes`, a chunk at most: words, with zeros
// up to a whole block.
template <class Word>
void derive(const Chain<Word>& key, const Word* message, int bytes, Chain<Word>& low, Chain<Word>& high) {
  low = key;
  for (int at = 0; at < bytes; at += int(block_bytes)) {
    const int here = bytes - at < int(block_bytes) ? bytes - at : int(block_bytes);
    const u32 last = at + here == bytes ? chunk_end | root : 0, first = at ? 0 : chunk_start;
    Word m[16], s[16];
    for (int i = 0; i < 16; i++) m[i] = message[at / 4 + i];
    const Chain<Word> chain = low;
    run_rounds(s, chain, m, 0, u32(here), key_material | first | last);
    for (int i = 0; i < 8; i++) low.v[i] = s[i] ^ s[8 + i], high.v[i] = s[8 + i] ^ chain.v[i];
  }
}

}  // namespace blake3

// The hash of a message of several chunks, or of one: chunk(index) is the chunk's, with the last flags if it is alone.
template <class Word, class Chunk>
ZEN_FN Chain<Word> join(const Chain<Word>& key, long chunks, Chunk chunk) {
  using namespace blake3;
  Chain<Word> stack[deepest];
  int depth = 0;
  for (long index = 0;; index++) {
    Chain<Word> chain = chunk(index);
    if (index + 1 == chunks) {
      while (depth) {
        depth--;
        chain = merge(key, stack[depth], chain, keyed | parent | (depth ? 0 : root));
      }
      return chain;
    }
    for (long done = index + 1; done % 2 == 0; done /= 2) chain = merge(key, stack[--depth], chain, keyed | parent);
    stack[depth++] = chain;
  }
}

// The hashes, with a key, of messages of `length` > 0 bytes.
template <class Word, class Read>
ZEN_FN Chain<Word> hash(const Chain<Word>& key, long length, Read read) {
  const long chunks = (length + chunk_bytes - 1) / chunk_bytes;
  return join(key, chunks, [&](long index) { return blake3::hash_chunk(key, length, index, read); });
}

// A node of a Merkle tree: the hash of two others.
template <class Word>
ZEN_FN Chain<Word> hash_pair(const Chain<Word>& key, const Chain<Word>& left, const Chain<Word>& right) {
  return blake3::merge(key, left, right, blake3::keyed | blake3::chunk_start | blake3::chunk_end | blake3::root);
}

}  // namespace zen
