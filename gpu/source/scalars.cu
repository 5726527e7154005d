// What only Fr needs: integers and powers.
#include "zen/operations.hpp"
#include "patterns.hpp"
#include "scalars.hpp"

using namespace zen;

extern "C" {

__global__ void from_int64(const long* in, Fr* out, long n) {
  const long i = thread_index();
  if (i < n) store(out + i, scalar_of(in[i]));
}

__global__ void place_int64(const long* in, const u32* places, long n, Fr* out) {
  const long i = thread_index();
  if (i < n) store(out + places[i], scalar_of(in[i]));
}

__global__ void take_int64(const Fr* in, const u32* places, long n, long* out) {
  const long i = thread_index();
  if (i < n) out[i] = integer_of(load(in + places[i]));
}

// out[i] += factors[stride i] in[i]
__global__ void add_int64(const long* in, const long* factors, long stride, long n, Fr* out) {
  const long i = thread_index();
  if (i < n) store(out + i, load(out + i) + scalar_of(long(u64(factors[stride * i]) * u64(in[i]))));
}

__global__ void place(const Fr* in, const u32* places, long n, Fr* out) {
  const long i = thread_index();
  if (i < n) store(out + places[i], load(in + i));
}

__global__ void differ(const uint4* a, const uint4* b, long n, u32* found) {
  const long i = thread_index();
  if (i < n && (a[i].x != b[i].x || a[i].y != b[i].y || a[i].z != b[i].z || a[i].w != b[i].w)) *found = 1;
}

}

// out[i] = first ratio^i, for i = t, t + 2^bits, .. in thread t < 2^bits: squaring makes both ratio^t and the ratio of
// neighbours.
extern "C" __global__ void __launch_bounds__(256) powers(const Fr* first, const Fr* ratio, Fr* out, long n, int bits) {
  const long begin = thread_index();
  Fr power = load(first), step = load(ratio);
  for (int bit = 0; bit < bits; bit++) {
    if (begin >> bit & 1) power = power * step;
    step = step.square();
  }
  for (long i = begin; i < n; i += 1l << bits) {
    store(out + i, power);
    power = power * step;
  }
}
