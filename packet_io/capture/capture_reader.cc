#include "packet_io/capture/capture_reader.h"

#include <unistd.h>

#include <algorithm>

#include "packet_io/capture/link_type.h"

namespace tapline {

CaptureReader::CaptureReader(std::string path, std::unique_ptr<ByteSource> source)
    : path_(std::move(path)), window_(std::move(source)) {}

std::unique_ptr<CaptureReader> CaptureReader::open(const std::string& path, CaptureError* error) {
  auto source = open_byte_source(path, error);
  if (!source) return nullptr;
  std::unique_ptr<CaptureReader> reader(new CaptureReader(path, std::move(source)));
  if (!reader->detect_format_and_header(error)) return nullptr;
  return reader;
}

CaptureName CaptureName::of(const std::string& text) {
  const size_t hash = text.rfind('#');
  if (hash == std::string::npos || hash + 1 == text.size() || access(text.c_str(), F_OK) == 0) return {text, ""};
  return {text.substr(0, hash), text.substr(hash + 1)};
}

bool CaptureReader::select(std::vector<std::string> interfaces, CaptureError* error) {
  if (format_->select(interfaces)) return true;
  *error = {CaptureFault::kNoInterface, 0,
            path_ + ": is a pcap file, which has no interfaces: omit the '#" + interfaces.front() + "'"};
  return false;
}

// Reads the file's header, so that a fault in it is found before anything is started.
bool CaptureReader::detect_format_and_header(CaptureError* error) {
  window_.fill(kMagicBytes);
  format_ = detect_format(window_.available());
  if (!format_) {
    *error = not_a_capture();
    return false;
  }
  CapturedPacket packet;
  Step step;
  while ((step = format_->next(window_.available(), &packet)).kind == Step::kNeed && !window_.at_end()) {
    window_.fill(step.bytes);
  }
  if (step.kind == Step::kPacket || step.kind == Step::kSkip) {
    // The format has stored the contents of the header (in pcapng, the first section header), so it is not read again.
    if (step.kind == Step::kSkip) skip(step.bytes);
    return true;
  }
  if (step.kind == Step::kNeed) end_within_header(step.bytes);
  if (step.kind == Step::kFault) finish(format_->fault(), format_->detail());
  *error = error_;
  return false;
}

void CaptureReader::end_within_header(size_t wanted) {
  const ByteSource& source = window_.source();
  if (source.fault() != CaptureFault::kNone) {
    finish(source.fault(), source.fault_detail());
    return;
  }
  error_.message = path_ + ": is too short: it has " + std::to_string(window_.available().size()) +
                   " bytes, and the file header takes " + std::to_string(wanted);
  finish(CaptureFault::kTruncated, "");
}

CaptureError CaptureReader::not_a_capture() const {
  auto head = window_.available();
  const ByteSource& source = window_.source();
  if (source.fault() != CaptureFault::kNone) {
    return {source.fault(), 0, path_ + ": can't be read: " + source.fault_detail()};
  }
  if (head.empty()) return {CaptureFault::kEmpty, 0, path_ + ": is empty; capture again, for example with tcpdump -w"};
  std::string hint = "; expected pcap or pcapng, plain or .zst";
  if (head.size() >= 2 && head[0] == 0x1f && head[1] == 0x8b) hint = "; it is compressed with gzip: gunzip it first";
  return {CaptureFault::kNotACapture, 0, path_ + ": is not a capture file" + hint};
}

void CaptureReader::skip(size_t bytes) {
  size_t now = std::min(bytes, window_.available().size());
  window_.consume(now);
  skip_bytes_ = bytes - now;
}

CaptureReader::Outcome CaptureReader::read(std::span<CapturedPacket> packets, size_t* count) {
  *count = 0;
  while (!finished_) {
    if (skip_bytes_ > 0) {
      if (window_.available().empty()) return starved(1);
      skip(skip_bytes_);
      continue;
    }
    PacketRun run = format_->next_run(window_.available(), packets);
    window_.consume(run.bytes);
    if (run.next.kind == Step::kSkip) skip(run.next.bytes);
    *count = keep_supported(packets.first(run.packets));
    if (*count > 0) return Outcome::kPackets;
    if (run.next.kind == Step::kNeed) return starved(run.next.bytes);
    if (run.next.kind == Step::kFault) return finish(format_->fault(), format_->detail());
  }
  return Outcome::kEnd;
}

// Counts and removes packets with unsupported link types. Returns the number of packets kept, which come first.
size_t CaptureReader::keep_supported(std::span<CapturedPacket> packets) {
  size_t kept = 0;
  for (const CapturedPacket& packet : packets) {
    if (packet.link_type != supported_link_type_) {
      if (!is_supported_link_type(packet.link_type)) {
        ++unsupported_packets_;
        ++unsupported_of_[packet.selected];
        unsupported_link_type_ = packet.link_type;
        continue;
      }
      supported_link_type_ = packet.link_type;
    }
    if (&packets[kept] != &packet) packets[kept] = packet;
    ++kept;
  }
  packets_ += kept;
  return kept;
}

CaptureReader::Outcome CaptureReader::starved(size_t wanted) {
  wanted_bytes_ = wanted;
  if (!window_.at_end()) return Outcome::kRefill;
  const ByteSource& source = window_.source();
  if (source.fault() != CaptureFault::kNone) return finish(source.fault(), source.fault_detail());
  size_t left = window_.available().size();
  if (left == 0 && skip_bytes_ == 0) return finish(CaptureFault::kNone, "");
  std::string needs = skip_bytes_ > 0 ? std::to_string(skip_bytes_) + " more bytes" : std::to_string(wanted) + " bytes";
  return finish(CaptureFault::kTruncated, "this record needs " + needs + ", but " + std::to_string(left) + " are left");
}

void CaptureReader::refill() { window_.fill(std::max<size_t>(wanted_bytes_, 1)); }

CaptureReader::Outcome CaptureReader::finish(CaptureFault fault, const std::string& detail) {
  finished_ = true;
  if (const std::string missing = format_->missing_interface(); fault == CaptureFault::kNone && !missing.empty()) {
    fault = CaptureFault::kNoInterface;
    error_.message = path_ + ": " + missing;
  }
  if (fault == CaptureFault::kNone && packets_ == 0 && unsupported_packets_ > 0) {
    fault = CaptureFault::kUnsupportedLinkType;
    error_.message = path_ + ": all of its packets have link types that are not decoded, for example " +
                     describe_link_type(unsupported_link_type_) + "; supported are " + supported_link_types();
  }
  error_.fault = fault;
  error_.offset_bytes = window_.offset_bytes();
  if (fault != CaptureFault::kNone && error_.message.empty()) error_.message = describe(fault, detail);
  return Outcome::kEnd;
}

std::string CaptureReader::describe(CaptureFault fault, const std::string& detail) const {
  std::string position = path_ + ": at byte " + std::to_string(window_.offset_bytes());
  std::string prefix = "; the " + std::to_string(packets_) + " packets before it were read";
  switch (fault) {
    case CaptureFault::kTruncated:
      return position + " it ends too early: " + detail + prefix;
    case CaptureFault::kCorrupt:
      return position + " it is damaged: " + detail + prefix;
    case CaptureFault::kReadFailed:
      return position + " reading failed: " + detail + prefix;
    default:
      return path_ + ": " + detail;
  }
}

}  // namespace tapline
