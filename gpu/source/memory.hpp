// Elements move between memory and registers 16 bytes at a time.
#pragma once

#include "zen/target.hpp"

namespace zen {

constexpr u32 whole_warp = 0xffffffff;  // the mask of shuffles and votes

// What can be moved so: T has 16 n bytes and is made of limbs.
template <class T>
ZEN_FN T load(const T* from) {
  static_assert(sizeof(T) % 16 == 0);
  union {
    uint4 quads[sizeof(T) / 16];
    T value;
  } r;
  ZEN_UNROLL for (int i = 0; i < int(sizeof(T) / 16); i++) r.quads[i] = reinterpret_cast<const uint4*>(from)[i];
  return r.value;
}

template <class T>
ZEN_FN void store(T* to, const T& value) {
  ZEN_UNROLL for (int i = 0; i < int(sizeof(T) / 16); i++) {
    const limb* v = reinterpret_cast<const limb*>(&value) + 4 * i;
    reinterpret_cast<uint4*>(to)[i] = make_uint4(v[0], v[1], v[2], v[3]);
  }
}

// The same where an element's 16 bytes lie `stride` apart, so that neighbouring threads read and write neighbours.
template <class T>
ZEN_FN T load_apart(const uint4* from, long stride) {
  union {
    uint4 quads[sizeof(T) / 16];
    T value;
  } r;
  ZEN_UNROLL for (int i = 0; i < int(sizeof(T) / 16); i++) r.quads[i] = from[i * stride];
  return r.value;
}

template <class T>
ZEN_FN void store_apart(uint4* to, long stride, const T& value) {
  ZEN_UNROLL for (int i = 0; i < int(sizeof(T) / 16); i++) {
    const limb* v = reinterpret_cast<const limb*>(&value) + 4 * i;
    to[i * stride] = make_uint4(v[0], v[1], v[2], v[3]);
  }
}

// The lowest bits of an index, at most 32 of them, the other way round.
ZEN_FN long reversed_bits(long index, int bits) { return bits ? long(__brev(unsigned(index)) >> (32 - bits)) : 0; }

ZEN_FN long thread_index() { return long(blockIdx.x) * blockDim.x + threadIdx.x; }

// The block's dynamic shared memory.
template <class T>
ZEN_FN T* shared_memory() {
#if defined(__CUDACC_RTC__)
  extern __shared__ uint4 zen_shared[];
  return reinterpret_cast<T*>(zen_shared);
#else
  return reinterpret_cast<T*>(zen_emulator_shared);
#endif
}

}  // namespace zen
