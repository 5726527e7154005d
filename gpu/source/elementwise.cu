// Arithmetic on arrays of ZEN_ELEMENT, one of Fr, Fp and Fp2.
#include "zen/operations.hpp"
#include "patterns.hpp"

using namespace zen;

using Element = ZEN_ELEMENT;

template <class P>
ZEN_FN Prime<P> canonical(const Prime<P>& x) {
  return x.to_canonical();
}
ZEN_FN Fp2 canonical(const Fp2& x) { return {x.c0.to_canonical(), x.c1.to_canonical()}; }
template <class P>
ZEN_FN Prime<P> montgomery(const Prime<P>& x) {
  return x.to_montgomery();
}
ZEN_FN Fp2 montgomery(const Fp2& x) { return {x.c0.to_montgomery(), x.c1.to_montgomery()}; }

extern "C" {

__global__ void add(const Element* a, const Element* b, long stride, Element* out, long n) { zip(a, b, stride, out, n, Add{}); }
__global__ void sub(const Element* a, const Element* b, long stride, Element* out, long n) { zip(a, b, stride, out, n, Subtract{}); }
__global__ void mul(const Element* a, const Element* b, long stride, Element* out, long n) { zip(a, b, stride, out, n, Multiply{}); }
__global__ void neg(const Element* a, Element* out, long n) { map(a, out, n, Negate{}); }
__global__ void square(const Element* a, Element* out, long n) { map(a, out, n, Square{}); }
__global__ void to_canonical(const Element* a, Element* out, long n) {
  map(a, out, n, [](const Element& x) { return canonical(x); });
}
__global__ void from_canonical(const Element* a, Element* out, long n) {
  map(a, out, n, [](const Element& x) { return montgomery(x); });
}

// `out` must not be `a`.
__global__ void __launch_bounds__(256) inverse(const Element* a, Element* out, long n) {
  invert_each<256, Element>(
      n, [=](long i) { return load(a + i); }, [=](long i) { return out + i; },
      [=](long i, const Element& inverse) { store(out + i, inverse); });
}

__global__ void __launch_bounds__(256) sum(const Element* a, Element* out, long n) {
  reduce<Sum<Element>>(n, out, [=](Element& sum, long i) { sum = sum + load(a + i); });
}

}
