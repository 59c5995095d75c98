// Runs a fuzz target without libFuzzer: over each file of the corpus, each prefix of it, and mutations with a fixed
// seed.
//
// usage: TARGET CORPUS…    (folders or files)
#include <algorithm>
#include <cstdint>
#include <cstdio>
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

// A copy on the heap of just the right size, so that a sanitizer sees each byte read beyond it.
void run(const Input& input) {
  const Input exact(input);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

Input mutated(Input input, std::mt19937& random) {
  for (uint32_t edits = 1 + random() % 6; edits > 0; --edits) {
    const size_t at = input.empty() ? 0 : random() % input.size();
    switch (random() % 5) {
      case 0:
        if (!input.empty()) input[at] ^= static_cast<uint8_t>(1u << random() % 8);
        break;
      case 1:
        if (!input.empty()) input[at] = static_cast<uint8_t>(random());
        break;
      case 2:
        input.insert(input.begin() + static_cast<ptrdiff_t>(at), static_cast<uint8_t>(random()));
        break;
      case 3:
        if (!input.empty()) input.erase(input.begin() + static_cast<ptrdiff_t>(at));
        break;
      default: {
        const Input piece(input.begin() + static_cast<ptrdiff_t>(at),
                          input.begin() + static_cast<ptrdiff_t>(std::min(input.size(), at + random() % 64)));
        input.insert(input.begin() + static_cast<ptrdiff_t>(at), piece.begin(), piece.end());
      }
    }
  }
  return input;
}

size_t replay(const std::filesystem::path& path, std::mt19937& random) {
  std::ifstream file(path, std::ios::binary);
  const Input input{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  run(input);
  const size_t step = input.size() / kMaxPrefixes + 1;
  for (size_t length = 0; length < input.size(); length += step) {
    run(Input(input.begin(), input.begin() + static_cast<ptrdiff_t>(length)));
  }
  for (int i = 0; i < kMutationsPerFile; ++i) run(mutated(input, random));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937 random(20160101);
  size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    if (std::filesystem::is_regular_file(path)) files += replay(path, random);
    if (!std::filesystem::is_directory(path)) continue;
    std::vector<std::filesystem::path> inputs;
    for (const auto& entry : std::filesystem::directory_iterator(path)) inputs.push_back(entry.path());
    std::sort(inputs.begin(), inputs.end());
    for (const auto& input : inputs) files += replay(input, random);
  }
  std::printf("%zu corpus files replayed, %d mutations of each\n", files, kMutationsPerFile);
  if (files == 0) std::fprintf(stderr, "no corpus files found\n");
  return files == 0 ? 1 : 0;
}
