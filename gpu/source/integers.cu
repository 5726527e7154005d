// Vectors of integers, and an assignment z of them: int64, exact modulo 2^64. gpu/integers.py says what each kernel does.
#include "zen/target.hpp"
#include "memory.hpp"

using namespace zen;

// As the host packs it: sizes along three axes; channels and outputs of one group.
struct Sliding {
  int batch, groups, channels, outputs;
  int image[3], kernel[3], positions[3], stride[3], before[3], dilation[3];
};

// Unsigned, where all that runs over is well defined.
ZEN_FN long add(long a, long b) { return long(u64(a) + u64(b)); }
ZEN_FN long multiply(long a, long b) { return long(u64(a) * u64(b)); }
ZEN_FN long floor_divided(long a, long b) {
  const long q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}
ZEN_FN long clamped(long x, long low, long high) { return x < low ? low : x > high ? high : x; }

// What neighbouring lanes, a power of two of them, add up to: the first has it.
ZEN_FN long sum_of_lanes(long x, int lanes) {
  for (int delta = lanes / 2; delta; delta /= 2)
    x = add(x, long(__shfl_down_sync(whole_warp, u64(x), unsigned(delta), lanes)));
  return x;
}

// Where `x` stands in an ascending list of at least one, or -1.
ZEN_FN long place_of(const long* ascending, long count, long x) {
  long low = 0, high = count - 1;
  while (low < high) {
    const long middle = (low + high) / 2;
    if (ascending[middle] < x)
      low = middle + 1;
    else
      high = middle;
  }
  return ascending[low] == x ? low : -1;
}

