// The file system operations that storage needs, as an interface, so that tests can simulate a disk that fills up,
// fails or loses unsynced data (testing/forgetful_file_system.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline::multilog {

// A file that is written sequentially.
class File {
 public:
  virtual ~File() = default;
  virtual Status append(const void* data, size_t bytes) = 0;
  // Makes the appended data durable. After an error, the file's contents are undefined.
  virtual Status sync() = 0;
};

// A whole file, mapped into memory. The mapping is valid as long as the object lives, even if the file is removed.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual std::span<const uint8_t> data() const = 0;
};

// Thread-safe. Errors are kDiskFull, kNotFound or kIoError and name the path.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Creates an empty file, or truncates an existing one.
  virtual Result<std::unique_ptr<File>> create(const std::string& path) = 0;
  virtual Result<std::shared_ptr<const MappedFile>> map(const std::string& path) = 0;
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  virtual Status make_directory(const std::string& directory) = 0;
  // Renames atomically. The new name is durable after sync_directory().
  virtual Status rename(const std::string& old_path, const std::string& new_path) = 0;
  virtual Status remove(const std::string& path) = 0;
  virtual Status sync_directory(const std::string& directory) = 0;
};

FileSystem* posix_file_system();

// Creates or replaces a file atomically and durably: writes it under another name, syncs it and renames it.
Status write_all(FileSystem* files, const std::string& directory, const std::string& name,
                 std::span<const uint8_t> bytes);

}  // namespace tapline::multilog
