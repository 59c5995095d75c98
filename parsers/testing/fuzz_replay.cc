// Runs a fuzz target without libFuzzer: on each file of the corpus, up to 300 of its prefixes, and mutations with a
// fixed seed. Files that libFuzzer found are run only unchanged, since there are hundreds of them.
//
// usage: TARGET CORPUS… [--found CORPUS…]    (folders or files)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;
constexpr int kMutationsPerFile = 300;
constexpr size_t kMaxPrefixes = 300;

// Copies the input to a heap block of exactly its size, so that a sanitizer detects each read beyond it.
void run(const Input& input) {
  const Input exact(input);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

Input mutated(Input input, std::mt19937& random) {
  for (uint32_t edits = 1 + random() % 6; edits > 0; --edits) {
    const size_t position = input.empty() ? 0 : random() % input.size();
    switch (random() % 5) {
      case 0:
        if (!input.empty()) input[position] ^= static_cast<uint8_t>(1u << random() % 8);
        break;
      case 1:
        if (!input.empty()) input[position] = static_cast<uint8_t>(random());
        break;
      case 2:
        input.insert(input.begin() + static_cast<ptrdiff_t>(position), static_cast<uint8_t>(random()));
        break;
      case 3:
        if (!input.empty()) input.erase(input.begin() + static_cast<ptrdiff_t>(position));
        break;
      default: {
        const Input piece(input.begin() + static_cast<ptrdiff_t>(position),
                          input.begin() + static_cast<ptrdiff_t>(std::min(input.size(), position + random() % 64)));
        input.insert(input.begin() + static_cast<ptrdiff_t>(position), piece.begin(), piece.end());
      }
    }
  }
  return input;
}

Input read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void run_with_variants(const Input& input, std::mt19937& random) {
  run(input);
  const size_t step = input.size() / kMaxPrefixes + 1;
  for (size_t length = 0; length < input.size(); length += step) {
    run(Input(input.begin(), input.begin() + static_cast<ptrdiff_t>(length)));
  }
  for (int i = 0; i < kMutationsPerFile; ++i) run(mutated(input, random));
}

// Returns the file itself, or the files of the folder sorted by name; none if the path does not exist.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (std::filesystem::is_regular_file(path)) return {path};
  if (!std::filesystem::is_directory(path)) return {};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937 random(20160101);
  size_t varied = 0, plain = 0;
  bool is_known = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--found") == 0) {
      is_known = true;
      continue;
    }
    for (const auto& path : files_of(argv[i])) {
      is_known ? run(read(path)) : run_with_variants(read(path), random);
      ++(is_known ? plain : varied);
    }
  }
  std::printf("%zu corpus files replayed, %d mutations of each, and %zu unchanged\n", varied, kMutationsPerFile, plain);
  if (varied == 0 || (is_known && plain == 0)) {
    std::fprintf(stderr, "no corpus files found\n");
    return 1;
  }
  return 0;
}
