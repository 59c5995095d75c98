#include "packet_io/capture/capture_reader.h"

#include <unistd.h>

#include <algorithm>

#include "packet_io/capture/link_type.h"

namespace tapline {

CaptureReader::CaptureReader(std::string path, std::unique_ptr<ByteSource> source)
    : path_(std::move(path)), window_(std::move(source)) {}

std::unique_ptr<CaptureReader> CaptureReader::Open(const std::string& path, CaptureError* error) {
  auto source = OpenByteSource(path, error);
  if (!source) return nullptr;
  std::unique_ptr<CaptureReader> reader(new CaptureReader(path, std::move(source)));
  if (!reader->DetectFormatAndHeader(error)) return nullptr;
  return reader;
}

CaptureName CaptureName::Of(const std::string& text) {
  const size_t hash = text.rfind('#');
  if (hash == std::string::npos || hash + 1 == text.size() || access(text.c_str(), F_OK) == 0) return {text, ""};
  return {text.substr(0, hash), text.substr(hash + 1)};
}

bool CaptureReader::Select(std::vector<std::string> interfaces, CaptureError* error) {
  if (format_->Select(interfaces)) return true;
  *error = {CaptureFault::kNoInterface, 0,
            path_ + ": is a pcap, which has no interfaces: name it without #" + interfaces.front()};
  return false;
}

// Reads up to the first packet, so that a fault in the file's header shows before anything starts.
bool CaptureReader::DetectFormatAndHeader(CaptureError* error) {
  window_.Fill(kMagicBytes);
  format_ = DetectFormat(window_.available());
  if (!format_) {
    *error = NotACapture();
    return false;
  }
  CapturedPacket packet;
  Step step;
  while ((step = format_->Next(window_.available(), &packet)).kind == Step::kNeed && !window_.at_end()) {
    window_.Fill(step.bytes);
  }
  if (step.kind == Step::kPacket || step.kind == Step::kSkip) {
    // pcap: the header. pcapng: the first section header, which reading again does not change.
    if (step.kind == Step::kSkip) Skip(step.bytes);
    return true;
  }
  if (step.kind == Step::kNeed) EndWithinHeader(step.bytes);
  if (step.kind == Step::kFault) Finish(format_->fault(), format_->detail());
  *error = error_;
  return false;
}

void CaptureReader::EndWithinHeader(size_t wanted) {
  const ByteSource& source = window_.source();
  if (source.fault() != CaptureFault::kNone) {
    Finish(source.fault(), source.fault_detail());
    return;
  }
  error_.message = path_ + ": ends within the header of the file, which takes " + std::to_string(wanted) +
                   " bytes: the file has " + std::to_string(window_.available().size());
  Finish(CaptureFault::kTruncated, "");
}

CaptureError CaptureReader::NotACapture() const {
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

void CaptureReader::Skip(size_t bytes) {
  size_t now = std::min(bytes, window_.available().size());
  window_.Consume(now);
  skip_bytes_ = bytes - now;
}

CaptureReader::Outcome CaptureReader::Read(std::span<CapturedPacket> packets, size_t* count) {
  *count = 0;
  while (!finished_) {
    if (skip_bytes_ > 0) {
      if (window_.available().empty()) return Starved(1);
      Skip(skip_bytes_);
      continue;
    }
    PacketRun run = format_->NextRun(window_.available(), packets);
    window_.Consume(run.bytes);
    if (run.next.kind == Step::kSkip) Skip(run.next.bytes);
    *count = KeepSupported(packets.first(run.packets));
    if (*count > 0) return Outcome::kPackets;
    if (run.next.kind == Step::kNeed) return Starved(run.next.bytes);
    if (run.next.kind == Step::kFault) return Finish(format_->fault(), format_->detail());
  }
  return Outcome::kEnd;
}

// Closes the gaps left by packets of other link types.
size_t CaptureReader::KeepSupported(std::span<CapturedPacket> packets) {
  size_t kept = 0;
  for (const CapturedPacket& packet : packets) {
    if (packet.link_type != supported_link_type_) {
      if (!IsSupportedLinkType(packet.link_type)) {
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

CaptureReader::Outcome CaptureReader::Starved(size_t wanted) {
  wanted_bytes_ = wanted;
  if (!window_.at_end()) return Outcome::kRefill;
  const ByteSource& source = window_.source();
  if (source.fault() != CaptureFault::kNone) return Finish(source.fault(), source.fault_detail());
  size_t left = window_.available().size();
  if (left == 0 && skip_bytes_ == 0) return Finish(CaptureFault::kNone, "");
  std::string needs = skip_bytes_ > 0 ? std::to_string(skip_bytes_) + " more bytes" : std::to_string(wanted) + " bytes";
  return Finish(CaptureFault::kTruncated, "the record here needs " + needs + ", the file has " + std::to_string(left));
}

void CaptureReader::Refill() { window_.Fill(std::max<size_t>(wanted_bytes_, 1)); }

CaptureReader::Outcome CaptureReader::Finish(CaptureFault fault, const std::string& detail) {
  finished_ = true;
  if (const std::string missing = format_->MissingInterface(); fault == CaptureFault::kNone && !missing.empty()) {
    fault = CaptureFault::kNoInterface;
    error_.message = path_ + ": " + missing;
  }
  if (fault == CaptureFault::kNone && packets_ == 0 && unsupported_packets_ > 0) {
    fault = CaptureFault::kUnsupportedLinkType;
    error_.message = path_ + ": all of its packets have link types that are not decoded, for example " +
                     DescribeLinkType(unsupported_link_type_) + "; supported are " + SupportedLinkTypes();
  }
  error_.fault = fault;
  error_.offset_bytes = window_.offset_bytes();
  if (fault != CaptureFault::kNone && error_.message.empty()) error_.message = Describe(fault, detail);
  return Outcome::kEnd;
}

std::string CaptureReader::Describe(CaptureFault fault, const std::string& detail) const {
  std::string at = path_ + ": at byte " + std::to_string(window_.offset_bytes());
  std::string before = "; the " + std::to_string(packets_) + " packets before it were read";
  switch (fault) {
    case CaptureFault::kTruncated:
      return at + " it ends too early: " + detail + before;
    case CaptureFault::kCorrupt:
      return at + " it is damaged: " + detail + before;
    case CaptureFault::kReadFailed:
      return at + " reading failed: " + detail + before;
    default:
      return path_ + ": " + detail;
  }
}

}  // namespace tapline
