// The tree that carries a condition between programs (schema/condition.proto): its limits, its combination with others,
// and its text.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "packet_io/base/status.h"
#include "schema/condition.pb.h"

namespace tapline::conditions {

using Tree = v1::ConditionTree;

inline constexpr int kMaxNodes = 16384;
inline constexpr int kMaxLeaves = 4096;
// Maximum number of levels in a tree.
inline constexpr int kMaxDepth = 256;

// The shape of a valid tree: for each node, whether it is under an odd number of negations.
struct Shape {
  std::vector<bool> negated;
};

// Checks that the nodes form one tree within the limits. Receivers of trees from other programs must call this
// function; errors are kInvalid.
Result<Shape> check_shape(const Tree& tree);

// Returns a tree that is true if all of these trees are. A tree without nodes is true for every row.
Tree conjunction(const std::vector<Tree>& trees);

// Returns the fields that the tree names.
std::set<std::string> fields_of(const Tree& tree);
// Returns the aggregates that the tree names.
std::vector<Tree::Aggregate> aggregates_of(const Tree& tree);

// Returns the canonical text, which parses to an equivalent tree, or an empty string for a tree without nodes.
// REQUIRES: check_shape() accepts the tree.
std::string text_of(const Tree& tree);
// Returns the text of one node that is a comparison, a membership or `has`.
std::string text_of(const Tree::Node& node);

}  // namespace tapline::conditions
