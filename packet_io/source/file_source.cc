#include "packet_io/source/file_source.h"

#include <algorithm>
#include <utility>

#include "packet_io/base/clock.h"
#include "packet_io/capture/link_type.h"

namespace tapline {
namespace {

LinkType link_type_of(uint16_t number) {
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

RawPacket raw_packet_of(const CapturedPacket& packet, uint8_t tap) {
  return {packet.data, packet.captured_bytes, packet.wire_bytes, packet.time_ns, link_type_of(packet.link_type), tap};
}

}  // namespace

Status status_of(const CaptureError& error) {
  return error.fault == CaptureFault::kReadFailed ? Status::resources(error.message) : Status::invalid(error.message);
}

Status FileSource::start() {
  taps_.resize(options_.paths.size());
  std::vector<CaptureName> names;
  for (const std::string& path : options_.paths) names.push_back(CaptureName::of(path));
  for (size_t i = 0; i < names.size(); ++i) {
    const auto same = [&](const CaptureName& name) { return !name.interface.empty() && name.path == names[i].path; };
    const bool is_whole = names[i].interface.empty();
    if (!is_whole && std::any_of(names.begin(), names.begin() + static_cast<ptrdiff_t>(i), same)) continue;
    std::vector<std::string> interfaces;
    std::vector<uint8_t> taps;
    for (size_t j = i; j < names.size() && (!is_whole || j == i); ++j) {
      if (!is_whole && !same(names[j])) continue;
      if (!is_whole) interfaces.push_back(names[j].interface);
      taps.push_back(static_cast<uint8_t>(j));
    }
    if (Status status = open(names[i].path, std::move(interfaces), std::move(taps)); !status.ok()) return status;
  }
  skip();
  return {};
}

Status FileSource::open(const std::string& path, std::vector<std::string> interfaces, std::vector<uint8_t> taps) {
  CaptureError error;
  File file;
  file.reader = CaptureReader::open(path, &error);
  if (!file.reader) return status_of(error);
  if (!interfaces.empty() && !file.reader->select(std::move(interfaces), &error)) return status_of(error);
  if (taps.size() > 1) file.reorder = std::make_unique<ReorderBuffer>(options_.merge_bound_ns);
  file.taps = std::move(taps);
  files_.push_back(std::move(file));
  return {};
}

// Reads the skipped packets at full speed. The first packet after them is due immediately.
void FileSource::skip() {
  const bool paced = std::exchange(options_.paced, false);
  std::array<RawPacket, kBurstPackets> packets;
  for (uint64_t left = options_.skip_packets; left > 0;) {
    Burst burst = poll({packets.data(), static_cast<size_t>(std::min<uint64_t>(left, packets.size()))});
    left -= burst.packets;
    if (burst.ended) break;
  }
  options_.paced = paced;
}

// Moves to the file's next packet. Returns false if that requires a refill, which only the next poll() may do, since
// the bytes of packets already returned must stay valid.
bool FileSource::advance(File& file) {
  return ++file.next < file.count || (file.reorder == nullptr && read_ahead(file));
}

bool FileSource::read_ahead(File& file) {
  file.next = 0;
  if (file.reorder != nullptr) {
    read_in_order(file);
    return true;
  }
  switch (file.reader->read(file.packets, &file.count)) {
    case CaptureReader::Outcome::kPackets:
      return true;
    case CaptureReader::Outcome::kRefill:
      file.needs_refill = refill_pending_ = true;
      return false;
    case CaptureReader::Outcome::kEnd:
      end_of(file);
      file.ended = true;
      return true;
  }
  return true;
}

// REQUIRES: no packet that was returned from this file is still in use.
void FileSource::read_in_order(File& file) {
  file.reorder->recycle();
  std::array<CapturedPacket, kBurstPackets> packets;
  while ((file.count = file.reorder->take(file.packets)) == 0 && !file.reader_ended) {
    size_t count = 0;
    const CaptureReader::Outcome outcome = file.reader->read(packets, &count);
    file.reorder->add({packets.data(), count});
    // The reorder buffer has copied all earlier packets.
    if (outcome == CaptureReader::Outcome::kRefill) file.reader->refill();
    if (outcome != CaptureReader::Outcome::kEnd) continue;
    file.reorder->end();
    file.reader_ended = true;
  }
  // A fault in the file is reported once its packets have been returned.
  file.ended = file.reader_ended && file.count == 0;
  if (file.ended) end_of(file);
}

void FileSource::end_of(File& file) {
  for (uint8_t i = 0; i < file.taps.size(); ++i)
    taps_[file.taps[i]].losses.unsupported_link += file.reader->unsupported_packets(i);
  const CaptureError& error = file.reader->error();
  if (!error) return;
  bool useful = error.partial() && file.reader->packets() > 0;
  if (error.partial()) {
    Drop drop = error.fault == CaptureFault::kTruncated ? Drop::kCaptureTruncated : Drop::kCaptureCorrupt;
    // The file's fault affects all of its taps, but is counted once, for the first one.
    ++taps_[file.taps.front()].losses.by_drop[index_of(drop)];
  }
  if (!useful) {
    if (status_.ok()) status_ = status_of(error);
  } else if (options_.warn) {
    options_.warn(error.message);
  }
}

void FileSource::refill() {
  refill_pending_ = false;
  for (File& file : files_) {
    while (file.needs_refill) {
      file.needs_refill = false;
      file.reader->refill();
      read_ahead(file);
    }
  }
  refill_pending_ = false;
}

FileSource::File* FileSource::earliest() {
  File* earliest = nullptr;
  for (File& file : files_) {
    if (!file.has_packet()) continue;
    if (earliest == nullptr || file.packet().time_ns < earliest->packet().time_ns) earliest = &file;
  }
  return earliest;
}

bool FileSource::is_due(int64_t time_ns) {
  if (!options_.paced) return true;
  if (started_at_ns_ == 0) {
    started_at_ns_ = monotonic_ns();
    first_packet_ns_ = time_ns;
  }
  // Reads the clock again only if the packet is not due according to the last reading.
  if (time_ns - first_packet_ns_ > elapsed_ns_) elapsed_ns_ = monotonic_ns() - started_at_ns_;
  return time_ns - first_packet_ns_ <= elapsed_ns_;
}

bool FileSource::all_ended() const {
  return std::all_of(files_.begin(), files_.end(), [](const File& file) { return file.ended; });
}

PacketSource::Burst FileSource::poll(std::span<RawPacket> packets) {
  for (File& file : files_) {
    if (!file.has_packet() && !file.ended && !file.needs_refill) read_ahead(file);
  }
  if (refill_pending_) refill();
  const bool merges = taps_.size() > 1 || options_.paced;
  const size_t count = merges ? take_merged(packets) : take_next(files_[0], packets);
  return {count, count == 0 && (all_ended() || !status_.ok())};
}

// Takes the next packets of the only tap at full speed, without comparing their times with those of other files.
size_t FileSource::take_next(File& file, std::span<RawPacket> packets) {
  size_t count = 0;
  while (count < packets.size() && file.has_packet()) {
    packets[count++] = raw_packet_of(file.packet(), 0);
    if (!advance(file)) break;
  }
  return count;
}

size_t FileSource::take_merged(std::span<RawPacket> packets) {
  size_t count = 0;
  while (count < packets.size() && status_.ok()) {
    File* file = earliest();
    if (file == nullptr || !is_due(file->packet().time_ns)) break;
    const CapturedPacket& packet = file->packet();
    if (packet.time_ns < latest_ns_) [[unlikely]]
      taps_[file->tap()].late += taps_.size() > 1;
    latest_ns_ = std::max(latest_ns_, packet.time_ns);
    packets[count++] = raw_packet_of(packet, file->tap());
    if (!advance(*file)) break;
  }
  return count;
}

PacketSource::Losses FileSource::read_losses() {
  Losses all;
  for (const TapCounts& tap : taps_) all += tap.losses;
  return all;
}

std::optional<int64_t> FileSource::idle_time_ns() const {
  if (!options_.paced || started_at_ns_ == 0 || all_ended()) return std::nullopt;
  return first_packet_ns_ + elapsed_ns_;
}

std::optional<double> FileSource::fraction() const {
  uint64_t position = 0, size = 0;
  for (const File& file : files_) {
    if (file.reader->file_size_bytes() == 0) return std::nullopt;
    position += file.reader->file_position_bytes();
    size += file.reader->file_size_bytes();
  }
  return size == 0 ? std::nullopt : std::optional(std::min(1.0, static_cast<double>(position) / size));
}

}  // namespace tapline
