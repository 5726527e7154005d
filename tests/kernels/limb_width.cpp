// Prints the outcome of every shared formula on fixed inputs, in 64-bit words whatever the limb's width.
#include <cstdio>
#include <cstring>

#include "zen/curve.hpp"

using namespace zen;

void print(const Fr& x) {
  u64 words[4];
  std::memcpy(words, x.v, sizeof words);
  for (u64 word : words) std::printf("%016llx", word);
  std::puts("");
}
void print(const Fp& x) {
  u64 words[6];
  std::memcpy(words, x.v, sizeof words);
  for (u64 word : words) std::printf("%016llx", word);
  std::puts("");
}
void print(const Fp2& x) { print(x.c0), print(x.c1); }

template <class F>
void field(F x) {
  const F y = x;
  for (int i = 0; i < 100; i++) {
    x = x * (x + y) - y.square();
    x = i % 3 ? -x : x.inverse();
    print(x);
  }
  print(F::zero().inverse()), print((-F::one()).inverse()), print(-F::zero());
}

template <class F>
void group(const Affine<F>& g) {
  const u64 scalar[] = {0x0123456789abcdef, 0xffffffffffffffff, 0, 0x1234};
  Xyzz<F> p = scalar_multiply(g, scalar, 4);
  const Affine<F> a = p.to_affine();
  p = (p + p.doubled()) + g;
  const Affine<F> b = p.to_affine();
  print(a.x), print(a.y), print(b.x), print(b.y);
  std::printf("%d %d %d\n", is_on_curve(b), in_subgroup(b), (Xyzz<F>::from(b) + -b).is_infinity());
}

int main() {
  std::printf("%d\n", int(sizeof(Fr) + sizeof(Fp) + sizeof(Fp2)));
  field(Fr::from_words(FrParameters::radix_squared));
  field(Fp::from_words(FpParameters::radix_squared));
  field(Fp2{Fp::from_words(FpParameters::radix_squared), Fp::from_words(FpParameters::one)});
  group(g1_generator());
  group(g2_generator());
}
