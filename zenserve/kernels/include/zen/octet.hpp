// Eight elements of Fr side by side: what transforms and element-wise work are written over. In scalar targets they
// are an array and loops, in vector targets lanes; both give the same words of memory.
//
//   Octet::adjacent(p), strided(p, stride)    read p[0], p[1], .. or p[0], p[stride], ..; below r
//   Octet::gathered({p, q, ..})               and from anywhere
//   store_adjacent(p), store_strided(p, ..)   write them, canonical
//   stored(p)                 the same, and reads them again
//   Factor                    what octets are multiplied by: one element for each of the eight, or one for all.
//                             In memory factors are held in *factor form*, which to_factor makes and from_factor undoes.
//   x * factor                the product
//   x.times(y)                the product of two octets that were read from memory; y is canonical
//   x.rough(y)                the same but for a constant, which to_factor makes good: of sums, say
//   x.plain()                 the integers that elements in Montgomery form stand for
//   scatter(a, b, w)          (a, b) = (a + w b, a - w b), Cooley and Tukey's butterfly
//   gather(a, b, w)           (a, b) = (a + b, w (a - b)), Gentleman and Sande's
//                             w is a Factor, or One{}: nothing to multiply
//   gather_sums(a, b, w)      the same, of sums that gathering has left: it leaves products, and sums of two of them, as
//                             it takes them, so that two layers begin and end alike
//   a.bounded(), a.bound()    the same, or made so, where gathering has let values grow
//   a.copy_to(b)              b = a
//   Wide                      octets too, or twelve elements where four are best multiplied beside eight: `size` says it
//   wide_butterflies()        whether that goes for transforms here
//   differs(x, y)             bit i: whether element i is another one
//
// Vector targets reduce lazily. How large values may become between a load and a store is said in octet_lanes.hpp.
#pragma once

#if defined(ZEN_LANES) || defined(__AVX2__)
#include "octet_lanes.hpp"
#else
#include "octet_scalar.hpp"
#endif
