// Multilinear polynomials as tables of 2^v values, the first variable the index's highest bit, and the rounds of
// sum-checks over them: each binds the variable of the round before, and sums over what its own leaves.
#include "zen/blake3.hpp"
#include "zen/operations.hpp"
#include "patterns.hpp"

using namespace zen;

// What a round says of a polynomial in the variable that it binds.
template <int coefficients>
struct Coefficients {
  Fr v[coefficients];
  friend ZEN_FN Coefficients operator+(const Coefficients& a, const Coefficients& b) {
    Coefficients sum;
    ZEN_UNROLL for (int i = 0; i < coefficients; i++) sum.v[i] = a.v[i] + b.v[i];
    return sum;
  }
};

// Tables one after the other, of 2 `half` values each, or of 4 `half` of which the first variable becomes *bound: then
// they are written to `next`.
struct Tables {
  const Fr* in;
  Fr* next;
  long half;
  Fr r;

  ZEN_FN Tables(const Fr* in, Fr* next, long half, const Fr* bound)
      : in(in), next(next), half(half), r(next ? load(bound) : Fr::zero()) {}

  // The values at i and i + half of a table.
  ZEN_FN void get(int table, long i, Fr& low, Fr& high) const {
    if (!next) {
      const Fr* const from = in + table * 2 * half + i;
      low = load(from), high = load(from + half);
      return;
    }
    const Fr* const from = in + table * 4 * half + i;
    low = load(from), high = load(from + half);
    low = low + r * (load(from + 2 * half) - low), high = high + r * (load(from + 3 * half) - high);
    Fr* const to = next + table * 2 * half + i;
    store(to, low), store(to + half, high);
  }
};

using Digest = Chain<u32>;

// A transcript's hashes: the keys of what absorbs and of what draws challenges; what stands before a round's numbers in
// their message; the message that asks for a challenge.
struct Voice {
  Digest absorb, challenge, frame, question;
};

// 64 bytes as an integer modulo r.
ZEN_FN Fr remainder(const Digest& low, const Digest& high) {
  Fr parts[2];
  for (int i = 0; i < 8; i++) parts[0].v[i] = low.v[i], parts[1].v[i] = high.v[i];
  // 2^256 < 3 r, and a sum with zero takes off r once.
  for (Fr& part : parts) part = (part + Fr::zero() + Fr::zero()).to_montgomery();
  return parts[0] + parts[1].to_montgomery();
}

// Of a sum-check with eq(zero, x) before all terms: the claim, and what the rounds before have left of eq.
struct Carried {
  Fr claim, left;

  // The round's polynomial, t(X) = constant + linear X + leading X^2 times eq(weight, X) times what is left, but for its
  // coefficient of X; claim = (1 - weight) t(0) + weight t(1).
  ZEN_FN void lift(Fr (&truth)[3], Fr weight, Fr inverse, Fr& linear) const {
    const Fr constant = truth[0], leading = truth[1], rest = Fr::one() - weight;
    linear = (claim - rest * constant) * inverse - constant - leading;
    const Fr low = left * rest, slope = left * weight - low;
    truth[0] = low * constant, truth[1] = low * leading + slope * linear, truth[2] = slope * leading;
  }
  ZEN_FN void bind(Fr constant, Fr linear, Fr leading, Fr weight, Fr r) {
    claim = constant + r * (linear + r * leading);
    const Fr low = left * (Fr::one() - weight);
    left = low + (left * weight - low) * r;
  }
};

