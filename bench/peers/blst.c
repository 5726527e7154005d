// blst behind the lines of bench/peers/README.md.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blst.h"

enum { SCALAR_BYTES = 32, CHAINS = 8, ROUNDS = 200000 };

static blst_p1_affine* g1_points;
static blst_p2_affine* g2_points;
static byte* scalars;
static size_t scalar_bits;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static byte* read_file(const char* path, size_t* length) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
  *length = ftell(file);
  rewind(file);
  byte* data = malloc(*length);
  const size_t read = fread(data, 1, *length, file);
  fclose(file);
  if (read == *length) return data;
  free(data);
  return NULL;
}

static void read_points_g1(const byte* data, size_t count) {
  g1_points = realloc(g1_points, count * sizeof *g1_points);
  for (size_t i = 0; i < count; i++, data += 96) {
    blst_fp_from_lendian(&g1_points[i].x, data);
    blst_fp_from_lendian(&g1_points[i].y, data + 48);
  }
}

static void read_points_g2(const byte* data, size_t count) {
  g2_points = realloc(g2_points, count * sizeof *g2_points);
  for (size_t i = 0; i < count; i++, data += 192) {
    blst_fp* coordinates[4] = {&g2_points[i].x.fp[0], &g2_points[i].x.fp[1], &g2_points[i].y.fp[0],
                               &g2_points[i].y.fp[1]};
    for (int j = 0; j < 4; j++) blst_fp_from_lendian(coordinates[j], data + 48 * j);
  }
}

static void read_scalars(byte* data, size_t count) {
  free(scalars);
  scalars = data;
  for (scalar_bits = 255; scalar_bits > 1; scalar_bits--) {
    const size_t at = (scalar_bits - 1) / 8, bit = (scalar_bits - 1) % 8;
    for (size_t i = 0; i < count; i++)
      if (data[i * SCALAR_BYTES + at] >> bit & 1) return;
  }
}

static size_t bit_length(size_t n) { return n == 0 ? 0 : 64 - __builtin_clzl(n); }

// Rows of windows and columns of points, chosen as blst's Rust binding does (pippenger.rs, breakdown).
typedef struct {
  size_t columns, rows, window;
} grid;

static grid make_grid(size_t points, size_t threads) {
  const size_t bits = scalar_bits, length = bit_length(points);
  const size_t best = length > 13 ? length - 4 : length > 5 ? length - 3 : 2;
  size_t columns = 1, window = best;
  if (bits > best * threads) {
    const size_t fewer = bit_length(threads / 4);
    if (best + fewer > 18)
      window = best - fewer;
    else if ((bits / (best + 1) + threads - 1) / threads < (bits / best + threads - 1) / threads)
      window = best + 1;
  } else {
    columns = 2, window = best - 2;
    while ((bits / window + 1) * columns < threads) columns++, window = best - bit_length(3 * columns / 2);
    columns--, window = best - bit_length(3 * columns / 2);
  }
  const size_t rows = bits / window + 1;
  return (grid){columns, rows, bits / rows + 1};
}

// Scalars go to blst as whole bytes of scalar_bits, packed.
static byte* packed_scalars(size_t n, size_t width) {
  byte* packed = malloc(n * width);
  for (size_t i = 0; i < n; i++) memcpy(packed + i * width, scalars + i * SCALAR_BYTES, width);
  return packed;
}