extern "C" {

__global__ void add_up(const u32* offsets, const u32* columns, const u32* coefficients, const long* pool, const long* z,
                       long rows, int lanes, long* out) {
  const long row = thread_index() / lanes, lane = thread_index() % lanes;
  long sum = 0;
  if (row < rows)
    for (long i = offsets[row] + lane; i < offsets[row + 1]; i += lanes)
      sum = add(sum, multiply(pool[coefficients[i]], z[columns[i]]));
  sum = sum_of_lanes(sum, lanes);
  if (row < rows && lane == 0) out[row] = sum;
}

__global__ void slide(const Sliding* sizes, const long* x, const long* weight, const long* bias, long zero_point, long rows,
                      int lanes, long* out) {
  const Sliding s = *sizes;
  const long row = thread_index() / lanes, lane = thread_index() % lanes;
  const long plane = long(s.positions[0]) * s.positions[1] * s.positions[2];
  const long taps = long(s.kernel[0]) * s.kernel[1] * s.kernel[2], size = long(s.image[0]) * s.image[1] * s.image[2];
  const long output = row / (s.batch * plane), image = row / plane % s.batch, group = output / s.outputs;
  long first[3], rest = row % plane;
  for (int axis = 2; axis >= 0; axis--) {
    first[axis] = rest % s.positions[axis] * s.stride[axis] - s.before[axis];
    rest /= s.positions[axis];
  }
  long sum = 0;
  for (long channel = row < rows ? lane : s.channels; channel < s.channels; channel += lanes) {
    const long* const values = x + ((image * s.groups + group) * s.channels + channel) * size;
    const long* tap = weight + (output * s.channels + channel) * taps;
    for (int i = 0; i < s.kernel[0]; i++) {
      const long at_i = first[0] + long(i) * s.dilation[0];
      for (int j = 0; j < s.kernel[1]; j++) {
        const long at_j = first[1] + long(j) * s.dilation[1];
        for (int k = 0; k < s.kernel[2]; k++, tap++) {
          const long at_k = first[2] + long(k) * s.dilation[2];
          if (at_i < 0 || at_i >= s.image[0] || at_j < 0 || at_j >= s.image[1] || at_k < 0 || at_k >= s.image[2]) continue;
          sum = add(sum, multiply(*tap, values[(at_i * s.image[1] + at_j) * s.image[2] + at_k] - zero_point));
        }
      }
    }
  }
  sum = sum_of_lanes(sum, lanes);
  if (row < rows && lane == 0) out[row] = add(sum, bias[output]);
}

__global__ void accumulate(const long* values, const long* factors, long stride, long n, long* out) {
  const long i = thread_index();
  if (i < n) out[i] = add(out[i], multiply(factors[stride * i], values[i]));
}

__global__ void take(const long* z, const u32* places, long n, long* out) {
  const long i = thread_index();
  if (i < n) out[i] = z[places[i]];
}

__global__ void place(const long* values, const u32* places, long n, long* z) {
  const long i = thread_index();
  if (i < n) z[places[i]] = values[i];
}

__global__ void products(const long* left, const long* right, const long* rest, const u32* places, long n, long* z) {
  const long i = thread_index();
  if (i < n) z[places[i]] = add(multiply(left[i], right[i]), rest[i]);
}

__global__ void quotients(const long* numerator, const long* denominator, const u32* places, long n, long* z) {
  const long i = thread_index();
  if (i < n) z[places[i]] = denominator[i] ? floor_divided(numerator[i], denominator[i]) : 0;
}

__global__ void digits(const long* values, const long* shifts, const long* masks, long width, const u32* places, long n,
                       long* z) {
  const long i = thread_index();
  if (i < n) z[places[i]] = values[i / width] >> shifts[i % width] & masks[i % width];
}

__global__ void clip(const long* values, int shift, long low, long high, const u32* places, long n, long* z) {
  const long i = thread_index();
  if (i < n) z[places[i]] = clamped(values[i] >> shift, low, high);
}

__global__ void pick(const long* entries, long count, const long* values, int shift, long first, const u32* places, long n,
                     long* z) {
  const long i = thread_index();
  if (i < n) z[places[i]] = entries[clamped((values[i] >> shift) - first, 0, count - 1)];
}

__global__ void compare(const long* values, int positive, const u32* places, long n, long* z) {
  const long i = thread_index();
  if (i < n) z[places[i]] = positive ? values[i] > 0 : values[i] == 0;
}

__global__ void largest(const long* values, long width, const u32* places, long n, long* z) {
  const long i = thread_index();
  if (i >= n) return;
  long found = values[i * width];
  for (long j = 1; j < width; j++)
    if (values[i * width + j] > found) found = values[i * width + j];
  z[places[i]] = found;
}

__global__ void first_largest(const long* values, long width, int before, const u32* places, long columns, long groups,
                              long* z) {
  const long i = thread_index();
  if (i >= groups) return;
  long found = 0;
  for (long j = 1; j < width; j++)
    if (values[i * width + j] > values[i * width + found]) found = j;
  for (long j = 0; j < columns; j++) z[places[i * columns + j]] = before ? j < found : j == found;
}

__global__ void narrow(const long* values, long scale, const long* distinct, long count, const long* pairs, long known,
                       long n, long* keys) {
  const long i = thread_index();
  if (i >= n || keys[i] < 0) return;
  const long place = place_of(distinct, count, floor_divided(values[i], scale));
  keys[i] = place < 0 ? -1 : place_of(pairs, known, keys[i] * count + place);
}

__global__ void rows_of(const long* first, long n, long* keys) {
  const long i = thread_index();
  if (i < n && keys[i] >= 0) keys[i] = first[keys[i]];
}

__global__ void hold(const long* values, long scale, const long* column, long n, long* keys) {
  const long i = thread_index();
  if (i < n && keys[i] >= 0 && column[keys[i]] != floor_divided(values[i], scale)) keys[i] = -1;
}

__global__ void count(const long* keys, long n, long size, u64* counts) {
  const long i = thread_index();
  if (i < n && keys[i] >= 0 && keys[i] < size) atomicAdd(counts + keys[i], 1ull);
}

__global__ void cross_products(const long* left, const long* right, const long* slots, long strands, long taps,
                               const u32* places, long columns, long groups, long* z) {
  const long i = thread_index();
  if (i >= groups) return;
  const long* const a = left + i * strands * taps;
  const long* const b = right + i * strands * taps;
  for (long column = 0; column < columns; column++) {
    long sum = 0;
    for (long pair = 0; pair < strands * strands; pair++) {
      if (slots[pair] != column) continue;
      for (long k = 0; k < taps; k++)
        sum = add(sum, multiply(a[pair / strands * taps + k], b[pair % strands * taps + k]));
    }
    z[places[i * columns + column]] = sum;
  }
}

}
