// What only Fr needs: integers and powers.
#include "zen/operations.hpp"
#include "patterns.hpp"

using namespace zen;

extern "C" __global__ void from_int64(const long* in, Fr* out, long n) {
  const long i = thread_index();
  if (i >= n) return;
  const u64 magnitude[4] = {in[i] < 0 ? -u64(in[i]) : u64(in[i])};
  const Fr x = Fr::from_words(magnitude).to_montgomery();
  store(out + i, in[i] < 0 ? -x : x);
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
