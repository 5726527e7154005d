// sppark behind the lines of bench/peers/README.md: points, scalars and values lie on the device when the clock starts.
#include <stdio.h>
#include <stdlib.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include <cuda.h>
#include <ff/bls12-381-fp2.hpp>

#include <ec/jacobian_t.hpp>
#include <ec/xyzz_t.hpp>

#define SPPARK_DONT_INSTANTIATE_TEMPLATES
#include <msm/pippenger.cuh>
#include <ntt/ntt.cuh>

// On the host, blst reads and writes: its points have the layout of sppark's. Its header is at odds with those of its
// headers that sppark includes, so what is used is declared here.
extern "C" {
void blst_fp_from_lendian(void* value, const uint8_t bytes[48]);
void blst_p1_compress(uint8_t bytes[48], const void* jacobian);
void blst_p2_compress(uint8_t bytes[96], const void* jacobian);
}

namespace {

using bytes_t = std::vector<uint8_t>;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool read_file(const char* path, bytes_t& data) {
  FILE* file = fopen(path, "rb");
  if (file == nullptr) return false;
  fseek(file, 0, SEEK_END);
  data.resize(ftell(file));
  rewind(file);
  const size_t read = fread(data.data(), 1, data.size(), file);
  fclose(file);
  return read == data.size();
}

struct on_device {
  uint8_t* data = nullptr;

  void upload(const bytes_t& host) {
    if (data != nullptr) CUDA_OK(cudaFree(data));
    CUDA_OK(cudaMalloc(&data, host.size()));
    CUDA_OK(cudaMemcpy(data, host.data(), host.size(), cudaMemcpyHostToDevice));
  }
};

on_device scalars;

template <class field_t, size_t coordinates, void (*compress)(uint8_t*, const void*)>
struct group {
  using point_t = jacobian_t<field_t>;
  using bucket_t = xyzz_t<field_t>;
  using affine_t = typename bucket_t::affine_t;
  using pippenger_t = msm_t<bucket_t, point_t, affine_t, fr_t>;

  bytes_t points;
  std::unique_ptr<pippenger_t> resident;
  size_t resident_points = 0;

  void read(const bytes_t& canonical) {
    points.resize(canonical.size());
    for (size_t i = 0; i < canonical.size(); i += 48) blst_fp_from_lendian(&points[i], &canonical[i]);
    resident.reset(), resident_points = 0;
  }

  void multiply(size_t n) {
    if (n != resident_points) {  // its windows are those for n points
      resident.reset();
      resident.reset(new pippenger_t(reinterpret_cast<const affine_t*>(points.data()), n));
      resident_points = n;
    }
    point_t sum;
    const dev_ptr_t<fr_t> values(reinterpret_cast<fr_t*>(scalars.data), n);
    const double start = now();
    const RustError error = resident->invoke(sum, static_cast<const affine_t*>(nullptr), n, values, false);
    const double seconds = now() - start;
    if (error.code != 0) {
      printf("error %d\n", error.code);
      return;
    }
    uint8_t encoded[24 * coordinates];
    compress(encoded, &sum);
    printf("%.9g ", seconds);
    for (uint8_t byte : encoded) printf("%02x", byte);
    printf("\n");
  }
};

group<fp_t, 2, blst_p1_compress> g1;
group<fp2_t, 4, blst_p2_compress> g2;

void transform(uint32_t log_size) {
  static on_device values;
  static uint32_t made = 0;
  const gpu_t& gpu = select_gpu();
  stream_t& stream = gpu[0];
  const auto run = [&] {
    NTT::Base_dev_ptr(stream, reinterpret_cast<fr_t*>(values.data), log_size, NTT::InputOutputOrder::NR,
                      NTT::Direction::forward, NTT::Type::standard);
  };
  if (made != log_size) {
    values.upload(bytes_t(sizeof(fr_t) << log_size, 0x11));  // any value below r
    made = log_size;
    run();  // makes the twiddles
  }
  cudaEvent_t start, stop;
  CUDA_OK(cudaEventCreate(&start));
  CUDA_OK(cudaEventCreate(&stop));
  CUDA_OK(cudaEventRecord(start, stream));
  run();
  CUDA_OK(cudaEventRecord(stop, stream));
  CUDA_OK(cudaEventSynchronize(stop));
  float milliseconds;
  CUDA_OK(cudaEventElapsedTime(&milliseconds, start, stop));
  CUDA_OK(cudaEventDestroy(start));
  CUDA_OK(cudaEventDestroy(stop));
  printf("%.9g\n", 1e-3 * milliseconds);
}

// Its temporary memory comes from the driver's pool, which by default gives it back at every synchronisation.
void keep_memory() {
  cudaMemPool_t pool;
  uint64_t all = ~uint64_t(0);
  CUDA_OK(cudaDeviceGetDefaultMemPool(&pool, select_gpu().cid()));
  CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
}

void answer(const char* line) {
  char name[8], path[4000];
  size_t n, threads;
  bytes_t data;
  if (sscanf(line, "points %7s %3999[^\n]", name, path) == 2 && read_file(path, data)) {
    strcmp(name, "g1") == 0 ? g1.read(data) : g2.read(data);
    printf("ok\n");
  } else if (sscanf(line, "scalars %3999[^\n]", path) == 1 && read_file(path, data)) {
    scalars.upload(data);
    printf("ok\n");
  } else if (sscanf(line, "msm %7s %zu %zu", name, &n, &threads) == 3) {
    strcmp(name, "g1") == 0 ? g1.multiply(n) : g2.multiply(n);
  } else if (sscanf(line, "ntt %zu %zu", &n, &threads) == 2 && n > 0 && n <= MAX_LG_DOMAIN_SIZE) {
    transform(n);
  } else {
    printf("cannot\n");
  }
}

}  // namespace

int main() {
  int status = 0;
  try {
    keep_memory();
    for (char line[4096]; fgets(line, sizeof line, stdin) != nullptr; fflush(stdout)) answer(line);
  } catch (const cuda_error& error) {
    printf("error %s\n", error.what());
    status = 1;
  }
  fflush(stdout);
  _Exit(status);  // sppark's device is destroyed before what still uses it
}