#define DEFINE_MSM(group, point, bytes)                                                                     \
  typedef struct {                                                                                          \
    grid tiles;                                                                                             \
    size_t n, width;                                                                                        \
    const byte* packed;                                                                                     \
    blst_##point* sums;                                                                                     \
    atomic_size_t next;                                                                                     \
  } group##_work;                                                                                           \
                                                                                                            \
  static void* group##_tiles(void* argument) {                                                              \
    group##_work* work = argument;                                                                          \
    const grid tiles = work->tiles;                                                                         \
    limb_t* scratch = malloc(blst_##point##s_mult_pippenger_scratch_sizeof(0) << (tiles.window - 1));       \
    for (size_t tile; (tile = work->next++) < tiles.rows * tiles.columns;) {                                \
      const size_t row = tile / tiles.columns, column = tile % tiles.columns;                               \
      const size_t begin = work->n * column / tiles.columns, end = work->n * (column + 1) / tiles.columns;  \
      const blst_##point##_affine* const points[2] = {group##_points + begin, NULL};                        \
      const byte* const packed[2] = {work->packed + begin * work->width, NULL};                             \
      blst_##point##s_tile_pippenger(&work->sums[tile], points, end - begin, packed, scalar_bits, scratch,  \
                                     row * tiles.window, tiles.window);                                     \
    }                                                                                                       \
    free(scratch);                                                                                          \
    return NULL;                                                                                            \
  }                                                                                                         \
                                                                                                            \
  static void group##_threaded(blst_##point* sum, const byte* packed, size_t width, size_t n, size_t threads) { \
    const grid tiles = make_grid(n, threads);                                                               \
    group##_work work = {tiles, n, width, packed, calloc(tiles.rows * tiles.columns, sizeof(blst_##point)), 0}; \
    pthread_t workers[threads];                                                                             \
    for (size_t i = 0; i < threads; i++) pthread_create(&workers[i], NULL, group##_tiles, &work);           \
    for (size_t i = 0; i < threads; i++) pthread_join(workers[i], NULL);                                    \
    memset(sum, 0, sizeof *sum);                                                                            \
    for (size_t row = tiles.rows; row-- > 0;) {                                                             \
      for (size_t i = 0; i < tiles.window; i++) blst_##point##_double(sum, sum);                            \
      for (size_t i = 0; i < tiles.columns; i++)                                                            \
        blst_##point##_add_or_double(sum, sum, &work.sums[row * tiles.columns + i]);                        \
    }                                                                                                       \
    free(work.sums);                                                                                        \
  }                                                                                                         \
                                                                                                            \
  static void group##_msm(size_t n, size_t threads) {                                                       \
    const size_t width = (scalar_bits + 7) / 8;                                                             \
    byte* packed = packed_scalars(n, width);                                                                \
    blst_##point sum;                                                                                       \
    const double start = now();                                                                             \
    if (threads == 1) {                                                                                     \
      const blst_##point##_affine* const points[2] = {group##_points, NULL};                                \
      const byte* const starts[2] = {packed, NULL};                                                         \
      limb_t* scratch = malloc(blst_##point##s_mult_pippenger_scratch_sizeof(n));                           \
      blst_##point##s_mult_pippenger(&sum, points, n, starts, scalar_bits, scratch);                        \
      free(scratch);                                                                                        \
    } else {                                                                                                \
      group##_threaded(&sum, packed, width, n, threads);                                                    \
    }                                                                                                       \
    const double seconds = now() - start;                                                                   \
    free(packed);                                                                                           \
    byte encoded[bytes];                                                                                    \
    blst_##point##_compress(encoded, &sum);                                                                 \
    printf("%.9g ", seconds);                                                                               \
    for (size_t i = 0; i < bytes; i++) printf("%02x", encoded[i]);                                          \
    printf("\n");                                                                                           \
  }

DEFINE_MSM(g1, p1, 48)
DEFINE_MSM(g2, p2, 96)

#define DEFINE_PRODUCT(field)                                                                               \
  static void field##_product(void) {                                                                       \
    blst_##field chains[CHAINS], factor;                                                                    \
    uint64_t words[6] = {0x123456789abcdef, 7, 11, 0x23456789, 0, 0};                                       \
    blst_##field##_from_uint64(&factor, words);                                                             \
    for (int i = 0; i < CHAINS; i++) words[1] += 1, blst_##field##_from_uint64(&chains[i], words);          \
    const double start = now();                                                                             \
    for (int round = 0; round < ROUNDS; round++)                                                            \
      for (int i = 0; i < CHAINS; i++) blst_##field##_mul(&chains[i], &chains[i], &factor);                 \
    printf("%.9g\n", (now() - start) / (ROUNDS * CHAINS));                                                  \
  }

DEFINE_PRODUCT(fp)
DEFINE_PRODUCT(fr)

int main(void) {
  char line[4096], name[8], path[4000];
  size_t n, threads, length;
  while (fgets(line, sizeof line, stdin) != NULL) {
    byte* data;
    if (sscanf(line, "points %7s %3999[^\n]", name, path) == 2 && (data = read_file(path, &length)) != NULL) {
      const int g1 = strcmp(name, "g1") == 0;
      g1 ? read_points_g1(data, length / 96) : read_points_g2(data, length / 192);
      free(data);
      printf("ok\n");
    } else if (sscanf(line, "scalars %3999[^\n]", path) == 1 && (data = read_file(path, &length)) != NULL) {
      read_scalars(data, length / SCALAR_BYTES);
      printf("ok\n");
    } else if (sscanf(line, "msm %7s %zu %zu", name, &n, &threads) == 3) {
      strcmp(name, "g1") == 0 ? g1_msm(n, threads) : g2_msm(n, threads);
    } else if (strcmp(line, "product fp\n") == 0) {
      fp_product();
    } else if (strcmp(line, "product fr\n") == 0) {
      fr_product();
    } else {
      printf("cannot\n");
    }
    fflush(stdout);
  }
}
