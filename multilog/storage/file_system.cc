#include "multilog/storage/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tapline::multilog {
namespace {

Status failed(const std::string& action, const std::string& path) {
  const int error = errno;
  const Code code = error == ENOSPC || error == EDQUOT ? Code::kDiskFull
                    : error == ENOENT                  ? Code::kNotFound
                                                       : Code::kIoError;
  return {code, "can't " + action + " " + path + ": " + std::strerror(error)};
}

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixFile() override { close(fd_); }
  Status append(const void* data, size_t bytes) override {
    for (const char* next = static_cast<const char*>(data); bytes > 0;) {
      const ssize_t bytes_written = write(fd_, next, bytes);
      if (bytes_written < 0 && errno == EINTR) continue;
      if (bytes_written < 0) return failed("write", path_);
      next += bytes_written;
      bytes -= static_cast<size_t>(bytes_written);
    }
    return {};
  }
  Status sync() override { return fdatasync(fd_) == 0 ? Status() : failed("sync", path_); }

 private:
  const int fd_;
  const std::string path_;
};

class PosixMap final : public MappedFile {
 public:
  PosixMap(const uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}
  ~PosixMap() override {
    if (bytes_ > 0) munmap(const_cast<uint8_t*>(data_), bytes_);
  }
  std::span<const uint8_t> data() const override { return {data_, bytes_}; }

 private:
  const uint8_t* const data_;
  const size_t bytes_;
};

class Posix final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> create(const std::string& path) override {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return failed("create", path);
    return {std::make_unique<PosixFile>(fd, path)};
  }
  Result<std::shared_ptr<const MappedFile>> map(const std::string& path) override {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return failed("open", path);
    struct stat stats;
    void* data = nullptr;
    const bool is_known = fstat(fd, &stats) == 0;
    if (is_known && stats.st_size > 0)
      data = mmap(nullptr, static_cast<size_t>(stats.st_size), PROT_READ, MAP_SHARED, fd, 0);
    const Status status = !is_known || data == MAP_FAILED ? failed("map", path) : Status();
    close(fd);
    if (!status.ok()) return status;
    return std::shared_ptr<const MappedFile>(
        new PosixMap(static_cast<const uint8_t*>(data), static_cast<size_t>(stats.st_size)));
  }
  Result<std::vector<std::string>> list(const std::string& directory) override {
    DIR* opened = opendir(directory.c_str());
    if (opened == nullptr) return failed("list", directory);
    std::vector<std::string> names;
    while (const dirent* entry = readdir(opened)) {
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    closedir(opened);
    return names;
  }
  Status make_directory(const std::string& directory) override {
    return mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST ? Status() : failed("make directory", directory);
  }
  Status rename(const std::string& old_path, const std::string& new_path) override {
    return ::rename(old_path.c_str(), new_path.c_str()) == 0 ? Status() : failed("rename", old_path);
  }
  Status remove(const std::string& path) override {
    return unlink(path.c_str()) == 0 ? Status() : failed("remove", path);
  }
  Status sync_directory(const std::string& directory) override {
    const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed("open", directory);
    const Status status = fsync(fd) == 0 ? Status() : failed("sync", directory);
    close(fd);
    return status;
  }
};

}  // namespace

FileSystem* posix_file_system() {
  static Posix files;
  return &files;
}

Status write_all(FileSystem* files, const std::string& directory, const std::string& name,
                 std::span<const uint8_t> bytes) {
  const std::string path = directory + "/" + name, fresh = path + ".new";
  auto file = files->create(fresh);
  if (!file.ok()) return file.status();
  Status status = (*file)->append(bytes.data(), bytes.size());
  if (status.ok()) status = (*file)->sync();
  if (status.ok()) status = files->rename(fresh, path);
  if (status.ok()) status = files->sync_directory(directory);
  if (!status.ok()) (void)files->remove(fresh).ok();
  return status;
}

}  // namespace tapline::multilog
