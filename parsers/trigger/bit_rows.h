#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tapline::trigger {

// Rows of bits, one for each class of a field's values: bit t is set if trigger t allows the class. Each row begins
// with a summary, in which bit w is set if word w of the row is nonzero, so that only words that are nonzero in all
// rows are intersected.
class BitRows {
 public:
  BitRows() = default;
  // Creates rows of zeros. REQUIRES: seal() before summary().
  BitRows(size_t rows, size_t bits)
      : words_((bits + 63) / 64), summary_words_((words_ + 63) / 64), data_(rows * (summary_words_ + words_)) {}

  void set(size_t row, size_t bit) { words(row)[bit / 64] |= uint64_t{1} << bit % 64; }
  void clear(size_t row, size_t bit) { words(row)[bit / 64] &= ~(uint64_t{1} << bit % 64); }
  // ORs the other row into this one.
  void add(size_t row, size_t source) {
    for (size_t word = 0; word < words_; ++word) words(row)[word] |= words(source)[word];
  }
  void seal() {
    if (words_ == 0) return;
    for (size_t row = 0; row < data_.size() / (summary_words_ + words_); ++row) {
      for (size_t word = 0; word < words_; ++word) {
        if (words(row)[word] != 0) data_[begin(row) + word / 64] |= uint64_t{1} << word % 64;
      }
    }
  }

  size_t words_per_row() const { return words_; }
  size_t summary_words() const { return summary_words_; }
  const uint64_t* summary(size_t row) const { return data_.data() + begin(row); }
  const uint64_t* words(size_t row) const { return data_.data() + begin(row) + summary_words_; }

 private:
  size_t begin(size_t row) const { return row * (summary_words_ + words_); }
  uint64_t* words(size_t row) { return data_.data() + begin(row) + summary_words_; }

  size_t words_ = 0;
  size_t summary_words_ = 0;
  std::vector<uint64_t> data_;
};

}  // namespace tapline::trigger
