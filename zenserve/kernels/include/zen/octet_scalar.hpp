// Eight elements of Fr as an array (see octet.hpp). Always canonical; factors are plain elements.
#pragma once

#include "field.hpp"

namespace zen {

struct One {};

inline Fr to_factor(const Fr& x) { return x; }
inline Fr from_factor(const Fr& x) { return x; }

class Factor;

struct Octet {
  static constexpr int size = 8;
  using Factor = zen::Factor;
  using At = Octet&;
  Fr v[8];

  static Octet strided(const Fr* p, long stride) {
    Octet r;
    for (int i = 0; i < 8; i++) r.v[i] = p[i * stride];
    return r;
  }
  static Octet adjacent(const Fr* p) { return strided(p, 1); }
  static Octet gathered(const Fr* const (&from)[8]) {
    Octet r;
    for (int i = 0; i < 8; i++) r.v[i] = *from[i];
    return r;
  }
  void store_strided(Fr* p, long stride) const {
    for (int i = 0; i < 8; i++) p[i * stride] = v[i];
  }
  void store_adjacent(Fr* p) const { store_strided(p, 1); }
  const Octet& stored(Fr* p) const {
    store_adjacent(p);
    return *this;
  }

  friend Octet operator+(const Octet& a, const Octet& b) {
    Octet r;
    for (int i = 0; i < 8; i++) r.v[i] = a.v[i] + b.v[i];
    return r;
  }
  friend Octet operator-(const Octet& a, const Octet& b) {
    Octet r;
    for (int i = 0; i < 8; i++) r.v[i] = a.v[i] - b.v[i];
    return r;
  }
  Octet times(const Octet& b) const {
    Octet r;
    for (int i = 0; i < 8; i++) r.v[i] = v[i] * b.v[i];
    return r;
  }
  Octet rough(const Octet& b) const { return times(b); }
  Octet plain() const {
    Octet r;
    for (int i = 0; i < 8; i++) r.v[i] = v[i].to_canonical();
    return r;
  }
  void operator+=(const Octet& b) { *this = *this + b; }
  void copy_to(Octet& to) const { to = *this; }
  const Octet& bounded() const { return *this; }
  void bound() {}
  friend unsigned differs(const Octet& a, const Octet& b) {
    unsigned bits = 0;
    for (int i = 0; i < 8; i++) bits |= unsigned(!(a.v[i] == b.v[i])) << i;
    return bits;
  }
};

// Read where it stands.
class Factor {
 public:
  static Factor same(const Fr& value) { return {&value, 0}; }
  static Factor adjacent(const Fr* p) { return {p, 1}; }
  static Factor strided(const Fr* p, long stride) { return {p, stride}; }
  explicit Factor(const Octet& values) : Factor(values.v, 1) {}
  const Fr& operator[](int i) const { return first_[i * stride_]; }

  friend Octet operator*(const Octet& a, Factor w) {
    Octet r;
    for (int i = 0; i < 8; i++) r.v[i] = a.v[i] * w[i];
    return r;
  }

 private:
  Factor(const Fr* first, long stride) : first_(first), stride_(stride) {}
  const Fr* first_;
  long stride_;
};

inline void scatter(Octet& a, Octet& b, Factor w) {
  for (int i = 0; i < 8; i++) {
    const Fr t = b.v[i] * w[i];
    b.v[i] = a.v[i] - t;
    a.v[i] = a.v[i] + t;
  }
}
inline void gather(Octet& a, Octet& b, Factor w) {
  for (int i = 0; i < 8; i++) {
    const Fr t = a.v[i] - b.v[i];
    a.v[i] = a.v[i] + b.v[i];
    b.v[i] = t * w[i];
  }
}
inline void scatter(Octet& a, Octet& b, One) {
  for (int i = 0; i < 8; i++) {
    const Fr t = b.v[i];
    b.v[i] = a.v[i] - t;
    a.v[i] = a.v[i] + t;
  }
}
inline void gather(Octet& a, Octet& b, One) { scatter(a, b, One{}); }
inline void gather_sums(Octet& a, Octet& b, const auto& w) { gather(a, b, w); }

using Wide = Octet;
inline bool wide_butterflies() { return true; }

}  // namespace zen
