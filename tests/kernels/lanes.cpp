// Holds the lanes' arithmetic against the scalar one: edge operands beside each other and random ones, canonical and
// with multiples of the modulus added, as far as each operation allows. Prints the number of checks and of mismatches.
#include <array>
#include <cstdio>
#include <random>
#include <type_traits>
#include <vector>

#include "zen/batch_add_lanes.hpp"
#include "zen/octet.hpp"

using namespace zen;

std::mt19937_64 draw(1);
long checks = 0, mismatches = 0;

void check(bool agrees) { checks++, mismatches += !agrees; }

template <class P>
Prime<P> random_element() {
  Prime<P> r;
  for (u64& word : r.v) word = draw();
  r.v[P::words - 1] %= P::modulus[P::words - 1];
  return r;
}

// 0, 1, p - 1, powers of two and their neighbours, digits all ones; as words, that is, as what the lanes multiply.
template <class P>
std::vector<Prime<P>> edge_elements() {
  using F = Prime<P>;
  F one{};
  one.v[0] = 1;
  std::vector<F> r{F::zero(), one, -one, -one - one, F::one(), -F::one(), F::from_words(P::half)};
  F power = one;
  for (int bit = 0; bit < 64 * P::words; bit++, power = power.doubled())
    for (const F& near : {power, power - one, -power}) r.push_back(near);
  return r;
}

// What multiplies elements of P side by side.
template <class P>
using Lane = std::conditional_t<P::words == FpParameters::words, LaneFp, LaneFr>;
template <class P>
constexpr int width = Lane<P>::lanes;
template <class P>
using Side = std::array<Prime<P>, width<P>>;

template <class P>
LanePrime<P> vector(const std::array<Prime<P>, lane_count>& elements) {
  Lanes words[P::words];
  for (int i = 0; i < P::words; i++)
    for (int lane = 0; lane < lane_count; lane++) words[i][lane] = elements[lane].v[i];
  return LanePrime<P>::from_words(words);
}
template <class P>
std::array<Prime<P>, lane_count> elements_of(const LanePrime<P>& lanes) {
  Lanes words[P::words];
  lanes.to_words(words);
  std::array<Prime<P>, lane_count> r;
  for (int i = 0; i < P::words; i++)
    for (int lane = 0; lane < lane_count; lane++) r[lane].v[i] = words[i][lane];
  return r;
}
// Digits in their range, and the value below `bound` moduli.
template <class P>
bool is_settled(const LanePrime<P>& a) {
  for (int i = 0; i < LanePrime<P>::digits - 1; i++)
    for (int lane = 0; lane < lane_count; lane++)
      if (a.v[i][lane] > digit_mask) return false;
  const double top = double(multiple<P, 1>.digit[LanePrime<P>::digits - 1]);
  for (int lane = 0; lane < lane_count; lane++)
    if (double(a.v[LanePrime<P>::digits - 1][lane]) > (1 + 1.0 / 4096) * top + 1) return false;
  return true;
}
template <class P>
LanePrime<P> plus(const LanePrime<P>& a, u64 k) {
  return (a + LanePrime<P>::constant(MultipleOfModulus<P>(k).digit)).carried();
}

#if !defined(ZEN_LANES)
LaneFp vector(const Side<FpParameters>& elements) {
  const u64* from[LaneFp::lanes];
  for (int lane = 0; lane < LaneFp::lanes; lane++) from[lane] = elements[lane].v;
  return LaneFp::gather(from);
}
Side<FpParameters> elements_of(const LaneFp& lanes) {
  Side<FpParameters> r;
  u64* to[LaneFp::lanes];
  for (int lane = 0; lane < LaneFp::lanes; lane++) to[lane] = r[lane].v;
  lanes.scatter(to);
  return r;
}
bool is_settled(const LaneFp& a) {
  for (const WordFp& word : a.word)
    if (double(word.v[5]) > (1 + 1.0 / 4096) * double(FpParameters::modulus[5])) return false;
  return is_settled(a.vector);
}
LaneFp plus(const LaneFp& a, u64 k) {
  LaneFp r = a;
  r.vector = plus(a.vector, k);
  for (WordFp& word : r.word)
    for (u64 i = 0; i < k; i++) word = word.plus_modulus<1>();
  return r;
}
#endif

