#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tapline {

// A queue that reuses its slots with their contents, so that strings keep their memory. Pushing allocates only if the
// queue becomes longer than at any time since pop_front() last emptied it and left at most one slot. Not thread-safe.
template <typename T>
class Ring {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t memory_bytes() const { return places_.size() * sizeof(T); }  // excludes memory owned by the elements
  T& operator[](size_t index) { return places_[(first_ + index) & (places_.size() - 1)]; }
  const T& operator[](size_t index) const { return places_[(first_ + index) & (places_.size() - 1)]; }
  // REQUIRES: !empty()
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  // Adds a last element, which keeps the contents of an earlier one.
  T& push_back() {
    if (size_ == places_.size()) grow();
    return (*this)[size_++];
  }
  void pop_front() {
    first_ = (first_ + 1) & (places_.size() - 1);
    --size_;
    // Otherwise, each of a million long-lived connections would eventually keep the memory for its largest burst.
    if (size_ == 0 && places_.size() > 1) [[unlikely]]
      places_ = std::vector<T>();
  }
  void pop_back() { --size_; }

  // Empties the queue. If it has at most `max_places` slots, keeps them, each trimmed.
  template <typename Trim>
  void recycle(size_t max_places, Trim trim) {
    first_ = size_ = 0;
    if (places_.size() > max_places) places_ = std::vector<T>();
    for (T& place : places_) trim(place);
  }

 private:
  void grow() {
    std::vector<T> wider(places_.empty() ? 1 : places_.size() * 2);
    for (size_t i = 0; i < size_; ++i) wider[i] = std::move((*this)[i]);
    places_.swap(wider);
    first_ = 0;
  }

  std::vector<T> places_;  // size is a power of two, or 0
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace tapline
