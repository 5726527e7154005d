// Scratch memory for values derived from witnesses or toxic waste: wiped when it goes out of scope.
#pragma once

#include <string.h>

#include <memory>
#include <type_traits>

namespace zen {

template <class T>
class SecretBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit SecretBuffer(long count) : count_(count), data_(new T[count]) {}
  SecretBuffer(const SecretBuffer&) = delete;
  SecretBuffer& operator=(const SecretBuffer&) = delete;
  ~SecretBuffer() { explicit_bzero(data_.get(), count_ * sizeof(T)); }

  T* data() { return data_.get(); }
  T& operator[](long i) { return data_[i]; }

 private:
  long count_;
  std::unique_ptr<T[]> data_;
};

}  // namespace zen