template <class P, class Expected>
void expect(const Lane<P>& result, Expected expected) {
  check(is_settled(result));
  const Side<P> actual = elements_of(result.canonical());
  for (int lane = 0; lane < width<P>; lane++) check(actual[lane] == expected(lane));
}

template <class P>
void prime_field() {
  using F = Prime<P>;
  // The lanes' product lacks a factor R'/R.
  F factor = F::one();
  for (int i = 0; i < extra_bits<P>; i++) factor = factor.doubled();
  factor = factor.inverse();
  const std::vector<F> edges = edge_elements<P>();
  const auto pick = [&] { return draw() % 2 ? edges[draw() % edges.size()] : random_element<P>(); };
  for (size_t round = 0; round < 4 * edges.size(); round++) {
    Side<P> a, b, c, d;
    for (int lane = 0; lane < width<P>; lane++) {
      a[lane] = edges[(round + lane * lane) % edges.size()];
      b[lane] = pick(), c[lane] = pick(), d[lane] = pick();
    }
    const Lane<P> la = vector(a), lb = vector(b), lc = vector(c), ld = vector(d);
    check(elements_of(la) == a);
    const auto product = [&](int lane) { return a[lane] * b[lane] * factor; };
    if constexpr (P::words == FpParameters::words) {
      // Moduli: products of larger operands are not settled, and words hold 9.8 of them.
      constexpr u64 most = whole_products ? 7 : (1ull << (extra_bits<P> - 9) / 2) - 1;
      expect<P>(la * lb, product);
      expect<P>(plus(la, draw() % most) * plus(lb, draw() % most), product);
      expect<P>(square(plus(la, draw() % most)), [&](int lane) { return a[lane].square() * factor; });
      const Lane<P> left[] = {plus(la, 3), lc};
      expect<P>(sum_of_products(left, lb, plus(ld, 7)),
                [&](int lane) { return (a[lane] * b[lane] + c[lane] * d[lane]) * factor; });
    } else {
      const Side<P> actual = elements_of((plus(la, draw() % 4) * plus(lb, draw() % 4)).canonical());
      for (int lane = 0; lane < width<P>; lane++) check(actual[lane] == product(lane));
    }
    expect<P>((la - lb - lc - ld).settled(), [&](int lane) { return a[lane] - b[lane] - c[lane] - d[lane]; });
    expect<P>((la + lb + lc - ld).settled(), [&](int lane) { return a[lane] + b[lane] + c[lane] - d[lane]; });
    expect<P>((la - lb).template plus_modulus<2>().carried().settled(), [&](int lane) { return a[lane] - b[lane]; });
    const unsigned bits = unsigned(draw() % (1u << width<P>));
    check(bits_of(Lane<P>::truth(bits)) == bits);
    expect<P>(la.negated_where(Lane<P>::truth(bits)).settled(), [&](int lane) { return bits >> lane & 1 ? -a[lane] : a[lane]; });
  }
}

void memory() {
  Fr there[lane_count * 3], back[lane_count];
  for (Fr& x : there) x = random_element<FrParameters>();
  const Fr* from[lane_count];
  for (int lane = 0; lane < lane_count; lane++) from[lane] = &there[3 * lane];
  store(back, gather(from));
  for (int lane = 0; lane < lane_count; lane++) check(*from[lane] == back[lane]);
  store(back, load(there + 1));
  for (int lane = 0; lane < lane_count; lane++) check(back[lane] == there[1 + lane]);
  Fr* to[lane_count];
  for (int lane = 0; lane < lane_count; lane++) to[lane] = &there[3 * lane];
  store(to, load(back));
  for (int lane = 0; lane < lane_count; lane++) check(*to[lane] == back[lane]);
}

