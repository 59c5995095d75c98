// Tuples that windows keep as JSON in case their events need them, with a limit on their total size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tapline {

// The reason why an event lacks the tuple that decided it.
enum class TupleOmission : uint8_t {
  kNone,     // the event has its tuple, or no single tuple decided it
  kTooLong,  // the tuple's text is longer than KeptTuples::kMaxText
  kNoRoom,   // together, the tuples of open windows already take KeptTuples::kMaxBytes
};

// One tuple, or none. Must be destroyed before its KeptTuples.
class KeptTuple {
 public:
  // Returns the tuple's text, which is empty if there is no tuple.
  std::string_view text() const { return kept_ == nullptr ? std::string_view() : std::string_view(kept_->text); }
  TupleOmission omission() const { return omission_; }
  void reset() {
    kept_.reset();
    omission_ = TupleOmission::kNone;
  }

 private:
  friend class KeptTuples;

  struct Kept {
    Kept(std::string_view json, size_t* total) : text(json), bytes(total) { *bytes += text.size(); }
    ~Kept() { *bytes -= text.size(); }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    const std::string text;
    size_t* const bytes;
  };

  std::unique_ptr<Kept> kept_;
  TupleOmission omission_ = TupleOmission::kNone;
};

class KeptTuples {
 public:
  // The maximum length of one tuple's text, and of all texts together.
  static constexpr size_t kMaxText = 16 << 10;
  static constexpr size_t kMaxBytes = 8 << 20;

  explicit KeptTuples(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}
  KeptTuples(const KeptTuples&) = delete;
  KeptTuples& operator=(const KeptTuples&) = delete;

  // Replaces the tuple. If there is no room for the new one, removes the tuple and records the reason.
  void keep(std::string_view text, KeptTuple* tuple) {
    tuple->reset();
    if (text.size() > kMaxText) {
      tuple->omission_ = TupleOmission::kTooLong;
    } else if (bytes_ + text.size() > max_bytes_) {
      tuple->omission_ = TupleOmission::kNoRoom;
    } else {
      tuple->kept_ = std::make_unique<KeptTuple::Kept>(text, &bytes_);
    }
  }
  size_t bytes() const { return bytes_; }

 private:
  const size_t max_bytes_;
  size_t bytes_ = 0;
};

}  // namespace tapline
