// A simulated disk, in memory, that can lose unsynced data, fill up, or fail. It simulates the data loss of a power
// cut, which SIGKILL does not cause.
//
// A file's bytes are durable up to the last sync(); names are durable up to the last sync_directory(). crash() keeps
// the durable bytes of each file and a random part of the rest, possibly with one byte corrupted, and either the
// durable or the current state of the directory.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <random>

#include "multilog/storage/file_system.h"

namespace tapline::multilog {

class ForgetfulFileSystem final : public FileSystem {
 public:
  explicit ForgetfulFileSystem(uint32_t seed) : random_(seed) {}

  // Makes the disk full after this number of further bytes.
  void set_room(uint64_t bytes) { room_ = bytes; }
  // Makes the next syncs fail.
  void fail_syncs(int count) { failing_syncs_ = count; }
  // Flips a bit of the byte at `offset` in the first file that has it and whose path contains `part`. Returns false if
  // there is none.
  bool spoil(const std::string& part, size_t offset) {
    const std::lock_guard lock(mutex_);
    for (auto& [path, content] : names_) {
      if (path.find(part) == std::string::npos || content->bytes.size() <= offset) continue;
      content->bytes[offset] ^= 0x40;
      return true;
    }
    return false;
  }

  // Simulates a power cut: changes the files as a restarted machine might find them.
  void crash() {
    const std::lock_guard lock(mutex_);
    if (random_() % 2 == 0) names_ = durable_names_;
    for (auto& [path, content] : names_) {
      const size_t lost = content->bytes.size() - content->durable;
      const size_t kept = content->durable + (lost == 0 ? 0 : random_() % (lost + 1));
      content->bytes.resize(kept);
      if (kept > content->durable && random_() % 2 == 0)
        content->bytes[content->durable + random_() % (kept - content->durable)] ^= 1;
      content->durable = kept;
    }
    durable_names_ = names_;
    room_ = ~uint64_t{0};
    failing_syncs_ = 0;
  }

  // Saves the files. Restoring them undoes the writes of a process that outlives the simulated crash of its machine.
  using State = std::map<std::string, std::vector<uint8_t>>;
  State save() {
    const std::lock_guard lock(mutex_);
    State state;
    for (const auto& [path, content] : names_) state[path] = content->bytes;
    return state;
  }
  void restore(const State& state) {
    const std::lock_guard lock(mutex_);
    names_.clear();
    for (const auto& [path, bytes] : state) {
      names_[path] = std::make_shared<Content>();
      names_[path]->bytes = bytes;
      names_[path]->durable = bytes.size();
    }
    durable_names_ = names_;
  }

  Result<std::unique_ptr<File>> create(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    names_[path] = std::make_shared<Content>();
    return {std::make_unique<OpenFile>(this, names_[path])};
  }
  Result<std::shared_ptr<const MappedFile>> map(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    const auto it = names_.find(path);
    if (it == names_.end()) return Status(Code::kNotFound, "no file " + path);
    return std::shared_ptr<const MappedFile>(new Copy(it->second->bytes));
  }
  Result<std::vector<std::string>> list(const std::string& directory) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [path, content] : names_) names.push_back(path.substr(directory.size() + 1));
    return names;
  }
  Status make_directory(const std::string&) override { return {}; }
  Status rename(const std::string& old_path, const std::string& new_path) override {
    const std::lock_guard lock(mutex_);
    if (!names_.contains(old_path)) return {Code::kNotFound, "no file " + old_path};
    names_[new_path] = names_[old_path];
    names_.erase(old_path);
    return {};
  }
  Status remove(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    return names_.erase(path) == 1 ? Status() : Status(Code::kNotFound, "no file " + path);
  }
  Status sync_directory(const std::string&) override {
    const std::lock_guard lock(mutex_);
    durable_names_ = names_;
    return {};
  }

 private:
  struct Content {
    std::vector<uint8_t> bytes;
    size_t durable = 0;
  };
  class OpenFile final : public File {
   public:
    OpenFile(ForgetfulFileSystem* files, std::shared_ptr<Content> content)
        : files_(files), content_(std::move(content)) {}
    Status append(const void* data, size_t bytes) override {
      const std::lock_guard lock(files_->mutex_);
      const auto* input = static_cast<const uint8_t*>(data);
      const size_t fitting_bytes = std::min<uint64_t>(bytes, files_->room_);
      content_->bytes.insert(content_->bytes.end(), input, input + fitting_bytes);
      files_->room_ -= fitting_bytes;
      return fitting_bytes == bytes ? Status() : Status(Code::kDiskFull, "no space left");
    }
    Status sync() override {
      const std::lock_guard lock(files_->mutex_);
      if (files_->failing_syncs_ > 0) {
        --files_->failing_syncs_;
        return {Code::kIoError, "sync failed"};
      }
      content_->durable = content_->bytes.size();
      return {};
    }

   private:
    ForgetfulFileSystem* const files_;
    const std::shared_ptr<Content> content_;
  };
  class Copy final : public MappedFile {
   public:
    explicit Copy(const std::vector<uint8_t>& bytes) : words_(bytes.size() / 8 + 1), size_(bytes.size()) {
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(words_.data()));
    }
    std::span<const uint8_t> data() const override { return {reinterpret_cast<const uint8_t*>(words_.data()), size_}; }

   private:
    std::vector<uint64_t> words_;
    const size_t size_;
  };

  std::mutex mutex_;
  std::mt19937 random_;
  std::map<std::string, std::shared_ptr<Content>> names_, durable_names_;
  uint64_t room_ = ~uint64_t{0};
  int failing_syncs_ = 0;
};

}  // namespace tapline::multilog
