// What the patterns map, zip, reduce and scan apply, named once for every target: functions of one or two elements,
// and monoids, which are an associative and commutative `combine` with its identity.
#pragma once

#include "curve.hpp"

namespace zen {

struct Add {
  template <class T>
  ZEN_FN T operator()(const T& a, const T& b) const {
    return a + b;
  }
};
struct Subtract {
  template <class T>
  ZEN_FN T operator()(const T& a, const T& b) const {
    return a - b;
  }
};
struct Multiply {
  template <class T>
  ZEN_FN T operator()(const T& a, const T& b) const {
    return a * b;
  }
};
struct Negate {
  template <class T>
  ZEN_FN T operator()(const T& a) const {
    return -a;
  }
};
struct Square {
  template <class T>
  ZEN_FN T operator()(const T& a) const {
    return a.square();
  }
};

// Integers, field elements and XYZZ sums: what has all bytes zero is their zero.
template <class T>
struct Sum {
  static ZEN_FN T identity() { return T{}; }
  static ZEN_FN T combine(const T& a, const T& b) { return a + b; }
};

}  // namespace zen
