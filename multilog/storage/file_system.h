// What storage asks of a file system: few enough operations that a test can stand in for a disk that fills, fails or
// forgets (testing/forgetful_file_system.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline::multilog {

// Written from front to back.
class File {
 public:
  virtual ~File() = default;
  virtual Status Append(const void* data, size_t bytes) = 0;
  // What was appended is on the disk. After an error nothing may be assumed of the file.
  virtual Status Sync() = 0;
};

// The whole of a file, mapped; good as long as it lives, even if the file is removed.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual std::span<const uint8_t> data() const = 0;
};

// Thread-safe. Errors are kDiskFull, kNotFound or kIoError and name the path.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Empty, whether or not it was there.
  virtual Result<std::unique_ptr<File>> Create(const std::string& path) = 0;
  virtual Result<std::shared_ptr<const MappedFile>> Map(const std::string& path) = 0;
  virtual Result<std::vector<std::string>> List(const std::string& directory) = 0;
  virtual Status MakeDirectory(const std::string& directory) = 0;
  // Atomic; on the disk after SyncDirectory.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;
  virtual Status SyncDirectory(const std::string& directory) = 0;
};

FileSystem* PosixFileSystem();

// Creates `path` with the bytes as one step: another name, synced, renamed.
Status WriteWhole(FileSystem* files, const std::string& directory, const std::string& name,
                  std::span<const uint8_t> bytes);

}  // namespace tapline::multilog
