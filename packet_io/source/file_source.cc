#include "packet_io/source/file_source.h"

#include <algorithm>
#include <utility>

#include "packet_io/base/clock.h"
#include "packet_io/capture/link_type.h"

namespace tapline {
namespace {

LinkType LinkTypeOf(uint16_t number) {
  switch (number) {
    case kCaptureNull:
    case kCaptureLoop:
      return LinkType::kNull;
    case kCaptureSll:
      return LinkType::kLinuxSll;
    case kCaptureSll2:
      return LinkType::kLinuxSll2;
    case kCaptureEthernet:
      return LinkType::kEthernet;
    default:
      return LinkType::kRawIp;
  }
}

RawPacket RawPacketOf(const CapturedPacket& packet, uint8_t tap) {
  return {packet.data, packet.captured_bytes, packet.wire_bytes, packet.time_ns, LinkTypeOf(packet.link_type), tap};
}

}  // namespace

Status StatusOf(const CaptureError& error) {
  return error.fault == CaptureFault::kReadFailed ? Status::Resources(error.message) : Status::Invalid(error.message);
}

Status FileSource::Start() {
  taps_.resize(options_.paths.size());
  std::vector<CaptureName> names;
  for (const std::string& path : options_.paths) names.push_back(CaptureName::Of(path));
  for (size_t i = 0; i < names.size(); ++i) {
    const auto same = [&](const CaptureName& name) { return !name.interface.empty() && name.path == names[i].path; };
    const bool whole = names[i].interface.empty();
    if (!whole && std::any_of(names.begin(), names.begin() + static_cast<ptrdiff_t>(i), same)) continue;
    std::vector<std::string> interfaces;
    std::vector<uint8_t> taps;
    for (size_t j = i; j < names.size() && (!whole || j == i); ++j) {
      if (!whole && !same(names[j])) continue;
      if (!whole) interfaces.push_back(names[j].interface);
      taps.push_back(static_cast<uint8_t>(j));
    }
    if (Status status = Open(names[i].path, std::move(interfaces), std::move(taps)); !status.ok()) return status;
  }
  Skip();
  return {};
}

Status FileSource::Open(const std::string& path, std::vector<std::string> interfaces, std::vector<uint8_t> taps) {
  CaptureError error;
  File file;
  file.reader = CaptureReader::Open(path, &error);
  if (!file.reader) return StatusOf(error);
  if (!interfaces.empty() && !file.reader->Select(std::move(interfaces), &error)) return StatusOf(error);
  if (taps.size() > 1) file.reorder = std::make_unique<ReorderBuffer>(options_.merge_bound_ns);
  file.taps = std::move(taps);
  files_.push_back(std::move(file));
  return {};
}

// Ignores their times: the first packet after them is due at once.
void FileSource::Skip() {
  const bool paced = std::exchange(options_.paced, false);
  std::array<RawPacket, kBurstPackets> packets;
  for (uint64_t left = options_.skip_packets; left > 0;) {
    Burst burst = Poll({packets.data(), static_cast<size_t>(std::min<uint64_t>(left, packets.size()))});
    left -= burst.packets;
    if (burst.ended) break;
  }
  options_.paced = paced;
}

// Moves to the next packet of this file. Returns false if that needs a refill, which only the next Poll() may do: the
// bytes of packets already returned must stay.
bool FileSource::Advance(File& file) {
  return ++file.next < file.count || (file.reorder == nullptr && ReadAhead(file));
}

bool FileSource::ReadAhead(File& file) {
  file.next = 0;
  if (file.reorder != nullptr) {
    ReadInOrder(file);
    return true;
  }
  switch (file.reader->Read(file.packets, &file.count)) {
    case CaptureReader::Outcome::kPackets:
      return true;
    case CaptureReader::Outcome::kRefill:
      file.needs_refill = refill_pending_ = true;
      return false;
    case CaptureReader::Outcome::kEnd:
      EndOf(file);
      file.ended = true;
      return true;
  }
  return true;
}

// REQUIRES: no packet of the file is in use.
void FileSource::ReadInOrder(File& file) {
  file.reorder->Recycle();
  std::array<CapturedPacket, kBurstPackets> packets;
  while ((file.count = file.reorder->Take(file.packets)) == 0 && !file.reader_ended) {
    size_t count = 0;
    const CaptureReader::Outcome outcome = file.reader->Read(packets, &count);
    file.reorder->Add({packets.data(), count});
    // The buffer has copied all earlier packets.
    if (outcome == CaptureReader::Outcome::kRefill) file.reader->Refill();
    if (outcome != CaptureReader::Outcome::kEnd) continue;
    file.reorder->End();
    file.reader_ended = true;
  }
  // A fault of the file is reported once its packets have been returned.
  file.ended = file.reader_ended && file.count == 0;
  if (file.ended) EndOf(file);
}

void FileSource::EndOf(File& file) {
  for (uint8_t i = 0; i < file.taps.size(); ++i)
    taps_[file.taps[i]].losses.unsupported_link += file.reader->unsupported_packets(i);
  const CaptureError& error = file.reader->error();
  if (!error) return;
  bool useful = error.partial() && file.reader->packets() > 0;
  if (error.partial()) {
    Drop drop = error.fault == CaptureFault::kTruncated ? Drop::kCaptureTruncated : Drop::kCaptureCorrupt;
    // A file that is cut ends for all of its taps: the first one counts it.
    ++taps_[file.taps.front()].losses.by_drop[IndexOf(drop)];
  }
  if (!useful) {
    if (status_.ok()) status_ = StatusOf(error);
  } else if (options_.warn) {
    options_.warn(error.message);
  }
}

void FileSource::Refill() {
  refill_pending_ = false;
  for (File& file : files_) {
    while (file.needs_refill) {
      file.needs_refill = false;
      file.reader->Refill();
      ReadAhead(file);
    }
  }
  refill_pending_ = false;
}

FileSource::File* FileSource::Earliest() {
  File* earliest = nullptr;
  for (File& file : files_) {
    if (!file.has_packet()) continue;
    if (earliest == nullptr || file.packet().time_ns < earliest->packet().time_ns) earliest = &file;
  }
  return earliest;
}

bool FileSource::IsDue(int64_t time_ns) {
  if (!options_.paced) return true;
  if (started_at_ns_ == 0) {
    started_at_ns_ = MonotonicNs();
    first_packet_ns_ = time_ns;
  }
  // Reads the clock again only if the packet is not due by the last reading.
  if (time_ns - first_packet_ns_ > elapsed_ns_) elapsed_ns_ = MonotonicNs() - started_at_ns_;
  return time_ns - first_packet_ns_ <= elapsed_ns_;
}

bool FileSource::AllEnded() const {
  return std::all_of(files_.begin(), files_.end(), [](const File& file) { return file.ended; });
}

PacketSource::Burst FileSource::Poll(std::span<RawPacket> packets) {
  for (File& file : files_) {
    if (!file.has_packet() && !file.ended && !file.needs_refill) ReadAhead(file);
  }
  if (refill_pending_) Refill();
  const bool merges = taps_.size() > 1 || options_.paced;
  const size_t count = merges ? TakeMerged(packets) : TakeNext(files_[0], packets);
  return {count, count == 0 && (AllEnded() || !status_.ok())};
}

// One tap at full speed: there is nothing to compare for each packet.
size_t FileSource::TakeNext(File& file, std::span<RawPacket> packets) {
  size_t count = 0;
  while (count < packets.size() && file.has_packet()) {
    packets[count++] = RawPacketOf(file.packet(), 0);
    if (!Advance(file)) break;
  }
  return count;
}

size_t FileSource::TakeMerged(std::span<RawPacket> packets) {
  size_t count = 0;
  while (count < packets.size() && status_.ok()) {
    File* file = Earliest();
    if (file == nullptr || !IsDue(file->packet().time_ns)) break;
    const CapturedPacket& packet = file->packet();
    if (packet.time_ns < latest_ns_) [[unlikely]]
      taps_[file->tap()].late += taps_.size() > 1;
    latest_ns_ = std::max(latest_ns_, packet.time_ns);
    packets[count++] = RawPacketOf(packet, file->tap());
    if (!Advance(*file)) break;
  }
  return count;
}

PacketSource::Losses FileSource::ReadLosses() {
  Losses all;
  for (const TapCounts& tap : taps_) all += tap.losses;
  return all;
}

std::optional<int64_t> FileSource::IdleTimeNs() const {
  if (!options_.paced || started_at_ns_ == 0 || AllEnded()) return std::nullopt;
  return first_packet_ns_ + elapsed_ns_;
}

std::optional<double> FileSource::Fraction() const {
  uint64_t position = 0, size = 0;
  for (const File& file : files_) {
    if (file.reader->file_size_bytes() == 0) return std::nullopt;
    position += file.reader->file_position_bytes();
    size += file.reader->file_size_bytes();
  }
  return size == 0 ? std::nullopt : std::optional(std::min(1.0, static_cast<double>(position) / size));
}

}  // namespace tapline
