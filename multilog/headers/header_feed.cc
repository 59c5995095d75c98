#include "multilog/headers/header_feed.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "multilog/headers/system_error.h"
#include "packet_io/base/clock.h"

namespace tapline::multilog {
namespace {

constexpr uint64_t kFeedMagic = 0x3144454546574f52;  // "ROWFEED1"

std::string ring_path(const std::string& directory, uint32_t ring) {
  return directory + "/ring-" + std::to_string(ring);
}

Result<FeedSettings> read_settings(const std::string& directory) {
  std::ifstream file(directory + "/settings");
  if (!file) return Status(Code::kNotFound, directory + "/settings does not exist: no node has opened this directory");
  std::stringstream text;
  text << file.rdbuf();
  return FeedSettings::from_text(text.str());
}

// Maps the file of counters until the last pointer to them is released.
Result<std::shared_ptr<FeedCounters>> map_counters(const std::string& path, bool create) {
  const int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0);
  const int fd = open(path.c_str(), flags, 0600);
  if (fd < 0) return system_error(path);
  struct stat file = {};
  const bool sized = create ? ftruncate(fd, sizeof(FeedCounters)) == 0
                            : fstat(fd, &file) == 0 && file.st_size >= static_cast<off_t>(sizeof(FeedCounters));
  void* memory = sized ? mmap(nullptr, sizeof(FeedCounters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  close(fd);
  if (memory == MAP_FAILED) return Status(Code::kInvalid, path + " can't be mapped");
  auto counters = std::shared_ptr<FeedCounters>(static_cast<FeedCounters*>(memory),
                                                [](FeedCounters* mapped) { munmap(mapped, sizeof(FeedCounters)); });
  if (create) counters->magic.store(kFeedMagic);
  if (counters->magic.load() != kFeedMagic)
    return Status(Code::kInvalid, path + " is not a counters file of a header feed");
  return counters;
}

// Fails if another user owns the directory or may write to it: that user could plant rings there and read every header.
Status require_own(const std::string& directory) {
  struct stat made = {};
  if (stat(directory.c_str(), &made) != 0)
    return errno == ENOENT ? Status(Code::kNotFound, directory + " does not exist: no node has opened it")
                           : system_error(directory);
  if (made.st_uid == geteuid() && (made.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return {Code::kInvalid, directory +
                              ": other users own it or may write to it; name a directory of this user, "
                              "which the node creates if it does not exist"};
}

}  // namespace

std::string FeedSettings::to_text() const {
  std::ostringstream text;
  text.precision(17);
  text << "generation " << generation << "\nframe_bytes " << frame_bytes << "\ntelemetry_hops " << telemetry_hops
       << "\ntap_names " << tap_names << "\nrings " << rings << "\nsample " << capture.sampling_rate << "\nfilter "
       << capture.filter << '\n';
  return text.str();
}

Result<FeedSettings> FeedSettings::from_text(const std::string& text) {
  FeedSettings settings;
  std::istringstream in(text);
  std::string words[7];
  in >> words[0] >> settings.generation >> words[1] >> settings.frame_bytes >> words[2] >> settings.telemetry_hops >>
      words[3] >> settings.tap_names >> words[4] >> settings.rings >> words[5] >> settings.capture.sampling_rate >>
      words[6];
  const bool is_known = in && words[0] == "generation" && words[1] == "frame_bytes" && words[2] == "telemetry_hops" &&
                        words[3] == "tap_names" && words[4] == "rings" && words[5] == "sample" && words[6] == "filter";
  const double rate = settings.capture.sampling_rate;
  if (!is_known || settings.rings < 1 || settings.rings > kMaxRings || !(rate > 0 && rate <= 1))
    return Status(Code::kInvalid, "invalid settings of a header feed");
  std::getline(in >> std::ws, settings.capture.filter, '\0');
  while (!settings.capture.filter.empty() && settings.capture.filter.back() == '\n') settings.capture.filter.pop_back();
  return settings;
}

void CaptureTotals::add(const CaptureCounters& counters) {
  packets += counters.packets.load(std::memory_order_relaxed);
  for (const auto& [reason, count] : counters.dropped()) dropped[reason] += count;
}

Result<FileLock> FileLock::take(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return system_error(path);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return FileLock(fd);
  close(fd);
  return Status(Code::kInUse, path + " is in use by another process");
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

Result<std::unique_ptr<FeedReader>> FeedReader::open(const std::string& directory, FeedSettings settings) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Status(Code::kIoError, directory + ": " + error.message());
  if (Status own = require_own(directory); !own.ok()) return own;
  auto lock = FileLock::take(directory + "/node");
  if (!lock.ok()) return lock.status();
  auto reader = std::unique_ptr<FeedReader>(new FeedReader(directory, std::move(settings), std::move(*lock)));
  const Status status = reader->resume() ? reader->write_settings() : reader->begin();
  if (!status.ok()) return status;
  return reader;
}

bool FeedReader::resume() {
  const auto previous_settings = read_settings(directory_);
  if (!previous_settings.ok() || previous_settings->frame_bytes != settings_.frame_bytes ||
      previous_settings->telemetry_hops != settings_.telemetry_hops ||
      previous_settings->tap_names != settings_.tap_names || previous_settings->rings != settings_.rings) {
    return false;
  }
  auto counters = map_counters(directory_ + "/counters", false);
  if (!counters.ok()) return false;
  const HeaderLayout layout(settings_.frame_bytes, settings_.telemetry_hops, settings_.tap_names);
  std::vector<std::unique_ptr<RowRing>> rings;
  for (uint32_t i = 0; i < settings_.rings; ++i) {
    auto ring = RowRing::attach(ring_path(directory_, i), layout.row_bytes());
    if (!ring.ok()) return false;
    rings.push_back(std::move(*ring));
  }
  for (const auto& ring : rings) {
    ring->skip_taken();
    taken_before_ += ring->taken();
  }
  rings_ = std::move(rings);
  counters_ = std::move(*counters);
  settings_.generation = previous_settings->generation;
  return true;
}

// Always creates new files. A process that has mapped the old files keeps using them until it detects the new
// generation.
Status FeedReader::begin() {
  settings_.generation = static_cast<uint64_t>(wall_ns());
  const HeaderLayout layout(settings_.frame_bytes, settings_.telemetry_hops, settings_.tap_names);
  for (uint32_t i = 0; i < FeedSettings::kMaxRings; ++i) unlink(ring_path(directory_, i).c_str());
  for (uint32_t i = 0; i < settings_.rings; ++i) {
    auto ring = RowRing::create(ring_path(directory_, i), {.row_bytes = layout.row_bytes()});
    if (!ring.ok()) return ring.status();
    rings_.push_back(std::move(*ring));
  }
  unlink((directory_ + "/counters").c_str());
  auto counters = map_counters(directory_ + "/counters", true);
  if (!counters.ok()) return counters.status();
  counters_ = std::move(*counters);
  return write_settings();
}

Status FeedReader::write_settings() const {
  const std::string path = directory_ + "/settings";
  std::ofstream file(path + ".new", std::ios::trunc);
  file << settings_.to_text();
  file.close();
  if (!file || rename((path + ".new").c_str(), path.c_str()) != 0) return system_error(path);
  return {};
}

CaptureTotals FeedReader::totals() const {
  CaptureTotals totals;
  for (const CaptureCounters& lane : counters_->lanes) totals.add(lane);
  return totals;
}

Status FeedReader::change(const CaptureSettings& capture) {
  const HeaderLayout layout(settings_.frame_bytes, settings_.telemetry_hops, settings_.tap_names);
  const auto filter = Expression::compile(capture.filter, layout.schema());
  if (!filter.ok()) return filter.status();
  settings_.capture = capture;
  return write_settings();
}

Result<std::unique_ptr<FeedWriter>> FeedWriter::join(const std::string& directory, uint32_t lanes,
                                                     const HashKey& hash_key, std::span<const Tap> taps) {
  if (Status own = require_own(directory); !own.ok()) return own;
  const auto settings = read_settings(directory);
  if (!settings.ok()) return settings.status();
  if (settings->rings < lanes) {
    return Status(Code::kInvalid, directory + ": the node has " + std::to_string(settings->rings) +
                                      " writers, fewer than the monitor's " + std::to_string(lanes) +
                                      " lanes; start it with --writers " + std::to_string(lanes));
  }
  auto lock = FileLock::take(directory + "/monitor");
  if (!lock.ok()) return lock.status();
  auto writer = std::unique_ptr<FeedWriter>(new FeedWriter(directory, *settings, taps, std::move(*lock)));
  if (Status status = writer->attach(lanes, hash_key); !status.ok()) return status;
  return writer;
}

Status FeedWriter::attach(uint32_t lanes, const HashKey& hash_key) {
  auto counters = map_counters(directory_ + "/counters", false);
  if (!counters.ok()) return counters.status();
  counters_ = std::move(*counters);
  for (uint32_t i = 0; i < settings_.rings; ++i) {
    auto ring = RowRing::attach(ring_path(directory_, i), layout_.row_bytes());
    if (!ring.ok()) return ring.status();
    rings_.push_back(std::move(*ring));
  }
  count_unfinished_packets();
  const CaptureOptions options = {hash_key, settings_.capture.sampling_rate, settings_.capture.filter};
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    std::vector<RowRing*> share;
    for (uint32_t i = lane; i < settings_.rings; i += lanes) share.push_back(rings_[i].get());
    auto capture = HeaderCapture::make(options, &layout_, std::move(share), &counters_->lanes[lane]);
    if (!capture.ok()) return capture.status();
    captures_.push_back(std::move(*capture));
  }
  return {};
}

// Counts as "monitor_restarted" the packets that have neither a committed row nor a counted drop.
void FeedWriter::count_unfinished_packets() {
  CaptureTotals totals;
  for (const CaptureCounters& lane : counters_->lanes) totals.add(lane);
  uint64_t committed = 0;
  for (const auto& ring : rings_) committed += ring->committed();
  for (const auto& [reason, count] : totals.dropped) committed += count;
  if (totals.packets <= committed) return;
  auto& died = counters_->lanes[0].lost[static_cast<size_t>(Drop::kMonitorRestarted)];
  died.store(died.load() + totals.packets - committed);
}

bool FeedWriter::follow() {
  const auto now = read_settings(directory_);
  if (!now.ok() || *now == settings_) return true;
  if (now->generation != settings_.generation) return false;
  for (const auto& capture : captures_) {
    // The node has already validated the settings.
    if (Status status = capture->change(now->capture); !status.ok()) return true;
  }
  settings_ = *now;
  return true;
}

}  // namespace tapline::multilog
