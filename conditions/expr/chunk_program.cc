#include "conditions/expr/chunk_program.h"

#include <algorithm>

#include "conditions/expr/wide.h"

namespace tapline::conditions {
namespace {

template <typename Raw, typename Key, typename Map>
void extract(const uint8_t* cursor, uint32_t stride, uint32_t count, void* keys, Map map) {
  Key* out = static_cast<Key*>(keys);
  for (uint32_t i = 0; i < count; ++i, cursor += stride) out[i] = map(load_as<Raw>(cursor));
}

template <typename T>
void extract_integer(const Column& column, const uint8_t* cursor, uint32_t stride, uint32_t count, void* keys) {
  const T flip = column.is_signed() ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
  extract<T, T>(cursor, stride, count, keys, [flip](T raw) { return static_cast<T>(raw ^ flip); });
}

void and_with(const ChunkBits& other_chunk_bits, ChunkBits* bits) {
  for (size_t i = 0; i < bits->size(); ++i) (*bits)[i] &= other_chunk_bits[i];
}
void or_with(const ChunkBits& other_chunk_bits, ChunkBits* bits) {
  for (size_t i = 0; i < bits->size(); ++i) (*bits)[i] |= other_chunk_bits[i];
}
void set_first(uint32_t count, ChunkBits* bits) {
  for (uint32_t i = 0; i < bits->size(); ++i) {
    const uint32_t begin = i * 64;
    (*bits)[i] = count >= begin + 64 ? ~uint64_t{0} : count > begin ? (uint64_t{1} << (count - begin)) - 1 : 0;
  }
}

}  // namespace

void extract_keys(const Column& column, const uint8_t* rows, uint32_t stride, uint32_t count, void* keys) {
  const uint8_t* cursor = rows + column.offset;
  switch (column.type) {
    case FieldType::kBool:
      return extract<uint8_t, uint8_t>(cursor, stride, count, keys, [](uint8_t v) -> uint8_t { return v != 0; });
    case FieldType::kF32:
      return extract<float, uint32_t>(cursor, stride, count, keys, float_key32);
    case FieldType::kF64:
      return extract<double, uint64_t>(cursor, stride, count, keys, float_key);
    case FieldType::kBytes:
    case FieldType::kMac: {
      if (column.bytes == 8)
        return extract<uint64_t, uint64_t>(cursor, stride, count, keys,
                                           [](uint64_t v) { return __builtin_bswap64(v); });
      for (uint32_t i = 0; i < count; ++i) {
        const uint64_t key = key_of(column, rows + size_t{i} * stride);
        std::memcpy(static_cast<uint8_t*>(keys) + size_t{i} * column.key_bytes(), &key, column.key_bytes());
      }
      return;
    }
    default:
      break;
  }
  switch (column.bytes) {
    case 1:
      return extract_integer<uint8_t>(column, cursor, stride, count, keys);
    case 2:
      return extract_integer<uint16_t>(column, cursor, stride, count, keys);
    case 4:
      return extract_integer<uint32_t>(column, cursor, stride, count, keys);
    default:
      return extract_integer<uint64_t>(column, cursor, stride, count, keys);
  }
}

void ChunkScratch::begin(const ChunkProgram& program, const uint8_t* rows, uint32_t stride, uint32_t count) {
  rows_ = rows;
  stride_ = stride;
  count_ = count;
  ++chunk_;
  if (keys_of_.size() < program.columns()) {
    keys_.resize(program.columns());
    for (auto& buffer : keys_) {
      if (!buffer) buffer = std::make_unique<KeyBuffer>();
    }
    keys_of_.resize(program.columns(), 0);
    presence_.resize(program.schema().presence_bits());
    presence_of_.resize(program.schema().presence_bits(), 0);
  }
  if (bits_of_.size() < program.leaves()) {
    bits_.resize(program.leaves());
    bits_of_.resize(program.leaves(), 0);
  }
}

uint32_t ChunkProgram::add_column(const Column& column) {
  const auto it = std::find(columns_.begin(), columns_.end(), column);
  if (it != columns_.end()) return static_cast<uint32_t>(it - columns_.begin());
  columns_.push_back(column);
  return static_cast<uint32_t>(columns_.size() - 1);
}

uint32_t ChunkProgram::add_leaf(const Leaf& leaf) {
  for (uint32_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].leaf.same_as(leaf)) return i;
  }
  ProgramLeaf compiled{leaf, 0, leaf.ranges, false};
  if (leaf.kind == Leaf::Kind::kKeys) {
    compiled.column = add_column(leaf.column);
    KeyRanges opposite = complement(leaf.ranges, leaf.column.max_key());
    if (opposite.size() < leaf.ranges.size() && leaf.mask == ~uint64_t{0}) {
      compiled.ranges = std::move(opposite);
      compiled.inverted = true;
    }
  }
  leaves_.push_back(std::move(compiled));
  return static_cast<uint32_t>(leaves_.size() - 1);
}