extern "C" {

// suffixes[2^j .. 2^(j + 1)) = eq(the last j of n coordinates, x) for j <= n, by one block.
__global__ void __launch_bounds__(512) eq_suffixes(const Fr* point, int n, Fr* suffixes) {
  if (threadIdx.x == 0) store(suffixes + 1, Fr::one());
  for (int j = 0; j < n; j++) {
    __syncthreads();
    const Fr r = load(point + n - 1 - j);
    const long size = 1l << j;
    for (long i = threadIdx.x; i < size; i += blockDim.x) {
      const Fr value = load(suffixes + size + i), upper = value * r;
      store(suffixes + 2 * size + i, value - upper), store(suffixes + 3 * size + i, upper);
    }
  }
}

// out[i] = high[i / 2^bits] low[i mod 2^bits]
__global__ void eq_product(const Fr* high, const Fr* low, int bits, long n, Fr* out) {
  const long i = thread_index();
  if (i < n) store(out + i, load(high + (i >> bits)) * load(low + (i & ((1l << bits) - 1))));
}

// The sum over i < half of high[i / 2^bits] low[i mod 2^bits] (a b - c)(X): its value at 0 and its coefficient of X^2.
// The number of threads is a multiple of 2^bits, or at least half: so each has one entry of `low`.
__global__ void __launch_bounds__(256)
    r1cs_round(const Fr* in, Fr* next, long half, const Fr* bound, const Fr* high, const Fr* low, int bits,
               Coefficients<2>* out) {
  const Tables tables(in, next, half, bound);
  Coefficients<2> sum{};
  for (long i = thread_index(); i < half; i += all_threads()) {
    const Fr weight = load(high + (i >> bits));
    Fr a, da, b, db, c, dc;
    tables.get(0, i, a, da), tables.get(1, i, b, db), tables.get(2, i, c, dc);
    sum.v[0] = sum.v[0] + (a * b - c) * weight;
    sum.v[1] = sum.v[1] + (da - a) * (db - b) * weight;
  }
  if (thread_index() < half) {
    const Fr weight = load(low + (thread_index() & ((1l << bits) - 1)));
    sum.v[0] = sum.v[0] * weight, sum.v[1] = sum.v[1] * weight;
  }
  sum = reduce_block<Sum<Coefficients<2>>>(sum);
  if (threadIdx.x == 0) store(out + blockIdx.x, sum);
}

// The sum over i < half of (a b)(X): its value at 0 and its coefficient of X^2.
__global__ void __launch_bounds__(256)
    product_round(const Fr* in, Fr* next, long half, const Fr* bound, Coefficients<2>* out) {
  const Tables tables(in, next, half, bound);
  reduce<Sum<Coefficients<2>>>(half, out, [=](Coefficients<2>& sum, long i) {
    Fr a, da, b, db;
    tables.get(0, i, a, da), tables.get(1, i, b, db);
    sum.v[0] = sum.v[0] + a * b;
    sum.v[1] = sum.v[1] + (da - a) * (db - b);
  });
}

// The sum over i < half and over `triples` of (a b c)(X): its values at 0 and -1, and its coefficient of X^3.
__global__ void __launch_bounds__(256)
    cubic_round(const Fr* in, Fr* next, long half, const Fr* bound, int triples, Coefficients<3>* out) {
  const Tables tables(in, next, half, bound);
  reduce<Sum<Coefficients<3>>>(half, out, [=](Coefficients<3>& sum, long i) {
    for (int triple = 0; triple < triples; triple++) {
      Fr a, da, b, db, c, dc;
      tables.get(3 * triple, i, a, da), tables.get(3 * triple + 1, i, b, db), tables.get(3 * triple + 2, i, c, dc);
      da = da - a, db = db - b, dc = dc - c;
      sum.v[0] = sum.v[0] + a * b * c;
      sum.v[1] = sum.v[1] + (a - da) * (b - db) * (c - dc);
      sum.v[2] = sum.v[2] + da * db * dc;
    }
  });
}

// The sum of values[i] high[i / 2^bits] low[i mod 2^bits], a block's in out[block].
__global__ void __launch_bounds__(256)
    weighted_sum(const Fr* values, const Fr* high, const Fr* low, int bits, long n, Fr* out) {
  reduce<Sum<Fr>>(n, out, [=](Fr& sum, long i) {
    sum = sum + load(values + i) * load(high + (i >> bits)) * load(low + (i & ((1l << bits) - 1)));
  });
}

// out[0] = the sum of n partial sums, by one block.
__global__ void __launch_bounds__(256) add_partial(const Fr* partial, long n, Fr* out) {
  reduce<Sum<Fr>>(n, out, [=](Fr& sum, long i) { sum = sum + load(partial + i); });
}

// What follows a round, by one block. `width` columns of n partial sums are added up, and become a cubic polynomial's
// coefficients where there is eq: a coordinate and its inverse, and what is `carried`. With a pad each they are
// `said`, canonical: after that the transcript has a new `state`, and a challenge `r`.
__global__ void __launch_bounds__(256)
    say_round(const Fr* partial, long n, int width, const Fr* pads, const Fr* eq, const Fr* inverse, Carried* carried,
              const Voice* voice, int frame_bytes, int question_bytes, Fr* said, Digest* state, Fr* r) {
  constexpr int state_words = 8, message_words = 48, question_words = 16;
  __shared__ Fr truth[3];
  __shared__ u32 message[message_words], question[question_words];
  for (int column = 0; column < width; column++)
    reduce<Sum<Fr>>(threadIdx.x, n, blockDim.x, truth + column, [=](Fr& sum, long i) { sum = sum + load(partial + i * width + column); });
  const int count = eq ? 3 : width;
  Fr constant, leading, linear;
  if (threadIdx.x == 0) {
    constant = truth[0], leading = truth[1];
    if (eq) carried->lift(truth, load(eq), load(inverse), linear);
    for (int i = 0; i < count; i++) store(said + i, (pads ? truth[i] + load(pads + i) : truth[i]).to_canonical());
  }
  __syncthreads();
  const int data = 4 * state_words + frame_bytes, bytes = data + 32 * count;
  for (int k = int(threadIdx.x); k < 4 * message_words; k += int(blockDim.x)) {
    const auto byte = [](const auto* from, int i) { return reinterpret_cast<const unsigned char*>(from)[i]; };
    reinterpret_cast<unsigned char*>(message)[k] = k < 4 * state_words ? byte(state, k)
                                                   : k < data          ? byte(&voice->frame, k - 4 * state_words)
                                                   : k < bytes         ? byte(said, k - data)
                                                                       : 0;
    if (k < 4 * question_words)
      reinterpret_cast<unsigned char*>(question)[k] =
          k >= 4 * state_words && k < 4 * state_words + question_bytes ? byte(&voice->question, k - 4 * state_words) : 0;
  }
  __syncthreads();
  if (threadIdx.x) return;
  Digest low, high;
  blake3::derive(load(&voice->absorb), message, bytes, low, high);
  for (int i = 0; i < state_words; i++) question[i] = low.v[i];
  blake3::derive(load(&voice->absorb), question, 4 * state_words + question_bytes, low, high);
  store(state, low);
  for (int i = 0; i < 2 * state_words; i++) question[i] = i < state_words ? low.v[i] : 0;
  blake3::derive(load(&voice->challenge), question, 4 * state_words, low, high);
  const Fr drawn = remainder(low, high);
  store(r, drawn);
  if (eq) carried->bind(constant, linear, leading, load(eq), drawn);
}

// Tables of 2 `half` values each, their first variable becomes *bound.
__global__ void fold(const Fr* in, long half, long n, const Fr* bound, Fr* out) {
  const long at = thread_index();
  if (at >= n) return;
  const Fr* const from = in + at / half * 2 * half + at % half;
  const Fr low = load(from);
  store(out + at, low + load(bound) * (load(from + half) - low));
}

}
