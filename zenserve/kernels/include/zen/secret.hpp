// Scratch memory for values derived from witnesses or toxic waste: wiped when it goes out of scope.
#pragma once

#include <string.h>

#include "memory.hpp"

namespace zen {

template <class T>
class SecretBuffer {
 public:
  explicit SecretBuffer(long count) : count_(count), data_(count) {}
  SecretBuffer(const SecretBuffer&) = delete;
  SecretBuffer& operator=(const SecretBuffer&) = delete;
  ~SecretBuffer() { explicit_bzero(data_.data(), count_ * sizeof(T)); }

  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }
  T& operator[](long i) { return data_[i]; }

 private:
  long count_;
  Buffer<T> data_;
};

}  // namespace zen