Node ChunkProgram::renumbered(const Node& node, const std::vector<Leaf>& leaves) {
  Node result = node;
  if (node.kind == Node::Kind::kLeaf) {
    const Leaf& leaf = leaves[node.leaf];
    Clause parts;
    if (leaf.kind == Leaf::Kind::kWide && !leaf.negated && add_parts(leaf, &parts) && !parts.empty()) {
      result.kind = Node::Kind::kAnd;
      for (const Leaf& part : parts) result.children.push_back({Node::Kind::kLeaf, add_leaf(part), {}});
      return result;
    }
    result.leaf = add_leaf(leaf);
  }
  for (Node& child : result.children) child = renumbered(child, leaves);
  return result;
}

uint32_t ChunkProgram::add(const Expression& expression) {
  roots_.push_back(renumbered(expression.root(), expression.leaves()));
  return static_cast<uint32_t>(roots_.size() - 1);
}

const void* ChunkProgram::keys_of(uint32_t column, ChunkScratch* scratch) const {
  void* keys = scratch->keys_[column]->bytes;
  if (scratch->keys_of_[column] != scratch->chunk_) {
    extract_keys(columns_[column], scratch->rows_, scratch->stride_, scratch->count_, keys);
    scratch->keys_of_[column] = scratch->chunk_;
  }
  return keys;
}

void ChunkProgram::compare_keys(const ProgramLeaf& leaf, ChunkScratch* scratch, ChunkBits* bits) const {
  const void* keys = keys_of(leaf.column, scratch);
  const Column& column = columns_[leaf.column];
  const auto compare = scratch->kernels_->range(column.key_bytes());
  const uint64_t mask = leaf.leaf.mask;
  bits->fill(0);
  for (size_t i = 0; i < leaf.ranges.size(); ++i) {
    ChunkBits part{};
    const KeyRange& range = leaf.ranges[i];
    compare(keys, scratch->count_, mask, range.low, range.high - range.low, i == 0 ? bits->data() : part.data());
    if (i > 0) or_with(part, bits);
  }
  if (leaf.inverted) {
    ChunkBits all;
    set_first(scratch->count_, &all);
    for (size_t i = 0; i < bits->size(); ++i) (*bits)[i] = all[i] & ~(*bits)[i];
  }
  if (column.presence_bit >= 0) and_with(presence(column, scratch), bits);
}

const ChunkBits& ChunkProgram::presence(const Column& column, ChunkScratch* scratch) const {
  ChunkBits& bits = scratch->presence_[column.presence_bit];
  if (scratch->presence_of_[column.presence_bit] == scratch->chunk_) return bits;
  scratch->presence_of_[column.presence_bit] = scratch->chunk_;
  bits.fill(0);
  for (uint32_t i = 0; i < scratch->count_; ++i)
    bits[i / 64] |= uint64_t{is_present(column, scratch->row(i), schema_->presence_offset())} << i % 64;
  return bits;
}

const ChunkBits& ChunkProgram::leaf_bits(uint32_t number, ChunkScratch* scratch) const {
  ChunkBits& bits = scratch->bits_[number];
  if (scratch->bits_of_[number] == scratch->chunk_) return bits;
  scratch->bits_of_[number] = scratch->chunk_;
  const ProgramLeaf& leaf = leaves_[number];
  if (leaf.leaf.depends_on_aggregate()) {
    set_first(scratch->count_, &bits);
    return bits;
  }
  // The column is compared with each range of a short set; longer sets are searched for each row.
  if (leaf.leaf.kind == Leaf::Kind::kKeys && leaf.ranges.size() <= 16) {
    compare_keys(leaf, scratch, &bits);
    return bits;
  }
  bits.fill(0);
  for (uint32_t i = 0; i < scratch->count_; ++i) {
    if (evaluate(leaf.leaf, scratch->row(i), *schema_, {}) == Truth::kTrue) bits[i / 64] |= uint64_t{1} << i % 64;
  }
  return bits;
}

void ChunkProgram::select_node(const Node& node, ChunkScratch* scratch, ChunkBits* selected) const {
  switch (node.kind) {
    case Node::Kind::kTrue:
      return set_first(scratch->count_, selected);
    case Node::Kind::kFalse:
      return selected->fill(0);
    case Node::Kind::kLeaf:
      *selected = leaf_bits(node.leaf, scratch);
      return;
    default:
      break;
  }
  const bool is_and = node.kind == Node::Kind::kAnd;
  select_node(node.children[0], scratch, selected);
  for (size_t i = 1; i < node.children.size(); ++i) {
    if (is_and && !any_bit(*selected)) return;
    const Node& child = node.children[i];
    ChunkBits part;
    const bool is_leaf = child.kind == Node::Kind::kLeaf;
    if (!is_leaf) select_node(child, scratch, &part);
    const ChunkBits& bits = is_leaf ? leaf_bits(child.leaf, scratch) : part;
    is_and ? and_with(bits, selected) : or_with(bits, selected);
  }
}

void ChunkProgram::select(uint32_t number, ChunkScratch* scratch, ChunkBits* selected) const {
  select_node(roots_[number], scratch, selected);
}

}  // namespace tapline::conditions
