// gpu/source/tensor.hpp on a CPU: what tensor cores make of registers and of shared memory.
#pragma once

#define ZEN_WARPGROUPS

namespace zen {

template <Numbers numbers>
static int tensor_dot(u32 a, u32 b) {
  if (numbers == Numbers::bits) return __popc(a & b);
  const auto byte = [](u32 word, int i, int sign) { return (int(word >> i & 255) ^ sign) - sign; };
  const int left = numbers == Numbers::signed_bytes ? 128 : 0, right = numbers == Numbers::bytes ? 0 : 128;
  int sum = 0;
  for (int i = 0; i < 32; i += 8) sum += byte(a, i, left) * byte(b, i, right);
  return sum;
}

template <Numbers numbers>
static void mma(int (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  const int lane = int(threadIdx.x % 32), g = lane / 4, t = lane % 4;
  const u32 a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
  for (int k = 0; k < 4; k++)
    for (int half = 0; half < 2; half++) {
      const u32 upper = __shfl_sync(whole_warp, a[2 * half], 4 * g + k);
      const u32 lower = __shfl_sync(whole_warp, a[2 * half + 1], 4 * g + k);
      for (int column = 0; column < 2; column++) {
        const u32 other = __shfl_sync(whole_warp, b[half], 4 * (2 * t + column) + k);
        d[column] += tensor_dot<numbers>(upper, other), d[2 + column] += tensor_dot<numbers>(lower, other);
      }
    }
}

// Arrivals that end a phase, those still to come, and the phases that have ended. Bytes are there at once.
struct PhaseBarrier {
  unsigned short arrivals, pending;
  u32 phases;
};
static PhaseBarrier& barrier_at(u64* place) { return *reinterpret_cast<PhaseBarrier*>(place); }
static void begin_barrier(u64* place, int arrivals) {
  const auto count = static_cast<unsigned short>(arrivals);
  barrier_at(place) = {count, count, 0};
}
static void publish_barriers() {}
static void arrive(u64* place) {
  PhaseBarrier& barrier = barrier_at(place);
  if (--barrier.pending) return;
  barrier.pending = barrier.arrivals, barrier.phases++;
}
static void expect_bytes(u64* place, int) { arrive(place); }
static void await_barrier(u64* place, int parity) {
  zen_emulator::spin_until([=] { return int(barrier_at(place).phases & 1) != parity; });
}
static void copy_behind(void* to, const void* from, int bytes, u64*) {
  std::memcpy(to, from, size_t(bytes));
}

static u64 address_of(const void* first) { return u64(static_cast<const unsigned char*>(first) - zen_emulator_shared) >> 4; }
static u64 rows_of_128(const void* first, int stride = 1024) { return address_of(first) | u64(stride / 16) << 32 | 1ull << 62; }
static u64 cells(const void* first, int across, int down) {
  return address_of(first) | u64(across / 16) << 16 | u64(down / 16) << 32;
}
static void copy_quad(void* to, const void* from, bool there) {
  if (there)
    std::memcpy(to, from, 16);
  else
    std::memset(to, 0, 16);
}
static void await_quads() {}
static void begin_products() {}
static void close_products() {}
template <int = 0>
static void await_products() {
  __syncwarp();
}
template <class Sums>
static void settle(Sums&) {}

// The word at so many bytes of a row.
static u32 word_of(u64 matrix, int row, int byte) {
  const u64 first = (matrix & 0x3fff) << 4, down = (matrix >> 32 & 0x3fff) << 4, across = (matrix >> 16 & 0x3fff) << 4;
  u64 at = first + u64(row) / 8 * down;
  if (matrix >> 62) {
    at += u64(row) % 8 * 128 + u64(byte);
    at ^= (at >> 7 & 7) << 4;
  } else {
    at += u64(row) % 8 * 16 + u64(byte) / 16 * across + u64(byte) % 16;
  }
  u32 word;
  std::memcpy(&word, zen_emulator_shared + at, 4);
  return word;
}

template <Numbers numbers, int count>
static void wgmma(int (&d)[count], u64 a, u64 b) {
  const int thread = int(threadIdx.x % 128), g = thread % 32 / 4, t = thread % 4;
  for (int i = 0; i < count; i++) {
    const int row = thread / 32 * 16 + g + i / 2 % 2 * 8, column = i / 4 * 8 + 2 * t + i % 2;
    for (int byte = 0; byte < 32; byte += 4) d[i] += tensor_dot<numbers>(word_of(a, row, byte), word_of(b, column, byte));
  }
}

static int clipped(int x, int most) { return x < 0 ? 0 : x > most ? most : x; }

static unsigned short half_of(float x) { return __builtin_bit_cast(unsigned short, static_cast<_Float16>(x)); }
static float float_of(unsigned short half) { return __builtin_bit_cast(_Float16, half); }

static void wgmma_halves(float (&d)[64], u64 a, u64 b, bool add) {
  const int thread = int(threadIdx.x % 128), g = thread % 32 / 4, t = thread % 4;
  for (int i = 0; i < 64; i++) {
    const int row = thread / 32 * 16 + g + i / 2 % 2 * 8, column = i / 4 * 8 + 2 * t + i % 2;
    float sum = add ? d[i] : 0;
    for (int byte = 0; byte < 32; byte += 4) {
      const u32 x = word_of(a, row, byte), y = word_of(b, column, byte);
      for (int bit = 0; bit < 32; bit += 16)
        sum += float_of(static_cast<unsigned short>(x >> bit)) * float_of(static_cast<unsigned short>(y >> bit));
    }
    d[i] = sum;
  }
}

}  // namespace zen
