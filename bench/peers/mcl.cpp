// mcl behind the lines of bench/peers/README.md. G1 takes its AVX-512 IFMA path where the processor has that.
#include <omp.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <mcl/bls12_381.hpp>

using namespace mcl::bn;
using Bytes = std::vector<uint8_t>;

static std::vector<G1> g1_points;
static std::vector<G2> g2_points;
static std::vector<Fr> scalars;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

static Fp coordinate(const uint8_t* data) {
  Fp value;
  value.setArrayMask(data, 48);
  return value;
}

static void read_points(const std::string& group, const Bytes& data) {
  if (group == "g1") {
    g1_points.resize(data.size() / 96);
    for (size_t i = 0; i < g1_points.size(); i++) {
      const uint8_t* at = &data[96 * i];
      g1_points[i].x = coordinate(at), g1_points[i].y = coordinate(at + 48), g1_points[i].z = 1;
    }
  } else {
    g2_points.resize(data.size() / 192);
    for (size_t i = 0; i < g2_points.size(); i++) {
      const uint8_t* at = &data[192 * i];
      g2_points[i].x = Fp2(coordinate(at), coordinate(at + 48));
      g2_points[i].y = Fp2(coordinate(at + 96), coordinate(at + 144));
      g2_points[i].z = 1;
    }
  }
}

static void read_scalars(const Bytes& data) {
  scalars.resize(data.size() / 32);
  for (size_t i = 0; i < scalars.size(); i++) scalars[i].setArray(&data[32 * i], 32);
}

template <class G>
static std::string msm(std::vector<G>& points, size_t n, int threads) {
  G sum;
  omp_set_num_threads(threads);
  const double start = now();
  G::mulVecMT(sum, points.data(), scalars.data(), n, threads);
  const double seconds = now() - start;
  std::ostringstream answer;
  answer.precision(9);
  answer << seconds << ' ' << sum.serializeToHexStr();
  return answer.str();
}

template <class F>
static std::string product() {
  constexpr int chains = 8, rounds = 200000;
  F values[chains], factor;
  factor.setByCSPRNG();
  for (F& value : values) value.setByCSPRNG();
  const double start = now();
  for (int round = 0; round < rounds; round++)
    for (F& value : values) F::mul(value, value, factor);
  std::ostringstream answer;
  answer.precision(9);
  answer << (now() - start) / (rounds * chains);
  return answer.str();
}

static std::string answer(const std::string& line) {
  std::istringstream words(line);
  std::string command, name, path;
  words >> command;
  if (command == "points") {
    words >> name >> std::ws;
    std::getline(words, path);
    read_points(name, read_file(path));
    return "ok";
  }
  if (command == "scalars") {
    words >> std::ws;
    std::getline(words, path);
    read_scalars(read_file(path));
    return "ok";
  }
  if (command == "msm") {
    size_t n;
    int threads;
    words >> name >> n >> threads;
    return name == "g1" ? msm(g1_points, n, threads) : msm(g2_points, n, threads);
  }
  if (line == "product fp") return product<Fp>();
  if (line == "product fr") return product<Fr>();
  return "cannot";
}

int main() {
  initPairing(mcl::BLS12_381);
  Fp::setETHserialization(true);
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(line) << std::endl;
}
