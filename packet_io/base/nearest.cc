#include "packet_io/base/nearest.h"

#include <algorithm>
#include <vector>

namespace tapline {
namespace {

// Counts the letters to insert, delete, change, or swap with their neighbour (Damerau-Levenshtein distance).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

const std::string* find_nearest(std::string_view word, std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  size_t min = 0;
  for (const std::string& candidate : known) {
    size_t distance = edit_distance(word, candidate);
    if (nearest != nullptr && distance >= min) continue;
    nearest = &candidate;
    min = distance;
  }
  bool is_near = nearest != nullptr && min <= std::max<size_t>(1, nearest->size() / 3);
  return is_near ? nearest : nullptr;
}

std::string suggest_nearest(std::string_view word, std::span<const std::string> known) {
  const std::string* nearest = find_nearest(word, known);
  return nearest != nullptr ? "; did you mean '" + *nearest + "'?" : "";
}

}  // namespace tapline
