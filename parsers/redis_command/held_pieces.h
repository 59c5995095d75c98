#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parsers/api/connection.h"
#include "parsers/api/parser.h"

namespace tapline::redis {

// Stores the latest pieces of a connection while its client is unknown, to be read once it is known.
class HeldPieces {
 public:
  struct Piece {
    Side side = 0;
    Segment segment = {};
    bool begins = false;   // the piece begins the side's turn
    uint64_t missing = 0;  // number of bytes lost, in place of data
    std::string bytes = {};
  };
  static constexpr size_t kMaxBytes = 16 << 10, kMaxPieces = 64;

  void keep(Side side, std::span<const uint8_t> bytes, const Segment& segment, bool begins) {
    make_room(bytes.size());
    if (bytes.size() > kMaxBytes) return;
    bytes_ += bytes.size();
    // If the first piece is everything that its side has sent, it begins a turn.
    if (pieces_.size() == 1 && from_first_ && pieces_[0].side != side) pieces_[0].begins = true;
    pieces_.push_back({side, segment, begins, 0, std::string(bytes.begin(), bytes.end())});
  }
  void keep_gap(Side side, uint64_t missing, const Segment& segment) {
    make_room(0);
    pieces_.push_back({side, segment, false, missing, {}});
  }

  // Removes and returns all pieces, oldest first.
  std::vector<Piece> take() {
    bytes_ = 0;
    from_first_ = false;
    return std::exchange(pieces_, {});
  }
  size_t memory_bytes() const { return bytes_ + pieces_.capacity() * sizeof(Piece); }

 private:
  void make_room(size_t bytes) {
    if (bytes_ + bytes > kMaxBytes || pieces_.size() >= kMaxPieces) take();
  }

  std::vector<Piece> pieces_;
  size_t bytes_ = 0;
  bool from_first_ = true;
};

}  // namespace tapline::redis
