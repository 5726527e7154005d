// Instructions of tensor cores for bits (the products' ones are counted) and for bytes, sums in 32 bits, and for halves of
// floats; and copies to shared memory of which barriers tell. tests/gpu/emulator has them where there is no card.
#pragma once

#include "memory.hpp"

namespace zen {
enum class Numbers { bits, bytes, signed_bytes, mixed_bytes };  // mixed: the right ones have signs
}

#if defined(__CUDACC_RTC__)
namespace zen {

// d += a b of 16 x 32 and 32 x 8 bytes, by a warp: the lane 4 g + t has words t and t + 4 of the rows g and g + 8 of a,
// of the column g of b, and of d the rows g and g + 8 in the columns 2 t and 2 t + 1.
template <Numbers numbers>
ZEN_FN void mma(int (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
#define ZEN_MMA(instruction)                                                      \
  asm(instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"        \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
  if constexpr (numbers == Numbers::bits)
    ZEN_MMA("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc");
  else if constexpr (numbers == Numbers::bytes)
    ZEN_MMA("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32");
  else if constexpr (numbers == Numbers::signed_bytes)
    ZEN_MMA("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32");
  else
    ZEN_MMA("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32");
#undef ZEN_MMA
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ZEN_WARPGROUPS
ZEN_FN u32 shared_address(const void* at) { return u32(__cvta_generic_to_shared(at)); }

// A barrier's phase ends with so many arrivals, and with all bytes that are expected.
ZEN_FN void begin_barrier(u64* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
ZEN_FN void publish_barriers() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
ZEN_FN void arrive(u64* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
ZEN_FN void expect_bytes(u64* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
// Returns when the phase of this parity has ended.
ZEN_FN void await_barrier(u64* barrier, int parity) {
  asm volatile(
      "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra again; }" ::"r"(
          shared_address(barrier)),
      "r"(parity)
      : "memory");
}
// From memory to shared memory; nobody waits but at the barrier.
ZEN_FN void copy_behind(void* to, const void* from, int bytes, u64* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// Rows of 128 bytes in shared memory whose 16 bytes c are where c ^ (row mod 8) would be; eight rows begin `stride` bytes
// behind the eight before them.
ZEN_FN u64 rows_of_128(const void* first, int stride = 1024) {
  return u64(shared_address(first) & 0x3ffff) >> 4 | 1ull << 16 | u64(stride / 16) << 32 | 1ull << 62;
}
// 8 rows of 16 bytes follow each other; the next 16 bytes of rows begin `across` behind, the next 8 rows `down`.
ZEN_FN u64 cells(const void* first, int across, int down) {
  return u64(shared_address(first) & 0x3ffff) >> 4 | u64(across / 16) << 16 | u64(down / 16) << 32;
}
// 16 bytes from memory, or zeros, of which all threads know after `await_quads` and their next barrier.
ZEN_FN void copy_quad(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
}
// What was written to shared memory is for tensor cores, too.
ZEN_FN void await_quads() { asm volatile("cp.async.wait_all; fence.proxy.async.shared::cta;" ::: "memory"); }
ZEN_FN void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
ZEN_FN void close_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// All groups but the last so many are made.
template <int groups = 0>
ZEN_FN void await_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory"); }
// Whoever reads d does so after this: the compiler knows of no other reason to wait.
template <int count>
ZEN_FN void settle(int (&d)[count]) {
  ZEN_UNROLL for (int i = 0; i < count; i++) asm volatile("" : "+r"(d[i])::"memory");
}
template <int count>
ZEN_FN void settle(float (&d)[count]) {
  ZEN_UNROLL for (int i = 0; i < count; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// d += a b of 64 x 32 and 32 x 2 `count` bytes, by four warps, warp w the rows from 16 w on: as above, each eight columns
// four d.
template <Numbers numbers, int count>
ZEN_FN void wgmma(int (&d)[count], u64 a, u64 b) {
  static_assert(count == 16 || count == 32 || count == 64 || count == 128);
#define ZEN_NAMES_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define ZEN_NAMES_1 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ZEN_NAMES_2 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define ZEN_NAMES_3 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ZEN_NAMES_4 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define ZEN_NAMES_5 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define ZEN_NAMES_6 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define ZEN_NAMES_7 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define ZEN_SUMS(i)                                                                                                       \
  "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]),             \
      "+r"(d[i + 7]), "+r"(d[i + 8]), "+r"(d[i + 9]), "+r"(d[i + 10]), "+r"(d[i + 11]), "+r"(d[i + 12]), "+r"(d[i + 13]), \
      "+r"(d[i + 14]), "+r"(d[i + 15])
#define ZEN_WGMMA(columns, kind, names, operands, ...) \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" columns kind " {" names "}, " operands ", 1;" : __VA_ARGS__ : "l"(a), "l"(b))
#define ZEN_WGMMA_OF(kind)                                                                                          \
  if constexpr (count == 16)                                                                                        \
    ZEN_WGMMA("32", kind, ZEN_NAMES_0, "%16, %17", ZEN_SUMS(0));                                                    \
  else if constexpr (count == 32)                                                                                   \
    ZEN_WGMMA("64", kind, ZEN_NAMES_0 ", " ZEN_NAMES_1, "%32, %33", ZEN_SUMS(0), ZEN_SUMS(16));                     \
  else if constexpr (count == 64)                                                                                   \
    ZEN_WGMMA("128", kind, ZEN_NAMES_0 ", " ZEN_NAMES_1 ", " ZEN_NAMES_2 ", " ZEN_NAMES_3, "%64, %65", ZEN_SUMS(0), \
              ZEN_SUMS(16), ZEN_SUMS(32), ZEN_SUMS(48));                                                            \
  else                                                                                                              \
    ZEN_WGMMA("256", kind,                                                                                          \
              ZEN_NAMES_0 ", " ZEN_NAMES_1 ", " ZEN_NAMES_2 ", " ZEN_NAMES_3 ", " ZEN_NAMES_4 ", " ZEN_NAMES_5      \
                          ", " ZEN_NAMES_6 ", " ZEN_NAMES_7,                                                        \
              "%128, %129", ZEN_SUMS(0), ZEN_SUMS(16), ZEN_SUMS(32), ZEN_SUMS(48), ZEN_SUMS(64), ZEN_SUMS(80),      \
              ZEN_SUMS(96), ZEN_SUMS(112))
  if constexpr (numbers == Numbers::bits) {
    ZEN_WGMMA_OF("k256.s32.b1.b1.and.popc");
  } else if constexpr (numbers == Numbers::bytes) {
    ZEN_WGMMA_OF("k32.s32.u8.u8");
  } else if constexpr (numbers == Numbers::signed_bytes) {
    ZEN_WGMMA_OF("k32.s32.s8.s8");
  } else {
    ZEN_WGMMA_OF("k32.s32.u8.s8");
  }
#undef ZEN_WGMMA_OF
#undef ZEN_WGMMA
#undef ZEN_SUMS
#undef ZEN_NAMES_0
#undef ZEN_NAMES_1
#undef ZEN_NAMES_2
#undef ZEN_NAMES_3
#undef ZEN_NAMES_4
#undef ZEN_NAMES_5
#undef ZEN_NAMES_6
#undef ZEN_NAMES_7
}

// d = a b, or d += a b, of 64 x 16 and 16 x 128 halves of floats: as above.
ZEN_FN void wgmma_halves(float (&d)[64], u64 a, u64 b, bool add) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, add, 1, 1, 0, 0; }"
      :
        "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b), "r"(int(add)));
}
#endif

// At most `most`, and at least zero.
ZEN_FN int clipped(int x, int most) { return __vimin_s32_relu(x, most); }

// A float's nearest half, and back.
ZEN_FN unsigned short half_of(float x) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
  return half;
}
ZEN_FN float float_of(unsigned short half) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half));
  return x;
}

}  // namespace zen
#else
#include "emulated_tensor.hpp"
#endif
