// Sums of what comes before, of 32-bit counts.
#include "zen/operations.hpp"
#include "patterns.hpp"

using namespace zen;

constexpr int run = 16;

extern "C" __global__ void __launch_bounds__(256) sum_shares(const u32* counts, long n, long share, u32* totals) {
  scan_totals<Sum<u32>>(n, share, totals, [=](u32& sum, long i) { sum += counts[i]; });
}

// starts[i] = counts[0] + .. + counts[i - 1], i <= n; both lie at whole lines.
extern "C" __global__ void __launch_bounds__(256)
    scan_shares(const u32* counts, long n, long share, const u32* totals, u32* starts) {
  scan<Sum<u32>, run>(
      n + 1, share, totals,
      [=](long i, long, u32* items) {
        if (i + run <= n) {
          ZEN_UNROLL for (int k = 0; k < run; k += 4) {
            const uint4 four = reinterpret_cast<const uint4*>(counts + i)[k / 4];
            items[k] = four.x, items[k + 1] = four.y, items[k + 2] = four.z, items[k + 3] = four.w;
          }
        } else {
          ZEN_UNROLL for (int k = 0; k < run; k++) items[k] = i + k < n ? counts[i + k] : 0;
        }
      },
      [=](long i, long end, u32 before, const u32* items) {
        if (i + run <= end) {
          ZEN_UNROLL for (int k = 0; k < run; k += 4)
            reinterpret_cast<uint4*>(starts + i)[k / 4] = make_uint4(
                k ? before + items[k - 1] : before, before + items[k], before + items[k + 1], before + items[k + 2]);
        } else {
          ZEN_UNROLL for (int k = 0; k < run; k++)
            if (i + k < end) starts[i + k] = k ? before + items[k - 1] : before;
        }
      });
}
