// Products for benchmarks: as fast as the target multiplies where products do not wait for each other.
#pragma once

#include <algorithm>
#include <vector>

#include "field.hpp"
#if defined(ZEN_LANES) || defined(__AVX2__)
#include "lane_fp.hpp"
#endif

namespace zen {

// values[k] *= factor, `rounds` times, for k < n; n is a multiple of eight.
template <class P>
void multiply_repeatedly(Prime<P>* values, long n, const Prime<P>& factor, long rounds) {
  for (long i = 0; i < rounds; i++)
    for (long k = 0; k < n; k++) values[k] = values[k] * factor;
}

#if defined(ZEN_LANES)
template <class P>
void multiply_lanes_repeatedly(Prime<P>* values, long n, const Prime<P>& factor, long rounds) {
  using Lane = LanePrime<P>;
  const auto load = [](const Prime<P>* p, int step) {
    Lanes words[P::words] = {};
    for (int i = 0; i < P::words; i++)
      for (int lane = 0; lane < lane_count; lane++) words[i][lane] = p[step * lane].v[i];
    return Lane::from_words(words);
  };
  Prime<P> scaled = factor;  // by R'/R, so that products of what is loaded keep its scale
  for (int i = 64 * P::words; i < digit_bits * Lane::digits; i++) scaled = scaled.doubled();
  const Lane by = load(&scaled, 0);
  std::vector<Lane> lanes;
  for (long k = 0; k < n; k += lane_count) lanes.push_back(load(values + k, 1));
  for (long i = 0; i < rounds; i++)
    for (Lane& lane : lanes) lane = lane * by;
  for (long k = 0; k < n; k++) {
    Lanes words[P::words];
    lanes[k / lane_count].canonical().to_words(words);
    for (int i = 0; i < P::words; i++) values[k].v[i] = words[i][k % lane_count];
  }
}

inline void multiply_repeatedly(Fp* values, long n, const Fp& factor, long rounds) {
  multiply_lanes_repeatedly(values, n, factor, rounds);
}
inline void multiply_repeatedly(Fr* values, long n, const Fr& factor, long rounds) {
  multiply_lanes_repeatedly(values, n, factor, rounds);
}
#elif defined(__AVX2__)
// The last lanes may repeat each other.
inline void multiply_repeatedly(Fp* values, long n, const Fp& factor, long rounds) {
  const LaneFp by = LaneFp::everywhere(doubled<FpParameters>(factor.v, extra_bits<FpParameters>));
  const auto addresses = [&](long first, auto& to) {
    for (long i = 0; i < LaneFp::lanes; i++) to[i] = values[std::min(first + i, n - 1)].v;
  };
  std::vector<LaneFp> lanes;
  const u64* from[LaneFp::lanes];
  for (long k = 0; k < n; k += LaneFp::lanes) {
    addresses(k, from);
    lanes.push_back(LaneFp::gather(from));
  }
  for (long i = 0; i < rounds; i++)
    for (LaneFp& lane : lanes) lane = lane * by;
  u64* to[LaneFp::lanes];
  for (long k = 0; k < n; k += LaneFp::lanes) {
    addresses(k, to);
    lanes[k / LaneFp::lanes].canonical().scatter(to);
  }
}
#endif

}  // namespace zen