// Transforms take eight at a time or twelve, whichever is less time on this processor: here both.
template <class Group>
void butterflies() {
  for (int round = 0; round < 300; round++) {
    Fr a[Group::size], b[Group::size], w[Group::size], held[Group::size], first[Group::size], second[Group::size];
    for (int i = 0; i < Group::size; i++) {
      a[i] = random_element<FrParameters>(), b[i] = random_element<FrParameters>();
      w[i] = round % 4 ? random_element<FrParameters>() : -Fr::one();
      held[i] = to_factor(w[i]);
    }
    const auto made = [&](auto butterfly) {
      Group x = Group::adjacent(a), y = Group::adjacent(b);
      butterfly(x, y, Group::Factor::adjacent(held));
      x.store_adjacent(first), y.store_adjacent(second);
    };
    made([](Group& x, Group& y, const auto& factor) { scatter(x, y, factor); });
    for (int i = 0; i < Group::size; i++) check(first[i] == a[i] + w[i] * b[i]), check(second[i] == a[i] - w[i] * b[i]);
    made([](Group& x, Group& y, const auto& factor) { gather(x, y, factor); });
    for (int i = 0; i < Group::size; i++) check(first[i] == a[i] + b[i]), check(second[i] == w[i] * (a[i] - b[i]));
    made([](Group& x, Group& y, const auto& factor) { gather_sums(x, y, factor); });
    for (int i = 0; i < Group::size; i++) check(first[i] == a[i] + b[i]), check(second[i] == w[i] * (a[i] - b[i]));
  }
}

inline Affine<Fp> generator(const Fp&) { return g1_generator(); }
inline Affine<Fp2> generator(const Fp2&) { return g2_generator(); }

template <class F>
Affine<F> affine(const Summand<F>& point) {
  Affine<F> r;
  to_affine(&point, &r, 1);
  return r;
}

// Batches of sizes around the lanes and the capacity; equal, opposite and infinite operands, alone and in crowds.
template <class F>
void additions() {
  constexpr long count = 200;
  std::vector<Affine<F>> points(count);
  Xyzz<F> next = Xyzz<F>::from(generator(F{}));
  for (long i = 0; i < count; i++, next = next.doubled() + points[i / 2]) points[i] = next.to_affine();
  for (long i = 0; i < count; i += 17) points[i] = Affine<F>::infinity();
  std::vector<Summand<F>> summands(count), images(count);
  to_summands(points.data(), summands.data(), count);
  endomorphism(summands.data(), images.data(), count);
  for (long i = 0; i < count; i++) {
    check(affine(summands[i]) == points[i]);
    check(affine(-summands[i]) == -points[i]);
    check(affine(images[i]) == (points[i].is_infinity() ? points[i] : Endomorphism<F>::of(points[i])));
  }

  struct Pair {
    long left, right;
    bool negate_left, negate_right;
  };
  const long capacity = BatchAdder<F, Affine<F>>::capacity;
  for (long size : {1l, 2l, 7l, 8l, 9l, 16l, 17l, 100l, 333l, capacity + 1}) {
    for (int equal_share : {0, 1, 4}) {  // quarters of the pairs whose points are equal or opposite
      std::vector<Pair> pairs(size);
      std::vector<Summand<F>> near(size), far(size), twice(size);
      BatchAdder<F, Affine<F>> from_points;
      BatchAdder<F, Summand<F>> from_summands;
      for (long i = 0; i < size; i++) {
        Pair& pair = pairs[i];
        pair = {long(draw() % count), long(draw() % count), bool(draw() & 1), bool(draw() & 1)};
        if (long(draw() % 4) < equal_share) pair.right = pair.left;
        from_points.push(&points[pair.left], &points[pair.right], &far[i], pair.negate_left, pair.negate_right);
        from_summands.push(&summands[pair.left], &summands[pair.right], &near[i], pair.negate_left, pair.negate_right);
      }
      from_points.flush();
      from_summands.flush();
      for (long i = 0; i < size; i++) twice[i] = near[i];
      for (long i = 0; i < size; i++) from_summands.push(&twice[i], &far[i], &twice[i], false, false);
      from_summands.flush();
      for (long i = size - 1; i >= 0; i -= 1 + size / 50) {
        const Pair& pair = pairs[i];
        const Affine<F> left = pair.negate_left ? -points[pair.left] : points[pair.left];
        const Affine<F> right = pair.negate_right ? -points[pair.right] : points[pair.right];
        const Xyzz<F> sum = Xyzz<F>::from(left) + right;
        check(affine(near[i]) == sum.to_affine());
        check(affine(far[i]) == sum.to_affine());
        check(affine(twice[i]) == sum.doubled().to_affine());
      }
    }
  }
}

int main() {
  prime_field<FpParameters>();
  prime_field<FrParameters>();
  memory();
  butterflies<Octet>();
  butterflies<Wide>();
  additions<Fp>();
  additions<Fp2>();
  std::printf("%ld %ld\n", checks, mismatches);
}
