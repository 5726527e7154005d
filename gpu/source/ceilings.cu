// What the card can do at most, for the roofline of bench.gpu: products and compressions in registers, with no memory to
// wait for.
#include "memory.hpp"
#include "zen/blake3.hpp"
#include "zen/field.hpp"

using namespace zen;

// values[i] = values[i] values[i + 1]^rounds for even i, and so for odd i: two chains that do not wait for each other.
template <class F>
ZEN_FN void multiply_repeatedly(F* values, int rounds) {
  const long i = 2 * thread_index();
  F x = load(values + i), y = load(values + i + 1);
  const F factor = y;
  for (int round = 0; round < rounds; round++) x = x * factor, y = y * factor;
  store(values + i, x), store(values + i + 1, y);
}

extern "C" __global__ void __launch_bounds__(256) fr_products(Fr* values, int rounds) { multiply_repeatedly(values, rounds); }
extern "C" __global__ void __launch_bounds__(256) fp_products(Fp* values, int rounds) { multiply_repeatedly(values, rounds); }
extern "C" __global__ void __launch_bounds__(128) fp2_products(Fp2* values, int rounds) { multiply_repeatedly(values, rounds); }

// chains[i] is compressed with itself for so many rounds.
extern "C" __global__ void __launch_bounds__(128) compressions(Chain<u32>* chains, int rounds) {
  Chain<u32> chain = load(chains + thread_index());
  for (int round = 0; round < rounds; round++) chain = hash_pair(chain, chain, chain);
  store(chains + thread_index(), chain);
}
